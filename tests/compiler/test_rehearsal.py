"""Programs that write into their arguments are compared with their functions, and timed, as all others are."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import CompileWarning, StaleProgramError, rehearsal
from pullback.compiler.program import Program


def counted(x, scale):
    x += scale
    return x * 2.0


def only_program(compiled):
    (variants,) = compiled._by_signature.values()
    return variants


def test_each_call_writes_once():
    compiled, x = pb.compile(counted), np.zeros(3)
    for n in range(1, 9):
        y = compiled(x, np.ones(3))
        np.testing.assert_array_equal(x, np.full(3, n))
        np.testing.assert_array_equal(y, np.full(3, 2.0 * n))
        assert not np.shares_memory(x, y)
    assert isinstance(only_program(compiled).programs[0], Program)


def test_a_gradient_is_accumulated_once():
    w = pb.tensor([1.0, 2.0], requires_grad=True)

    @pb.compile
    def step(x):
        (w * x).sum().backward()

    for n in range(1, 9):
        step(np.ones(2))
        np.testing.assert_array_equal(w.grad.numpy(), np.full(2, n))


def test_one_that_is_slower_is_dropped(monkeypatch):
    compiled, x = pb.compile(counted), np.zeros(3)
    clock = itertools.count(0.0, 1.0)  # a second for each look at it: what is timed by it takes long
    monkeypatch.setattr(rehearsal, "perf_counter", lambda: next(clock))
    for n in range(1, 9):
        compiled(x, np.ones(3))
        assert x[0] == n
    assert only_program(compiled).eager == "its program is not faster than the function itself"


@pytest.mark.parametrize("check", [False, True])
def test_one_that_is_wrong_is_given_up_and_what_the_function_writes_counts(check, monkeypatch):
    compiled, x = pb.compile(counted, check=check), np.zeros(3)
    for _ in range(2):
        compiled(x, np.ones(3))
    right = Program.compute
    monkeypatch.setattr(Program, "compute", lambda self, arrays: [y + 1 for y in right(self, arrays)])
    with pytest.raises(StaleProgramError) if check else pytest.warns(CompileWarning, match="its program gave"):
        assert compiled(x, np.ones(3))[0] == 6.0
    assert x[0] == 3.0


def test_with_check_it_is_compared_at_every_call(monkeypatch):
    compiled, x = pb.compile(counted, check=True), np.zeros(3)
    for _ in range(8):
        compiled(x, np.ones(3))
    right = Program.compute
    monkeypatch.setattr(Program, "compute", lambda self, arrays: [y + 1 for y in right(self, arrays)])
    with pytest.raises(StaleProgramError):
        compiled(x, np.ones(3))


def test_an_error_of_the_function_comes_after_one_write():
    def function(x, limit):
        x += 1.0
        if x[0] > limit[0]:
            raise ValueError("too large")
        return x * 1.0

    compiled, x = pb.compile(function), np.zeros(3)
    for _ in range(3):
        compiled(x, np.array([3.0]))
    with pytest.raises(ValueError, match="too large"):
        compiled(x, np.array([3.0]))
    assert x[0] == 4.0


def test_a_container_that_is_changed_on_another_way_is_the_callers():
    seen = {"loss": np.zeros(2), "n": 0}
    late = []

    def function(state):
        state["loss"] += 1.0
        if late:
            state["n"] = 7
        return state["loss"] * 2.0

    compiled = pb.compile(function, pure=True)
    for _ in range(3):
        compiled(seen)
    late.append(1)
    with pytest.warns(CompileWarning, match="changes a container"):
        compiled(seen)
    assert seen["n"] == 7
    np.testing.assert_array_equal(seen["loss"], [4.0, 4.0])


def test_the_time_to_take_arguments_in_counts():
    compiled = pb.compile(lambda state: state["x0"] * 2.0)
    state = {f"x{nr}": np.ones(2) for nr in range(300)}
    for _ in range(6):
        compiled(state)
    (variants,) = compiled._by_signature.values()
    assert variants.eager == "its program is not faster than the function itself"
