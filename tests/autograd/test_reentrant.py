"""Backward inside backward: in custom Functions, in hooks of tensors, nodes and leaves, and deep inside each other."""

import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.engine import user_callbacks

pytestmark = pytest.mark.usefixtures("both_loops")


def leaf(value=2.0, n=3):
    return pb.full((n,), value, requires_grad=True)


class Through(pb.autograd.Function):
    """Runs `function` without recording it, and again, recording, in backward: what a reentrant checkpoint does."""

    @staticmethod
    def forward(ctx, function, *inputs):
        ctx.function, ctx.inputs = function, inputs
        return function(*inputs)

    @staticmethod
    def backward(ctx, grad):
        inputs = [x.detach().requires_grad_(x.requires_grad) for x in ctx.inputs]
        with pb.enable_grad():
            output = ctx.function(*inputs)
        pb.autograd.backward(output, grad)
        return (None, *(x.grad for x in inputs))


def test_a_backward_inside_the_backward_of_a_function():
    x, w = leaf(), leaf(3.0)
    Through.apply(lambda x, w: (x * w).exp(), x, w).sum().backward()
    e = np.exp(6.0)
    assert np.allclose(x.grad.numpy(), 3 * e)
    assert np.allclose(w.grad.numpy(), 2 * e)


def test_a_function_whose_backward_adds_to_leaves_outside_of_it():
    x, w = leaf(), leaf(3.0)
    (Through.apply(lambda x: x * w, x) * w).sum().backward()
    assert x.grad.tolist() == [9, 9, 9]
    assert w.grad.tolist() == [12, 12, 12]  # 6 from outside, 2 * 3 from the backward inside


def test_checkpoints_inside_checkpoints():
    def layer(depth):
        return (lambda x: Through.apply(layer(depth - 1), x).sin() * 2) if depth else (lambda x: x * x)

    x, same = leaf(0.5), leaf(0.5)
    layer(5)(x).sum().backward()
    y = same * same
    for _ in range(5):
        y = y.sin() * 2
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), same.grad.numpy())


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("place", ["tensor", "leaf", "post accumulate", "node", "node before"])
def test_a_backward_inside_a_hook(place, create_graph):
    x, inner = leaf(), leaf(5.0)
    y = x * x

    def hook(*_):
        with pb.enable_grad():
            (inner * inner).sum().backward()

    if place == "tensor":
        y.register_hook(hook)
    elif place == "leaf":
        x.register_hook(hook)
    elif place == "post accumulate":
        x.register_post_accumulate_grad_hook(hook)
    elif place == "node":
        y.grad_fn.register_hook(hook)
    else:
        y.grad_fn.register_prehook(hook)
    y.sum().backward(create_graph=create_graph)
    assert x.grad.tolist() == [4, 4, 4]
    assert inner.grad.tolist() == [10, 10, 10]
    assert not inner.grad.requires_grad  # the inner backward is one of its own, and not recorded
    x.grad = None


def test_a_hook_may_run_the_graph_that_is_being_run_if_it_is_retained():
    x = leaf()
    y = x.exp()
    z = (y * y).sum()
    runs = []

    def hook(grad):
        if len(runs) < 3:
            runs.append(grad.tolist())
            z.backward(retain_graph=True)

    y.register_hook(hook)
    z.backward(retain_graph=True)
    assert len(runs) == 3
    assert np.allclose(x.grad.numpy(), 4 * 2 * np.exp(4.0))


def test_a_hook_that_runs_a_released_part_is_told_so():
    x = leaf()
    y = x.exp()
    z = (y * y).sum()
    y.register_hook(lambda grad: z.backward())
    with pytest.raises(RuntimeError, match=r"second time .*MulBackward0 has already released .* retain_graph=True"):
        z.backward()
    assert x.grad is None


def test_double_backward_through_a_backward_inside_a_hook():
    x, a = leaf(), leaf(3.0)
    y = x * x
    # The hook's gradient depends on x through a backward of its own: d(x^3)/dx = 3 x^2.
    y.register_hook(lambda g: g * pb.autograd.grad((x**3).sum(), x, create_graph=True)[0])
    (g,) = pb.autograd.grad((y * a).sum(), x, create_graph=True)
    assert np.allclose(g.tolist(), 3 * (3 * 4) * (2 * 2))  # a * 3 x^2 * 2 x
    (h,) = pb.autograd.grad(g.sum(), x)
    assert np.allclose(h.tolist(), 3 * 18 * 4)  # d(6 a x^3)/dx


def nest(depth, kind, create_graph, reached):
    """A backward whose hook (or Function) runs another one, `depth` times."""
    x = leaf(2.0, 1)

    def inner(*_):
        reached.append(threading.current_thread())
        if depth > 1:
            with pb.enable_grad():
                assert nest(depth - 1, kind, create_graph, reached) == [12]

    if kind == "function":

        class Nested(pb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                inner()
                (x,) = ctx.saved_tensors
                return 3 * x * x * grad

        y = Nested.apply(x)
    else:
        y = x**3
        place = {"tensor": y, "leaf": x, "node": y.grad_fn}[kind]
        place.register_hook(inner)
    if create_graph:
        return pb.autograd.grad(y.sum(), x, create_graph=True)[0].tolist()
    y.sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("kind", ["tensor", "leaf", "node", "function"])
def test_a_hundred_levels(kind, create_graph):
    reached = []
    assert nest(100, kind, create_graph, reached) == [12]
    assert len(reached) == 100
    assert reached[0] is threading.current_thread()  # the first levels run where they were called


def test_two_thousand_levels_do_not_exhaust_the_stack():
    assert sys.getrecursionlimit() < 2000
    reached = []
    assert nest(2000, "function", False, reached) == [12]
    assert len(reached) == 2000
    assert max(reached.count(thread) for thread in set(reached)) <= user_callbacks.DEEPEST


def fail_below(depth, error):
    x = leaf(1.0, 1)
    y = x * 2

    def hook(grad):
        if depth == 0:
            raise error
        with pb.enable_grad():
            fail_below(depth - 1, error)

    y.register_hook(hook)
    try:
        y.sum().backward()
    finally:
        assert x.grad is None


@pytest.mark.parametrize("error", [ValueError("deep down"), KeyboardInterrupt("deep down")], ids=["error", "interrupt"])
def test_an_exception_comes_up_through_all_levels_and_threads(error):
    with pytest.raises(type(error), match="deep down") as caught:
        fail_below(90, error)
    assert caught.value is error
    assert pb.is_grad_enabled()
    assert user_callbacks.here.depth == 0
    x = leaf()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_deep_levels_see_the_modes_and_context_of_those_above():
    import contextvars

    variable = contextvars.ContextVar("variable")
    variable.set("seen")
    seen = []

    def down(depth):
        x = leaf(1.0, 1)
        y = x * 2

        def hook(grad):
            seen.append((variable.get(), pb.is_grad_enabled(), np.geterr()["divide"]))
            if depth:
                with pb.enable_grad():
                    down(depth - 1)

        y.register_hook(hook)
        y.sum().backward()

    down(70)
    assert len(seen) == 71
    assert len(set(seen)) == 1
    assert seen[0][:2] == ("seen", False)


def test_nested_runs_keep_their_levels_apart():
    inner = leaf(3.0)

    def hook(grad):
        with pb.enable_grad():
            (inner * inner).sum().backward()

    def f(x):
        y = x * x
        y.register_hook(hook)
        return y.sum()

    assert pb.func.grad(f)(pb.full((3,), 2.0)).tolist() == [4, 4, 4]
    assert inner.grad.tolist() == [6, 6, 6]
