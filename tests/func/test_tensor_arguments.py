"""Tensors as arguments of transforms: they enter by their numbers, and what is written into them is noticed."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import SavedTensorModifiedError
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp

MODIFIED = "has been modified by an inplace operation"


def squares(t):
    return (t * t).sum()


@pytest.mark.parametrize(
    "transformed",
    [
        grad(squares),
        lambda x: value_and_grad(squares)(x)[1],
        lambda x: vjp(squares, x)[1](pb.tensor(1.0))[0],
        jacrev(squares),
        jacfwd(squares),
        lambda x: hessian(lambda t: (t**3).sum() / 3)(x).sum(0),
        lambda x: jvp(grad(lambda t: (t**3).sum() / 3), (x,), (pb.ones(3),))[1],
    ],
)
def test_the_result_is_a_tensor_and_differentiable_where_the_argument_is(transformed):
    x = pb.tensor([1.0, 2.0, 3.0])
    found = transformed(x)
    assert type(found) is pb.Tensor
    assert not found.requires_grad
    assert found.tolist() == [2, 4, 6]
    leaf = x.clone().requires_grad_()
    found = transformed(leaf)
    assert found.requires_grad
    assert pb.autograd.grad(found.sum(), leaf)[0].tolist() == [2, 2, 2]
    assert transformed(x.numpy()).tolist() == [2, 4, 6]


@pytest.mark.filterwarnings("ignore::pullback.extend.IndependentResultWarning")
@pytest.mark.parametrize(
    "result", [lambda t: 3.0, lambda t: pb.tensor(3.0), lambda t: t.detach().sum(), lambda t: t.argmax() * 1.0]
)
@pytest.mark.parametrize("given", [pb.tensor([1.0, 2.0]), np.array([1.0, 2.0]), 2.0])
def test_zeros_have_the_face_of_the_argument(result, given):
    def f(x):
        return result(x if isinstance(x, pb.Tensor) else pb.tensor([1.0, 2.0]))

    kind = pb.Tensor if isinstance(given, pb.Tensor) else np.ndarray if isinstance(given, np.ndarray) else np.float64
    for found in (grad(f)(given), value_and_grad(f)(given)[1]):
        assert type(found) is kind
        assert not np.any(np.asarray(found))
    if kind is pb.Tensor:
        assert type(hessian(lambda t: t.sum())(given)) is kind
        assert type(jvp(lambda t: pb.ones(2), (given,), (given,))[1]) is kind
        assert type(vjp(lambda t: pb.ones(2) + 0 * t.detach(), given)[1](pb.ones(2))[0]) is kind
        assert type(jacfwd(lambda t: pb.ones(2))(given)) is kind
        assert type(jacrev(lambda t: pb.ones(2))(given)) is kind


def test_a_captured_tensor_that_requires_grad_is_differentiated_through():
    c = pb.tensor([1.0, 2.0], requires_grad=True)
    for transform in (grad, jacrev, jacfwd):
        found = transform(lambda t: (t * t * c).sum())(pb.tensor([3.0, 4.0]))
        assert pb.autograd.grad(found.sum(), c)[0].tolist() == [6, 8]


def test_writes_into_the_argument_before_the_backward_are_noticed():
    x = pb.tensor([1.0, 2.0])

    def f(t):
        y = squares(t)
        x.mul_(3)  # the caller's tensor, by its own name
        return y

    with pytest.raises(SavedTensorModifiedError, match=MODIFIED):
        grad(f)(x)
    _, pull = vjp(squares, x)
    x.mul_(3)
    with pytest.raises(SavedTensorModifiedError, match=MODIFIED):
        pull(pb.tensor(1.0))


@pytest.mark.parametrize("part", [lambda t: t, lambda t: t[1:], lambda t: t.reshape(2, 1)])
@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: grad(f, has_aux=True)(x)[1],
        lambda f, x: jvp(f, (x,), (pb.ones(2),), has_aux=True)[2],
        lambda f, x: jvp(lambda t: f(t)[1], (x,), (pb.ones(2),))[0],
    ],
)
def test_a_result_in_the_memory_of_the_argument_shares_its_version(part, call):
    x, w = pb.tensor([1.0, 2.0]), pb.ones(2, requires_grad=True)
    aux = call(lambda t: (squares(t), part(t)), x)
    loss = (w * x).sum()
    aux.mul_(5)
    assert x[1] == 10
    with pytest.raises(SavedTensorModifiedError, match=MODIFIED):
        loss.backward()


def test_a_tangent_is_neither_written_into_nor_handed_out():
    x, v = pb.tensor([1.0, 2.0]), pb.tensor([1.0, 3.0])
    value, tangent = jvp(lambda t: t.mul_(2), (x,), (v,))
    assert tangent.tolist() == [2, 6]
    assert v.tolist() == [1, 3]
    assert (value.tolist(), x.tolist(), x._version) == ([2, 4], [2, 4], 1)
    _, tangent = jvp(lambda t: t, (x,), (v,))
    tangent.mul_(7)
    assert v.tolist() == [1, 3]
    assert x._version == 1


def test_where_one_argument_is_an_ndarray_all_results_are_as_for_the_face_of_each():
    x, y = np.array([1.0, 2.0]), pb.tensor([3.0, 4.0])
    first, second = grad(lambda a, b: (a * b).sum(), (0, 1))(x, y)
    assert (first.tolist(), second.tolist()) == ([3, 4], [1, 2])
    assert isinstance(second, pb.Tensor)


def test_columns_of_an_infinite_slope_are_computed_alone():
    for x in (np.array([0.0, 1.0]), pb.tensor([0.0, 1.0])):
        found = jacfwd(lambda t: pb.cumsum(pb.sqrt(t), 0))(x)
        assert found.tolist() == [[np.inf, 0], [np.inf, 0.5]]


def test_a_tensor_of_a_transform_prints_its_level():
    seen = []
    grad(lambda t: seen.append(repr(t)) or t * t)(pb.tensor(1.0))
    assert seen == ["GradTrackingTensor(lvl=1, value=tensor(1.))"]


@pytest.mark.parametrize("given", [pb.tensor([1.0, 2.0]), np.array([1.0, 2.0])])
@pytest.mark.parametrize(
    "inner",
    [grad(lambda b: b.sum()), grad(lambda b: b.mean() * 2), lambda a: vjp(lambda b: b.sum(), a)[1](a[0] * 0 + 1)[0]],
)
def test_a_gradient_that_is_one_number_shown_many_times_may_be_written_into(inner, given):
    def f(a):
        g = inner(a)
        g[0] = a[1]
        return (g * a).sum()

    assert grad(f)(given).tolist() == [2, 2]


def test_an_element_of_a_tensor_without_dimensions_is_written_in_every_transform():
    def f(a):
        v = a * a
        v[...] = a * 0.5
        return v

    for transform in (jacfwd, jacrev, grad):
        assert transform(f)(pb.tensor(3.0)) == 0.5


def test_a_gradient_by_a_tensor_outside_of_the_transform_is_refused_by_that_reason():
    w = pb.tensor([2.0, 3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="depends only on tensors with requires_grad=True outside of it"):
        jvp(lambda a: pb.autograd.grad((w * a).sum(), w)[0], (pb.ones(2),), (pb.ones(2),))
