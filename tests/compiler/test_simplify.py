"""A graph is made smaller, and no value changes by it: nan, infinities, -0 and broadcast constants included."""

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.program import Program
from pullback.compiler.tracing import trace

HARD = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5])
ROWS = np.array([[1.0], [0.0], [2.0]])


def compare(function, *arrays):
    with np.errstate(all="ignore"):
        program = Program(trace(list(arrays), 0, lambda given: function(*given), lambda array: False))
        found, expected = program.run(arrays, arrays), function(*arrays)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(np.real(found)), np.signbit(np.real(expected)))
    return program.plan


FUNCTIONS = {
    "times one": lambda x: x * np.ones(6),
    "over one": lambda x: x / 1,
    "times zero": lambda x: x * np.zeros(6),
    "plus zero": lambda x: x + 0.0,
    "minus zero": lambda x: x - 0.0,
    "plus minus zero": lambda x: x + np.full(6, -0.0),
    "times a constant row": lambda x: x * np.broadcast_to(ROWS, (3, 6)),
    "where of a constant row": lambda x: np.where(np.broadcast_to(ROWS > 0, (3, 6)), x, 7.0),
    "where all": lambda x: np.where(np.ones(6, bool), x, 7.0),
    "where none": lambda x: np.where(np.zeros(6, bool), 7.0, x),
    "neither zero nor nan": lambda x: (x != 0) & ~np.isnan(x),
    "marks": lambda x: np.where(x > 0, 0, np.array([1.0, np.nan, -1.0, np.inf, 2.0, 3.0])) != 0,
    "marks with a zero": lambda x: np.where(x > 0, 0, np.arange(6.0)) != 0,
    "spread and met": lambda x: np.broadcast_to(x[:, None], (6, 6)) * x + np.broadcast_to(x, (6, 6)),
    "twice the same": lambda x: (x * 2.0 + 2.0 * x) - (x + x),
    "no change of shape": lambda x: x.reshape(6).T.copy().astype(float) + 1.0,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_the_function(name):
    compare(FUNCTIONS[name], HARD)


@pytest.mark.parametrize("name", ["times one", "over one", "plus zero", "where all"])
def test_complex_infinities(name):
    z = np.empty(6, complex)
    z.real, z.imag = HARD, HARD[::-1]
    compare(FUNCTIONS[name], z)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.float16, np.float32])
def test_dtypes_stay(dtype):
    x = np.arange(6).astype(dtype)
    for function in (FUNCTIONS["times one"], FUNCTIONS["over one"], lambda x: x * 1, lambda x: x + x):
        program = Program(trace([x], 0, lambda given, f=function: f(*given), lambda array: False))
        assert program.run([x], [x]).dtype == function(x).dtype


def test_what_leads_to_nothing_is_left_out():
    def function(x):
        np.exp(x)
        return np.sin(x) * np.ones(3) + (np.sin(x) - np.cos(np.zeros(3)))

    plan = compare(function, np.arange(3.0))
    assert [step.name for step in plan.steps] == ["sin", "sub", "add"]


def test_the_gradient_of_a_sum_has_no_ones():
    plan = compare(pb.func.grad(lambda x: np.sum(x * x)), np.arange(3.0))
    assert [step.name for step in plan.steps] == ["add"]


def test_what_asks_where_marks_were_set_asks_the_mask():
    plan = compare(FUNCTIONS["marks"], HARD)
    assert [step.name for step in plan.steps] == ["gt", "logical_not"]
