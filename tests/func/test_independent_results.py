"""A transform of a function whose result does not depend on an argument says so, and what took it out of the graph."""

import copy
import re
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.cuts import WATCHED
from pullback.extend import IndependentResultWarning
from pullback.func import grad, jvp, value_and_grad

X = np.array([1.0, 2.0, 3.0])


def whole(x):
    with pb.no_grad():
        return (x**2).sum()


def inference(x):
    with pb.inference_mode():
        return (x**2).sum()


@pb.no_grad()
def decorated(x):
    return (x**2).sum()


def switched(x):
    with pb.set_grad_enabled(False):
        return (x**2).sum()


def chosen(x):
    if x.sum() > 0:
        return 0.0
    return x.sum()


CUTS = {
    "item()": lambda x: x.sum().item() * 2,
    "tolist()": lambda x: sum(x.tolist()),
    "numpy()": lambda x: np.sum(x.numpy(force=True) ** 2),
    "detach()": lambda x: (x.detach() ** 2).sum(),
    "data": lambda x: (x.data**2).sum(),
    "argmax": lambda x: np.array([1.0, 2.0, 3.0])[int(np.argmax(x))],
    "gt": chosen,
    "lt": lambda x: (x < 2).sum().astype(float),
    "np.searchsorted": lambda x: np.searchsorted(X, x).sum().astype(float),
    "the cast to int64": lambda x: x.astype(int).sum() * 1.0,
    "sort": lambda x: x.sort().indices.sum() * 1.0,
    "max": lambda x: x.max(0).indices * 1.0,
    "no_grad": whole,
    "inference_mode": inference,
    "set_grad_enabled": switched,
}

OF_TENSORS = {"item()", "tolist()", "data", "sort", "max"}  # an Array's do not leave the graph


@pytest.mark.parametrize("name", CUTS)
def test_what_cut_it_is_named_with_its_line(name):
    place = rf"{re.escape(name)} at \S*test_independent_results\.py:\d+ left the graph"
    with pytest.warns(IndependentResultWarning, match=rf"func\.grad: .* does not depend on 'x'.*: {place}") as caught:
        found = grad(CUTS[name])(pb.tensor(X) if name in OF_TENSORS else X)
    assert not found.any()
    assert len(caught) == 1
    assert caught[0].filename == __file__  # points to the user's call


DROPPED = {  # functions of which the user sees nothing but what is differentiable
    "solve": lambda x: np.linalg.solve(np.eye(3) * 2, x),
    "inv": lambda x: np.linalg.inv(np.eye(3) * x),
    "svd": lambda x: np.linalg.svd(np.eye(3) * x),
    "qr": lambda x: pb.linalg.qr(x * pb.eye(3)),
    "sort": lambda x: np.sort(x),
}


@pytest.mark.parametrize("name", DROPPED)
@pytest.mark.parametrize("made", [np.array, pb.tensor])
def test_what_is_differentiable_is_not_blamed(name, made):
    def f(x):
        DROPPED[name](x)
        return np.sum(np.ones(3))

    with pytest.warns(IndependentResultWarning, match=r"does not depend on 'x'.*use another variable"):
        grad(f)(made(X))


def test_a_decorator_that_switches_recording_off_is_named():
    with pytest.warns(IndependentResultWarning, match=r"decorated.*no_grad at "):
        grad(decorated)(X)


@pytest.mark.parametrize(
    "f", [lambda x: np.sum(X**2), lambda x: 3.0, lambda x: pb.tensor(1.0), lambda x: np.sum(np.zeros_like(x))]
)
def test_where_nothing_cut_it_another_variable_is_suspected(f):
    with pytest.warns(IndependentResultWarning, match=r"does not depend on 'x'.*use another variable"):
        assert not grad(f)(X).any()
    with pytest.warns(IndependentResultWarning, match=r"does not depend on 'x'"):
        value_and_grad(f)(X)
    with pytest.warns(IndependentResultWarning, match=r"func\.jvp: .* does not depend on 'x'"):
        jvp(f, (X,), (X,))


def test_the_arguments_are_named_as_the_user_calls_them():
    def loss(w, params, x):
        return (w * x).sum() + params["a"][1]

    params = {"a": [np.ones(2), 2.0], "b": np.ones(1)}
    with pytest.warns(IndependentResultWarning, match=r"does not depend on 'params'\['a'\]\[0\] and 'params'\['b'\],"):
        _, found = grad(loss, argnums=(0, 1))(X, params, X)
    assert found["a"][1] == 1
    with pytest.warns(IndependentResultWarning, match="does not depend on 'y',"):
        grad(lambda x, y: x.sum(), argnums=(0, -1))(X, X)
    with pytest.warns(IndependentResultWarning, match="does not depend on argument 1,"):
        grad(lambda *args: args[0].sum(), argnums=(0, 1))(X, X)


def test_it_is_said_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(5):
            grad(lambda x: 3.0)(X)
    assert len(caught) == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        grad(grad(lambda x: x.detach() * 2))(1.0)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.floor(x).sum(),
        lambda x: np.sign(x).sum() + np.round(x).sum(),
        lambda x: (x * 0).sum(),
        lambda x: np.where(x > 5, x, 0.0).sum(),
        lambda x: x.detach().sum() + 0 * x.sum(),
        lambda x: np.sum(copy.deepcopy(x) * 0),
    ],
)
def test_a_derivative_that_is_zero_is_none_of_this(f):
    assert not grad(f)(X).any()
    jvp(f, (X,), (X,))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: grad(lambda y: np.sum(3 * y))(x).sum(),
        lambda x: jvp(lambda y: 3 * y, (x,), (X,))[1].sum(),
        lambda x: pb.autograd.grad((3 * x).sum(), x, create_graph=True)[0].sum(),
    ],
)
def test_the_second_derivative_of_what_is_linear_is_zero_without_a_word(f):
    assert not grad(f)(X).any()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: copy.deepcopy([x])[0]])
def test_a_copy_inside_a_transform_keeps_the_derivative(copied):
    assert grad(lambda x: (copied(x) ** 2).sum())(X).tolist() == [2, 4, 6]
    assert grad(lambda x: (copied(x * 2) ** 2).sum())(X).tolist() == [8, 16, 24]
    assert jvp(lambda x: (copied(x) ** 2).sum(), (X,), (X,))[1] == 28
    second = grad(grad(lambda x: copied(x) ** 3))(2.0)
    assert second == 12
    with pb.autograd.forward_ad.dual_level():
        dual = pb.autograd.forward_ad.make_dual(pb.tensor(X), pb.tensor(X))
        assert pb.autograd.forward_ad.unpack_dual(copied(dual)).tangent.tolist() == [1, 2, 3]


def test_nothing_is_watched_afterwards():
    with pytest.raises(ZeroDivisionError):
        grad(lambda x: 1 / 0)(X)
    assert not WATCHED


class Forgetful(pb.autograd.Function):
    """Its backward lacks a `return`."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        2 * ctx.saved_tensors[0] * grad


def forgetful(x):
    return Forgetful.apply(x).sum()


@pytest.mark.parametrize(
    "transform",
    [
        lambda: grad(forgetful)(X),
        lambda: grad(lambda d: forgetful(d["w"]) + d["v"].sum())({"w": X, "v": X})["w"],
        lambda: grad(lambda x: grad(forgetful)(x).sum())(X),
        lambda: pb.autograd.functional.jacobian(lambda x: Forgetful.apply(x), X),
        lambda: pb.autograd.functional.vjp(forgetful, X)[1],
        lambda: pb.autograd.functional.jvp(forgetful, X, X)[1],
        lambda: pb.autograd.functional.hvp(forgetful, X, X)[1],
        lambda: pb.autograd.functional.hessian(forgetful, X),
    ],
)
def test_a_backward_that_returns_none_is_named(transform):
    with pytest.warns(IndependentResultWarning, match=r"the backward of Forgetful \(.*returned None") as caught:
        result = transform()
    assert not np.any(result)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_backward_that_returns_none_for_what_has_other_gradients_is_right():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(grad(lambda x: forgetful(x) + x.sum())(X), np.ones(3))
