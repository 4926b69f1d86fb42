"""The engine: order, depth, nesting, exceptions, undefined gradients, and the shapes it makes fit."""

import math
import sys
import threading
import time

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy import for_few
from pullback.arrays.numpy.declarations import ufunc_for_few
from pullback.autograd.engine import dependencies
from pullback.core.array_type import NUMPY
from pullback.graph.node import KEEPS_FEW
from pullback.graph.saved import unpack_raw

pytestmark = pytest.mark.usefixtures("both_loops")


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


class Spy(pb.autograd.Function):
    """The identity; its backward calls what it was given."""

    @staticmethod
    def forward(ctx, x, call):
        ctx.call = call
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        result = ctx.call(g)
        return (g if result is None else result), None


# -- depth -----------------------------------------------------------------------------------------------------


def chain(x, n):
    for _ in range(n):
        x = x * 1.0
    return x


def test_a_long_chain_needs_no_recursion():
    n = 100_000
    assert sys.getrecursionlimit() < n
    x = leaf(3.0)
    y = chain(x, n)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [1]
    assert pb.autograd.grad(y, x)[0].tolist() == [1]
    del y  # freeing recurses in a naive implementation


def sines_and_more(x):
    """A chain that meets a leaf again, a node with two edges to one node, a branch, views, and several outputs."""
    y = (x.sin() * 2.0).cos() + x
    y = y * y
    a, b = y.chunk(2)
    return (y.sin()[0] * a.exp() + b.log()).sin().sum() * 3.0


@pytest.mark.parametrize("many", [1, 4, 1 << 16])
def test_counts_read_in_order_are_those_looked_up(monkeypatch, many):
    monkeypatch.setattr(dependencies, "MANY", many)
    x = leaf(0.3, 0.4)
    (grad,) = pb.autograd.grad(sines_and_more(x), x)
    s = 1e-6
    for i in range(2):
        step = pb.tensor([s * (j == i) for j in range(2)])
        slope = (sines_and_more(x + step) - sines_and_more(x - step)).item() / (2 * s)
        assert grad[i].item() == pytest.approx(slope, rel=1e-6)


def test_reading_in_order_ends_at_the_first_node_that_is_not_the_next():
    nodes = [leaf(float(i)).sin().grad_fn for i in range(5)]
    get = dependencies.in_order({node: i for i, node in enumerate(nodes)})
    assert [get(nodes[i]) for i in (1, 2, 4, 3, 0)] == [1, 2, 4, 3, 0]
    assert get(None) is None


@pytest.mark.parametrize("size", [3, 5000])
def test_formulas_for_few_elements_and_for_many_agree(size):
    x = pb.linspace(-20.0, 20.0, size).requires_grad_()
    y = x.sin()
    assert (y.grad_fn._extra is KEEPS_FEW) == (size == 3 and ufunc_for_few(NUMPY.sin)[1] > 0)
    (grad,) = pb.autograd.grad(y.cos().sum(), x)
    assert np.allclose(grad.numpy(), -np.sin(np.sin(x.tolist())) * np.cos(x.tolist()), rtol=1e-12, atol=1e-14)


def test_the_table_for_few_elements_has_every_operator():
    assert for_few.tanh is NUMPY.tanh
    assert for_few.kernels is NUMPY.kernels
    with pytest.raises(AttributeError, match="no_such_operator"):
        for_few.no_such_operator


def test_a_hook_on_a_node_of_few_elements_is_called():
    x = leaf(1.0)
    y = x.sin()
    seen = []
    y.grad_fn.register_hook(lambda grads, _: seen.append(grads[0].item()))
    y.cos().backward()
    assert seen == [x.grad.item()] == [pytest.approx(-math.sin(math.sin(1.0)) * math.cos(1.0))]


def takes_another_shape(x):
    x.data = pb.ones(4, 1)
    return x


@pytest.mark.parametrize(
    "argument",
    [
        lambda x: x,
        lambda x: x * 2.0,
        lambda x: x[0],
        lambda x: x[0, 0],
        lambda x: x.chunk(3)[1],
        lambda x: x.T,
        lambda x: x.exp().unsqueeze_(0),
        lambda x: x.sum(),
        takes_another_shape,
    ],
)
@pytest.mark.parametrize(
    "operator", [pb.sin, pb.log, pb.erf, pb.abs, lambda x: x * 0.5, lambda x: 2.0 - x, lambda x: x / 3]
)
def test_a_node_knows_the_shape_and_dtype_of_its_result(argument, operator):
    given = argument(pb.full((3, 4), 0.5, requires_grad=True))
    result = operator(given)
    (metadata,) = result.grad_fn.input_metadata
    assert metadata.shape == result.shape == given.shape
    assert metadata.dtype == result.dtype


def test_a_long_chain_is_freed_without_a_backward():
    y = chain(leaf(3.0), 100_000)
    del y


def test_a_long_chain_with_saved_outputs_under_create_graph():
    x = leaf(1e-3)
    y = x
    for _ in range(2000):
        y = y.sin()
    (g,) = pb.autograd.grad(y, x, create_graph=True)
    (second,) = pb.autograd.grad(g, x)
    assert 0 < g.item() <= 1
    assert second.item() < 0
    del y, g, second


def test_a_long_chain_of_views_and_in_place_operations():
    x = leaf(1.0, 2.0)
    y = x * 1
    for _ in range(3000):
        y[0:1].mul_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_long_chain_of_custom_functions():
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = Spy.apply(y, lambda g: None)
    y.backward()
    assert x.grad.tolist() == [1]
    del y


# -- order -----------------------------------------------------------------------------------------------------


def test_nodes_run_latest_first_each_when_its_gradient_is_complete():
    x, order = leaf(1.0), []
    a = Spy.apply(x, lambda g: order.append(("a", g.item())))
    b = Spy.apply(a, lambda g: order.append(("b", g.item())))
    c = Spy.apply(a, lambda g: order.append(("c", g.item())))
    (b * 2 + c * 3 + a).backward()
    assert order == [("c", 3), ("b", 2), ("a", 6)]
    assert x.grad.tolist() == [6]


def test_leaves_get_their_gradient_as_soon_as_it_is_complete():
    x, w, order = leaf(1.0), leaf(2.0), []
    y = Spy.apply(x, lambda g: order.append("deep"))
    w.register_post_accumulate_grad_hook(lambda p: order.append("leaf"))
    (y * w).backward()
    assert order == ["leaf", "deep"]


def test_a_node_without_incoming_gradient_is_passed_over():
    class NoGradient(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x, u = leaf(), leaf()
    y = NoGradient.apply(x.exp())
    (y + u).sum().backward()
    assert x.grad is None
    assert u.grad.tolist() == [1, 1]
    (g,) = pb.autograd.grad(NoGradient.apply(x.exp()).sum(), x, allow_unused=True)
    assert g is None


# -- gradients are made to fit ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (2, 3)),
        ((2, 1), (2, 3)),
        ((1, 1), (2, 3)),
        ((), (2, 3)),
        ((4, 1, 3), (2, 1)),
        ((1,), ()),
        ((0, 3), (1, 3)),
    ],
)
def test_gradients_of_broadcast_arguments_are_summed(a, b):
    x, y = pb.full(a, 1.0, requires_grad=True), pb.full(b, 2.0, requires_grad=True)
    out = x * y
    out.sum().backward()
    times = out.numel()
    assert x.grad.shape == a
    assert y.grad.shape == b
    assert np.allclose(x.grad.numpy(), 2 * times / max(x.numel(), 1) if x.numel() else 0)
    assert np.allclose(y.grad.numpy(), times / y.numel() if y.numel() else 0)


def test_a_square_has_one_gradient_twice():
    x, y = (pb.tensor([1.0, -2.0, math.inf], requires_grad=True) for _ in range(2))
    first, second = (x * x).grad_fn.apply(NUMPY, np.ones(3), unpack_raw)
    assert first is second  # one product
    first, second = (x * y).grad_fn.apply(NUMPY, np.ones(3), unpack_raw)
    assert first is not second


def test_gradients_of_a_square_are_doubled_at_every_order():
    x = pb.tensor([1.0 + 2j, -3j], requires_grad=True)
    (grad,) = pb.autograd.grad((x * x).real.sum(), x, create_graph=True)
    assert grad.tolist() == [2 - 4j, 6j]
    (second,) = pb.autograd.grad(grad.real.sum(), x)
    assert second.tolist() == [2, 2]
    masked = pb.tensor([0.0, 2.0], requires_grad=True)
    pb.where(masked > 0, pb.sqrt(masked) * pb.sqrt(masked), 0.0).sum().backward()
    assert masked.grad.tolist() == pytest.approx([0, 1])
    z = masked * masked
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.sum().backward()


def test_a_custom_gradient_is_summed_to_the_shape_of_its_input():
    class Broadcasts(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.expand(4, 2).clone()

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf()
    Broadcasts.apply(x).sum().backward()
    assert x.grad.tolist() == [4, 4]


# -- nesting ---------------------------------------------------------------------------------------------------


def test_backward_inside_backward():
    x, w = leaf(1.0), leaf(5.0)

    def inner(g):
        with pb.enable_grad():
            (w**2).backward()
            z = leaf(2.0)
            (cube,) = pb.autograd.grad(z**3, z)
        return g * cube

    Spy.apply(x, inner).backward()
    assert x.grad.tolist() == [12]
    assert w.grad.tolist() == [10]


def test_checkpointing_by_hand_runs_part_of_the_graph_again():
    class Checkpoint(pb.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.save_for_backward(x)
            return run(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            again = x.detach().requires_grad_()
            with pb.enable_grad():
                ctx.run(again).backward(g)
            return None, again.grad

    x = leaf(0.5, 1.5)
    Checkpoint.apply(lambda y: Checkpoint.apply(pb.sin, y * 2), x).sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * np.cos([1.0, 3.0]))


def test_deeply_nested_backwards():
    def nested(depth):
        x = leaf(1.0)
        with pb.enable_grad():
            y = Spy.apply(x, lambda g: g * nested(depth - 1) if depth else g)
        y.backward()
        return x.grad.detach() + 1

    assert nested(20).item() == 22


def test_a_hook_may_run_a_backward_over_the_same_graph():
    x, seen = leaf(2.0), []
    y = x * x
    z = y * 3

    def hook(g):
        seen.append(pb.autograd.grad(z, x, retain_graph=True)[0].item())

    handle = y.register_hook(lambda g: (handle.remove(), hook(g))[1])
    z.backward(retain_graph=True)
    assert seen == [12]
    assert x.grad.item() == 12


# -- exceptions ------------------------------------------------------------------------------------------------


def boom(*_):
    raise KeyError("boom")


def test_an_exception_in_a_node_leaves_everything_usable():
    x, w = leaf(1.0), leaf(2.0)
    w.grad = pb.tensor([100.0])
    y = Spy.apply(x, boom)
    with pytest.raises(KeyError, match="boom"):
        (y * w).backward()
    assert pb.is_grad_enabled()
    assert x.grad is None
    (x * w).backward()
    assert x.grad.tolist() == [2]


def test_nothing_is_accumulated_by_a_backward_that_fails():
    x, w = leaf(1.0), leaf(2.0)
    w.grad = pb.tensor([100.0])
    for fail in (
        lambda: (Spy.apply(x, boom) * w).backward(),
        lambda: (Spy.apply(x, boom) * w).backward(create_graph=True),
        lambda: (Spy.apply(x, boom) * w).backward(inputs=[x, w]),
        lambda: pb.autograd.grad(Spy.apply(x, boom) * w, [x, w]),
    ):
        with pytest.raises(KeyError):
            fail()
        assert x.grad is None
        assert w.grad.tolist() == [100]


@pytest.mark.parametrize("where", ["tensor", "leaf", "pre", "post", "after"])
def test_an_exception_in_a_hook_leaves_everything_usable(where):
    x = leaf(3.0)
    y = x * 2
    register = {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "after": x.register_post_accumulate_grad_hook,
    }[where]
    handle = register(boom)
    z = (y * y).sum()
    with pytest.raises(KeyError, match="boom"):
        z.backward(retain_graph=True)
    assert pb.is_grad_enabled()
    handle.remove()
    x.grad = None
    z.backward()
    assert x.grad.tolist() == [24]


def test_interrupting_a_backward_restores_the_grad_mode():
    def interrupt(g):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Spy.apply(leaf(1.0), interrupt).backward(create_graph=True)
    assert pb.is_grad_enabled()
    y = Spy.apply(leaf(1.0), interrupt)
    with pb.no_grad():
        with pytest.raises(KeyboardInterrupt):
            y.backward(create_graph=True)
        assert not pb.is_grad_enabled()
    assert pb.is_grad_enabled()


def test_nested_exceptions_come_through_unchanged():
    def inner(g):
        with pb.enable_grad():
            Spy.apply(leaf(1.0), boom).backward()

    x = leaf(1.0)
    with pytest.raises(KeyError, match="boom"):
        Spy.apply(x, inner).backward()
    assert x.grad is None
    assert pb.is_grad_enabled()


def test_grad_mode_inside_backward_is_that_of_create_graph():
    seen = []
    y = Spy.apply(leaf(1.0), lambda g: seen.append(pb.is_grad_enabled()))
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    assert seen == [False, True]
    assert pb.is_grad_enabled()


def test_the_gradient_is_a_tensor_outside_the_graph_unless_create_graph():
    seen = []
    x = leaf(1.0)
    y = Spy.apply(x * x, lambda g: seen.append(g.requires_grad))
    (y * y).backward(retain_graph=True)
    (y * y).backward(create_graph=True)
    assert seen == [False, True]


# -- numbers ---------------------------------------------------------------------------------------------------


def test_floating_point_errors_inside_backward_are_silent():
    x = leaf(0.0, 1.0)
    with np.errstate(all="raise"):
        y = x.sqrt().sum()
        y.backward()
    assert x.grad.tolist() == [np.inf, 0.5]


def test_large_fan_in_is_summed_once_each():
    x = pb.ones(3000, requires_grad=True)
    y = x * 1
    total = y * 0
    for k in range(50):
        total = total + y * k
    total.sum().backward()
    assert set(x.grad.tolist()) == {float(sum(range(50)))}


def test_buffers_are_not_shared_between_branches():
    # One array of gradients goes both ways at an addition; summing into it on one side must not change the other.
    x, y = pb.ones(5000, requires_grad=True), pb.ones(5000, requires_grad=True)
    a, b = x * 1, y * 1
    s = a + b
    (s + a * 2 + b * 3 + s * 5).sum().backward()
    assert set(x.grad.tolist()) == {8.0}
    assert set(y.grad.tolist()) == {9.0}


def test_a_saved_tensor_is_never_used_as_a_buffer():
    x = pb.full((5000,), 2.0, requires_grad=True)
    y = x.exp()
    z = y * y + y
    z.sum().backward(retain_graph=True)
    first = x.grad.tolist()
    x.grad = None
    z.sum().backward()
    assert x.grad.tolist() == first
    assert np.allclose(first, 2 * np.exp(4.0) + np.exp(2.0))


def test_runs_do_not_wait_for_each_other():
    started, release = threading.Event(), threading.Event()

    def wait(g):
        started.set()
        assert release.wait(10)

    slow = Spy.apply(leaf(1.0), wait)
    thread = threading.Thread(target=slow.backward)
    thread.start()
    assert started.wait(10)
    x = leaf(2.0)
    begin = time.perf_counter()
    (x * x).backward()
    assert time.perf_counter() - begin < 5
    release.set()
    thread.join(10)
    assert x.grad.tolist() == [4]
