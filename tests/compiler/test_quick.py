"""The builtin that does calls like the one before: what it looks at, and what it leaves to the general way."""

import sys
from functools import partial

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.program import Program
from pullback.compiler.quick import Quick
from tests.compiler.conftest import native_compiler

pytestmark = pytest.mark.skipif(native_compiler() is None, reason="there is no compiler")
FACTOR = 2.0


@pytest.fixture(autouse=True)
def in_machine_code(monkeypatch):
    monkeypatch.setenv("PULLBACK_COMPILER", native_compiler())
    monkeypatch.setattr(Program, "is_slower", False)  # which a busy machine may find


def quick(f, *args):
    """A compiled function that has the quick way for calls with these arguments."""
    made = pb.compile(f)
    for _ in range(8):
        made(*args)
    assert type(made._quick) is Quick
    return made


def taken(made, *args):
    """(True if the quick way does a call, its result)."""
    found = made._quick.call(*args)
    return found is not NotImplemented, found


def test_it_does_calls_like_the_one_before_and_no_others():
    made = quick(lambda x, y: (np.sum(x * y), np.sin(x) + y), np.arange(5.0), np.ones(5))
    x, y = np.linspace(0.0, 1.0, 5), np.linspace(1.0, 2.0, 5)
    there, (total, sine) = taken(made, x, y)
    assert there
    assert type(total) is np.float64
    np.testing.assert_allclose(total, np.sum(x * y), rtol=1e-14)
    np.testing.assert_allclose(sine, np.sin(x) + y, rtol=1e-14)
    for others in (
        (x,),
        (x, y, y),
        (x[:4], y[:4]),
        (x.astype("f4"), y),
        (x[::-1], y),
        (x, x),
        (x, [1.0] * 5),
        (x, 2.0),
    ):
        assert not taken(made, *others)[0]
    for others in ((x[:4], y[:4]), (x, x), (x[::-1], y), (x, 2.0)):
        np.testing.assert_allclose(made(*others)[1], np.sin(others[0]) + others[1], rtol=1e-14)


@pytest.mark.parametrize(
    "place", ["a global", "a variable of a closure", "a default", "the code", "a keyword of a partial"]
)
def test_it_sees_what_the_function_reads(place, monkeypatch):
    factor = 3.0

    def f(x, by=1.0):
        return np.sin(np.cos(x) * np.cos(x)) * factor * FACTOR * by + np.exp(x)

    function = partial(f, by=1.5) if place == "a keyword of a partial" else f
    x = np.linspace(0.0, 1.0, 4)
    made = quick(function, x)
    if place == "a global":
        monkeypatch.setattr(sys.modules[__name__], "FACTOR", 5.0)
    elif place == "a variable of a closure":
        factor = 7.0
    elif place == "a default":
        f.__defaults__ = (4.0,)
    elif place == "the code":

        def other(x, by=1.0):
            return np.cos(x) * factor

        f.__code__ = other.__code__
    else:
        function.keywords["by"] = 2.5
    assert not taken(made, x)[0]
    for _ in range(8):
        np.testing.assert_allclose(made(x), function(x), rtol=1e-14)


def test_it_stops_where_somebody_is_to_look_at_the_program():
    x = np.linspace(0.0, 1.0, 4)
    made = quick(lambda x: np.sin(x) * 2 + np.cos(x) * np.exp(x), x)
    for _ in range(40):
        made(x)
    ((program,),) = (variants.programs for variants in made._by_signature.values())
    made.explain()
    assert program.calls == 46  # of 48 the first two made it
    assert program.audits == [16]


def test_a_nan_that_a_mask_would_have_taken_away_is_found():
    made = quick(pb.func.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))), np.array([1.0, 4.0]))
    np.testing.assert_array_equal(made(np.array([0.0, 4.0])), [0.0, 0.25])


def test_modes_of_another_kind_take_the_general_way():
    made = quick(lambda x: np.sin(np.sin(x)) * 2 + np.cos(x), x := np.linspace(0.0, 1.0, 4))
    with pb.no_grad():
        np.testing.assert_allclose(made(x), np.sin(np.sin(x)) * 2 + np.cos(x), rtol=1e-14)
    slope = 2 * np.cos(np.sin(x)) * np.cos(x) - np.sin(x)
    np.testing.assert_allclose(pb.func.grad(lambda x: made(x).sum())(x), slope, rtol=1e-13)


def test_it_does_calls_of_tensors_that_require_no_grad():
    def f(x, y):
        return (x * y).sum(), x.sin() + y

    x, y = pb.linspace(0.0, 1.0, 5), pb.linspace(1.0, 2.0, 5)
    made = quick(f, x, y)
    there, found = taken(made, y * 1, x)
    assert there
    for a, b in zip(found, f(y, x), strict=True):
        assert type(a) is pb.Tensor
        np.testing.assert_allclose(a, b, rtol=1e-14)
    leaf = x.clone().requires_grad_()
    for others in ((leaf, y), (x.detach(), x), (x, y.numpy()), (x[:4], y[:4]), (x.float(), y), (x,)):
        assert not taken(made, *others)[0]
    made(leaf, y)[0].backward()
    np.testing.assert_array_equal(leaf.grad, y)
    with pb.autograd.forward_ad.dual_level():
        dual = pb.autograd.forward_ad.make_dual(x, y)
        tangent = pb.autograd.forward_ad.unpack_dual(made(dual, y)[0]).tangent
        np.testing.assert_allclose(tangent, (y * y).sum(), rtol=1e-14)


def test_one_tensor_goes_the_quick_way_to_one_tensor():
    made = quick(lambda x: x.sin() * x.exp() + x.cos(), x := pb.linspace(0.0, 1.0, 5))
    x[1] = 7.0
    np.testing.assert_allclose(made(x), x.sin() * x.exp() + x.cos(), rtol=1e-14)
    assert made(x).shape == (5,)
