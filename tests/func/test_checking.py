"""func.check_grads finds wrong derivatives, and which."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.func import check_grads

X = np.array([1.0, 2.0])


@pb.custom_vjp
def doubled(x):
    return 2 * x


@doubled.defvjp
def tripled(cotangent, result, x):
    return 3 * cotangent


@pb.custom_vjp
def cubed(x):
    return x**3


@cubed.defvjp
def slope_held_constant(cotangent, result, x):
    return 3 * X**2 * cotangent


def test_right_ones_pass():
    x = np.array([[0.3, 1.2], [-0.7, 2.0]])
    check_grads(lambda x: np.sin(x) @ x, (x,), order=3)
    check_grads(lambda p: {"a": p["x"] ** 2 * p["y"], "b": np.exp(p["y"])}, ({"x": x, "y": 0.5},))
    check_grads(lambda x: np.abs(np.fft.fft(x)) ** 2, (np.array([1.0 + 2j, 3.0 - 1j]),))
    check_grads(np.multiply, (np.float32(2.0), np.array([1.5, -2.0], np.float32)))
    check_grads(lambda t: pb.logsumexp(t, 0), (pb.tensor([1.0, 2.0]),))


RIGHT_BY_SMALLER_STEPS = {
    "a solution of 24 equations": (np.linalg.solve, (np.random.default_rng(1).standard_normal((24, 24)), np.ones(24))),
    "arguments of two sizes": (lambda a, b: np.sin(b) * np.log(a), (1e6, 0.3)),
    "close to a pole": (np.log, (1e-3,)),
    "an infinite constant": (lambda a, b: np.sin(a) + (b < 0), (0.3, np.inf)),
}


@pytest.mark.parametrize(("function", "args"), RIGHT_BY_SMALLER_STEPS.values(), ids=RIGHT_BY_SMALLER_STEPS)
def test_an_exact_derivative_is_confirmed_by_a_smaller_step(function, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.extend.IndependentResultWarning)
        check_grads(function, args)


@pytest.mark.parametrize("factor", [1.001, 0.999])
def test_a_small_mistake_is_found_whatever_the_step(factor):
    log = pb.custom_vjp(np.log, lambda cotangent, result, x: factor * cotangent / x)
    for x in (1e-3, 1.0, 10.0):
        with pytest.raises(AssertionError, match="the derivative of order 1"):
            check_grads(log, (x * np.ones(3),), order=1)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_wrong_rule_is_found(mode):
    with pytest.raises(AssertionError, match=f"{mode}: the derivative of order 1.*differences give"):
        check_grads(lambda x: doubled(x) ** 2, (X,), modes=[mode])


def test_a_wrong_second_derivative_is_found():
    check_grads(cubed, (X,), order=1)
    with pytest.raises(AssertionError, match=r"the derivative of order 1.*differences give"):
        check_grads(cubed, (X,), order=2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: check_grads(np.sin, np.ones(2)), TypeError, r"\(x,\)"),
        (lambda: check_grads(np.sin, (1.0,), modes="fwd"), ValueError, "sequence"),
        (lambda: check_grads(np.sin, (1.0,), modes=["vmap"]), ValueError, "'rev'"),
        (lambda: check_grads(3, (1.0,)), TypeError, "callable"),
        (lambda: check_grads(np.sin, (3,)), TypeError, r"args hold an int: pass a floating-point number"),
        (lambda: check_grads(np.sin, (np.arange(3),)), TypeError, r"args hold an array of dtype int64"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
