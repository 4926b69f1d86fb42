"""Graphs are freed by reference counting alone, and saved tensors as soon as they are used."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb


@pytest.fixture(autouse=True)
def no_garbage_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(n=4):
    return pb.ones(n, requires_grad=True)


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return 3 * x * x * g


def write_into_views(x):
    y = x * 1
    v = y[1:3]
    v.mul_(2)
    v[0] = 5.0
    y += v.sum()
    return v * y.sum()


def diamond(x):
    y = x * 3
    return y * y + y.sum()


PROGRAMS = {
    "chain": lambda x: (x * 2).sin().exp().tanh(),
    "saved outputs": lambda x: x.exp().sqrt().sigmoid().softmax(0),
    "diamond": diamond,
    "several outputs": lambda x: pb.sort(x * 1)[0] * pb.max(x.reshape(2, 2), dim=1)[0].sum(),
    "views": lambda x: x.reshape(2, 2).T[0] * x[1:3],
    "unbind": lambda x: sum(pb.unbind(x * 1)),
    "in place": lambda x: (x * 1).add_(1).mul_(2).exp_(),
    "in place on views": write_into_views,
    "custom": lambda x: Cube.apply(Cube.apply(x)),
    "joining": lambda x: pb.cat([x, x * 2, pb.stack([x, x]).reshape(-1)]),
    "indexing": lambda x: (x * 1)[[0, 2]] * x[x > 0].sum(),
    "products": lambda x: pb.cumprod(x, 0) * x.prod(),
    "matrix products": lambda x: x.reshape(2, 2) @ x.reshape(2, 2),
}


@pytest.mark.parametrize("then", ["drop", "backward", "retained", "create_graph", "grad", "double", "failed"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_graph_is_freed_by_reference_counting(program, then):
    x = leaf()
    y = program(x)
    total = y.sum()
    nodes = nodes_of(total)
    gone = [weakref.ref(n) for n in nodes] + [weakref.ref(y), weakref.ref(total)]
    del nodes
    if then == "backward":
        total.backward()
    elif then == "retained":
        total.backward(retain_graph=True)
    elif then == "create_graph":
        total.backward(create_graph=True)
        x.grad = None
    elif then == "grad":
        pb.autograd.grad(total, x)
    elif then == "double":
        (g,) = pb.autograd.grad(total, x, create_graph=True)
        if g.requires_grad:
            g.sum().backward()
        del g
    elif then == "failed":
        handle = x.register_hook(lambda g: g.sum().reshape(1, 1))
        with pytest.raises(RuntimeError) as caught:
            total.backward()
        caught.value.__traceback__ = None
        handle.remove()
        del caught
    del y, total
    assert [r() for r in gone if r() is not None] == []


def nodes_of(tensor):
    seen, stack = [], [tensor.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and not any(node is n for n in seen):
            seen.append(node)
            stack.extend(n for n, _ in node.next_functions)
    return [n for n in seen if n.name() != "AccumulateGrad"]


def test_saved_tensors_are_released_while_backward_runs():
    x = leaf(1000)
    y = x * 1
    z = y.sin()
    saved = weakref.ref(y)
    alive = []
    x.register_hook(lambda g: alive.append(saved() is not None))
    total = z.sum()
    del y, z
    assert saved() is not None
    total.backward()
    assert alive == [False]
    assert saved() is None


def test_a_retained_graph_keeps_its_saved_tensors():
    x = leaf()
    y = x * 1
    total = y.sin().sum()
    saved = weakref.ref(y)
    del y
    total.backward(retain_graph=True)
    assert saved() is not None
    total.backward()
    assert saved() is None


def test_a_leaf_does_not_keep_its_graphs():
    x = leaf()
    y = x * 2
    node = weakref.ref(y.grad_fn)
    accumulator = weakref.ref(y.grad_fn.next_functions[0][0])
    del y
    assert node() is None
    assert accumulator() is None


def test_a_graph_keeps_its_leaves():
    x = leaf()
    kept = weakref.ref(x)
    y = (x * 2).sum()
    del x
    assert kept() is not None
    y.backward()
    assert kept().grad.tolist() == [2, 2, 2, 2]
    del y
    assert kept() is None


def test_a_view_keeps_its_base_and_not_the_other_way_round():
    base = leaf() * 1
    view = base[0:2]
    kept = weakref.ref(base)
    gone = weakref.ref(view)
    del base
    assert kept() is not None
    del view
    assert kept() is None
    assert gone() is None
    base = pb.ones(4)
    view = base[0:2]
    gone = weakref.ref(view)
    del view
    assert gone() is None


def test_a_detached_tensor_does_not_keep_the_graph():
    y = leaf() * 2
    node = weakref.ref(y.grad_fn)
    d = y.detach()
    del y
    assert node() is None
    assert d.tolist() == [2, 2, 2, 2]


def test_hooks_and_retained_gradients_make_no_cycles():
    y = leaf() * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    gone = [weakref.ref(y), weakref.ref(y.grad_fn)]
    y.sum().backward()
    del y
    assert [r() for r in gone] == [None, None]


def test_nested_transforms_leave_nothing_behind():
    made = []

    def f(x):
        y = x**3
        made.append(weakref.ref(y))
        return y

    pb.func.grad(pb.func.grad(f))(2.0)
    assert [r() for r in made] == [None] * len(made)


def test_a_training_loop_does_not_grow():
    w = pb.ones(50, 50, requires_grad=True)
    x = pb.ones(10, 50)

    def step():
        loss = ((x @ w).tanh() ** 2).mean()
        loss.backward()
        with pb.no_grad():
            w.sub_(w.grad * 0.01)
        w.grad = None

    step()
    before = len(gc.get_objects())
    for _ in range(50):
        step()
    assert len(gc.get_objects()) - before < 50


def test_gradients_of_large_arrays_are_not_copied_needlessly():
    # The product's gradient is a fresh array that nobody else holds: it becomes .grad itself.
    x = pb.ones(100_000, requires_grad=True)
    fresh = []

    class Doubles(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            array = np.full(g.shape, 2.0)
            fresh.append(array.__array_interface__["data"][0])
            return pb.from_numpy(array)

    Doubles.apply(x).sum().backward()
    assert x.grad.numpy().__array_interface__["data"][0] == fresh[0]
