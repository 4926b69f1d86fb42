"""Graphs are freed by reference counting alone, and saved tensors as soon as they are used."""

import functools
import gc
import os
import sys
import threading
import tracemalloc
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


# -- the long run --------------------------------------------------------------------------------------------
LONG = os.environ.get("PULLBACK_LONG") == "1"


class Planned(Exception):
    pass


class Stops(pb.autograd.Function):
    """Raises in forward, or in backward."""

    @staticmethod
    def forward(ctx, x, where):
        ctx.save_for_backward(x)
        ctx.where = where
        if where == "forward":
            raise Planned
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise Planned


def training_step(w, b, x, k):
    """One step with views, in-place operations, hooks, a custom Function, exceptions, double and nested backward."""
    handles = [w.register_hook(lambda g: g * 1), b.register_post_accumulate_grad_hook(lambda b: None)]
    h = x @ w
    h[:, 1:3].mul_(2)
    h = h + b
    h[0] = b * 0.5
    h = Cube.apply(h.tanh()).reshape(-1)
    h.retain_grad()
    h.grad_fn.register_hook(lambda *_: None)
    h.register_hook(lambda g: inner(w))
    first, second = h.view(2, -1).unbind()
    loss = (first * second).sum() + h.exp().mean()
    (g,) = pb.autograd.grad(loss, w, create_graph=True)
    loss = loss + (g * g).sum() * 0.01
    h.grad = None
    fail(loss, w, k)
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True).copy(), pb.from_numpy):
        loss = loss + (w * w).sum()
    loss.backward(create_graph=k % 5 == 0)
    with pb.no_grad():
        w.sub_(w.grad.detach() * 1e-3)
        b.sub_(b.grad.detach() * 1e-3)
    w.grad = b.grad = None
    for handle in handles:
        handle.remove()


def inner(w):
    with pb.enable_grad():
        v = w.detach()[0].requires_grad_()
        (v * v).sum().backward()


def fail(loss, w, k):
    """Exceptions on the way there, on the way back, and from operators; whoever catches them drops them."""
    where = ("forward", "backward", "kernel", "in place", "hook")[k % 5]
    try:
        if where == "kernel":
            w @ pb.ones(99)
        elif where == "in place":
            (w * 1)[0:2].mul_(pb.ones(77))
        elif where == "hook":
            y = loss * 2

            def hook(g):
                raise Planned

            y.register_hook(hook)
            y.backward(retain_graph=True)
        else:
            Stops.apply(loss, where).backward(retain_graph=True)
    except (Planned, RuntimeError):
        return
    raise AssertionError(where)


@pytest.mark.slow
def test_ten_thousand_training_steps_do_not_grow():
    """By tracemalloc, with the garbage collector off: no bytes, no blocks, no objects more than after a few steps."""
    steps = 10_000 if LONG else 500
    generator = np.random.default_rng(0)
    w = pb.from_numpy(generator.standard_normal((6, 4)) * 0.1).requires_grad_()
    b = pb.zeros(4, requires_grad=True)
    x = pb.from_numpy(generator.standard_normal((8, 6)))
    # NumPy makes and drops these names in every __array_interface__; kept, they spare Python's table of names being
    # built anew now and then, which would be counted as two megabytes.
    names = [sys.intern(name) for name in ("data", "descr", "shape", "strides", "typestr", "version")]
    gc.collect()
    tracemalloc.start()
    try:
        for k in range(500):  # until Python's free lists, of 2,000 tuples of each length and the like, are full
            training_step(w, b, x, k)
        objects, (before, _) = len(gc.get_objects()), tracemalloc.get_traced_memory()
        for k in range(steps):
            training_step(w, b, x, k)
        (after, peak), grown = tracemalloc.get_traced_memory(), len(gc.get_objects()) - objects
    finally:
        tracemalloc.stop()
        del names
    print(f"{steps} steps: {after - before:+d} bytes, {grown:+d} objects, peak {peak - before} bytes above")
    assert after - before < max(11_000, 2 * steps)  # free lists waver; the smallest object would be 24 bytes a step
    assert grown < 10
    assert np.isfinite(w.numpy(force=True)).all()
    assert gc.collect() < 10  # nor is there anything that only the collector could free


def test_threads_leave_nothing_behind():
    w = pb.ones(6, 4, requires_grad=True)

    def work():
        for _ in range(20):
            y = (w * 2).exp()[1:3]
            y.register_hook(lambda g: inner(w))
            y.sum().backward()

    def round_of_threads():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        w.grad = None

    round_of_threads()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(5):
        round_of_threads()
    assert len(gc.get_objects()) - before < 20
    assert gc.collect() < 20


def test_backwards_nested_deep_leave_nothing_behind():
    def nested(depth):
        x = leaf()
        y = x * 2
        seen.append(weakref.ref(y.grad_fn))
        y.register_hook(lambda g: deeper(depth))
        y.sum().backward()

    def deeper(depth):
        if depth:
            with pb.enable_grad():
                nested(depth - 1)

    seen = []
    nested(70)
    assert len(seen) == 71
    assert [r for r in seen if r() is not None] == []


def test_a_view_whose_function_was_made_again_makes_no_cycle():
    x = leaf()
    base = x * 1
    view = base[0:2]
    base.mul_(2)
    gone = [weakref.ref(base.grad_fn), weakref.ref(view.grad_fn), weakref.ref(view), weakref.ref(base)]
    (view.sum() + base.sum()).backward()
    del base, view
    assert [r() for r in gone] == [None] * 4


def test_gradients_kept_for_one_run_keep_nothing():
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    gone = [weakref.ref(y), weakref.ref(z.grad_fn)]
    pb.autograd.backward(z, inputs=[y])
    assert y.grad.tolist() == [4, 4, 4, 4]
    del y, z
    assert [r() for r in gone] == [None, None]


# -- the one cycle that pullback makes itself ---------------------------------------------------------------------


def test_create_graph_puts_a_cycle_into_grad_which_the_collector_frees():
    x = leaf()
    (x * x).sum().backward(create_graph=True)  # x.grad holds a graph that leads to x
    gone = weakref.ref(x)
    del x
    assert gone() is not None
    gc.collect()
    assert gone() is None


@pytest.mark.filterwarnings("error")
def test_the_cycle_is_told_of_where_it_is_made():
    x = leaf()
    for backward in ((x * x).sum().backward, functools.partial(pb.autograd.backward, (x * x).sum())):
        with pytest.warns(UserWarning, match=r"will create a reference cycle.*autograd\.grad") as told:
            backward(create_graph=True)
        assert told[0].filename == __file__
    pb.autograd.grad((x * x).sum(), x, create_graph=True)
    (x * x).sum().backward(retain_graph=True)


def test_there_is_no_cycle_once_grad_is_let_go_of_nor_with_autograd_grad():
    x = leaf()
    (x * x).sum().backward(create_graph=True)
    x.grad = None
    w = leaf()
    (g,) = pb.autograd.grad((w * w).sum(), w, create_graph=True)
    gone = [weakref.ref(x), weakref.ref(w)]
    del x, w, g
    assert [reference() for reference in gone] == [None, None]


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: pb.func.grad(f)(x),
        lambda f, x: pb.func.jvp(f, (x,), (x,)),
        lambda f, x: pb.func.vmap(f)(x[None]),
        lambda f, x: pb.func.hessian(f)(x),
        lambda f, x: pb.func.vjp(f, x)[1](1.0),
        lambda f, x: pb.func.linearize(f, x)[1](x),
        lambda f, x: pb.func.jet(f, (x,), ((x,),)),
        lambda f, x: pb.autograd.functional.hvp(f, pb.tensor(x), pb.tensor(x)),
    ],
    ids=["grad", "jvp", "vmap", "hessian", "vjp", "linearize", "jet", "hvp"],
)
def test_a_function_that_keeps_its_values_goes_with_them(call):
    def made():
        kept = []

        def function(x):
            kept.append(np.sin(x))
            return (kept[-1] * x).sum()

        call(function, np.array([0.5, 0.7]))
        return weakref.ref(kept[-1])

    assert made()() is None
