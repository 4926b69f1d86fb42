"""Grad modes in a function under vmap: they hold for the derivatives outside, as in a loop."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, linearize, vmap

X = np.array([0.3, 0.7])


def _with_block(x):
    with pb.no_grad():
        y = x * 2
    return (y * x).sum()


def _with_switch(x):
    before = pb.is_grad_enabled()
    pb.set_grad_enabled(False)
    y = x * 2
    pb.set_grad_enabled(before)
    return (y * x).sum()


def _with_set_block(x):
    with pb.set_grad_enabled(False):
        y = x * 2
    return (y * x).sum()


@pb.no_grad
def _doubled(x):
    return x * 2


def _with_decorator(x):
    return (_doubled(x) * x).sum()


def _on_again(x):
    with pb.no_grad():
        with pb.enable_grad():
            z = x * 1.0
        y = z * 2
    return (y * z).sum()


FUNCTIONS = [_with_block, _with_switch, _with_set_block, _with_decorator, _on_again]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__.strip("_"))
def test_gradients_outside_are_those_of_a_loop(f):
    np.testing.assert_allclose(grad(lambda a: vmap(f)(a).sum())(X), 2 * X)
    twice = grad(lambda a: vmap(vmap(f))(a).sum())
    np.testing.assert_allclose(twice(np.stack([X, X])), 2 * np.stack([X, X]))
    x = pb.tensor(X, requires_grad=True)
    vmap(f)(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X)
    outer = grad(lambda a: grad(lambda b: vmap(f)(b).sum())(a).sum())(X)
    np.testing.assert_allclose(outer, [2, 2])  # the block is the inner level's; the outer one goes on


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__.strip("_"))
def test_forward_mode_outside_is_as_in_a_loop(f):
    looped = [jvp(f, (x,), (1.0,))[1] for x in X]
    np.testing.assert_allclose(jvp(vmap(f), (X,), (np.ones(2),))[1], looped)
    np.testing.assert_allclose(linearize(vmap(f), X)[1](np.ones(2)), looped)


def test_inference_mode_blocks_too():
    def f(x):
        with pb.inference_mode():
            y = pb.tensor(2.0) * x.detach()
        return (y.clone() * x).sum()

    def g(x):
        with pb.inference_mode():
            assert not pb.is_grad_enabled()
            inside = (x * x).sum()
        return x.sum() + 0 * inside.detach()

    np.testing.assert_allclose(grad(lambda a: vmap(f)(a).sum())(X), 2 * X)
    np.testing.assert_allclose(grad(lambda a: vmap(g)(a).sum())(X), [1, 1])


def test_a_gradient_inside_is_untouched_by_a_block_around_vmap():
    with pb.no_grad():
        np.testing.assert_allclose(vmap(grad(lambda x: x**3))(X), 3 * X**2)
        assert not vmap(lambda x: x * pb.is_grad_enabled())(X).any()
        np.testing.assert_allclose(vmap(grad(_with_block))(X), 2 * X)
    assert grad(lambda a: vmap(lambda x: x**2 * pb.is_grad_enabled())(a).sum())(X).all()


def test_a_gradient_inside_blocks_itself_alone():
    f = vmap(grad(_with_block))  # 2 x, by y = 2 x held constant inside; outside y moves
    loop = grad(lambda a: sum(grad(_with_block)(x) for x in a))(X)
    np.testing.assert_allclose(grad(lambda a: f(a).sum())(X), loop)
