"""Mistakes of pullback's own, planted in a kernel and an adapter, are not shown as mistakes of who calls."""

import functools

import numpy as np
import pytest

import pullback as pb
import pullback.scipy
from pullback.arrays.numpy.reductions import accumulations
from pullback.core.errors import InternalError, OperatorError
from pullback.interop.adapters import shape

PLANTED = {
    "NameError": "return forgotten",
    "UnboundLocalError": "if x is None:\n  y = 1\n return y",
    "AttributeError": "return x.forgotten",
    "KeyError": "return {}['forgotten']",
    "AssertionError": "assert x is None",
    "TypeError": "return (lambda y: y)(x, x)",
}
X = pb.tensor([1.0, 2.0, 3.0])
CALLS = {
    "a function": lambda: pb.cumsum(X, 0),
    "of NumPy": lambda: np.cumsum(X),
    "a method": lambda: X.cumsum(0),
    "in a batch": lambda: pb.func.vmap(lambda x: pb.cumsum(x, 0))(pb.ones(2, 3)),
    "in a gradient": lambda: pb.func.grad(lambda x: pb.cumsum(x, 0).sum())(X),
}


@pytest.fixture(params=PLANTED)
def planted(request, monkeypatch):
    """The name of an error that the kernel of cumsum ends in by a mistake of its own."""
    names = {}
    exec(f"def kernel(x, *rest):\n {PLANTED[request.param]}", names)
    monkeypatch.setattr(accumulations.cumsum, "__code__", names["kernel"].__code__)
    return request.param


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_mistake_in_a_kernel_is_said_to_be_ours(planted, call):
    with pytest.raises(InternalError, match=rf"cumsum\(.*a mistake in pullback.*report it.*\({planted}") as caught:
        call()
    assert type(caught.value.__cause__).__name__ == planted


def test_a_mistake_in_an_adapter_is_said_to_be_ours(monkeypatch):
    def adapter(a, axis=None):
        return a.forgotten

    monkeypatch.setattr(shape.ravel, "__code__", adapter.__code__)
    with pytest.raises(InternalError, match=r"np\.ravel\(.*a mistake in pullback"):
        np.ravel(X)


class Step:
    def __call__(self, x):
        return x


@pytest.mark.parametrize("function", [lambda x: x, Step(), functools.partial(lambda x: x), Step().__call__])
def test_a_callback_that_takes_other_arguments_is_the_callers_mistake(function):
    for call in (
        lambda p: pb.func.checkpointed_loop(function, p, 3),
        lambda p: pb.func.odeint(function, p, np.array([0.0, 1.0]))[-1],
        lambda p: pb.scipy.integrate.solve_ivp(function, (0, 1), [p]).y[0, -1],
    ):
        for run in (call, pb.func.grad(call)):
            with pytest.raises(TypeError, match=r"takes \d positional argument.* given"):
                run(1.0)


def test_a_function_of_eigenvalues_that_takes_no_argument_is_the_callers_mistake():
    def call(p):
        return pb.linalg.matrix_function(p * np.eye(2), lambda: 1.0).sum()

    for run in (call, pb.func.grad(call)):
        with pytest.raises(TypeError, match="takes 0 positional arguments but 1 was given"):
            run(1.0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: pb.hstack((-1, X)), ValueError, "do not fit together"),
        (lambda: np.trim_zeros(X, X), ValueError, "do not fit together"),
        (lambda: pb.autograd.graph.call_node(X, X), TypeError, "node must be a Node"),
        (lambda: X[pb.Tensor], OperatorError, "do not fit together"),
        (lambda: X.squeeze_(dims=1), TypeError, "unexpected keyword argument 'dims'"),
    ],
)
def test_a_mistake_in_a_call_is_none_of_ours(call, error, text):
    with pytest.raises(error, match=text):
        call()
