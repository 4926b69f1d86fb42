"""An exception anywhere leaves modes, graphs and every `.grad` as they were, and nothing keeps what it has seen."""

import gc
import signal
import threading
import weakref

import numpy as np
import pytest

import pullback as pb

pytestmark = pytest.mark.usefixtures("both_loops")


class Planned(Exception):
    pass


ERRORS = [Planned, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, RecursionError]


def leaf(value=2.0, n=3):
    return pb.full((n,), value, requires_grad=True)


class Fails(pb.autograd.Function):
    """x * x; raises `error` in forward or backward."""

    @staticmethod
    def forward(ctx, x, where, error):
        ctx.save_for_backward(x)
        ctx.where, ctx.error = where, error
        if where == "forward":
            raise error("planned")
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        if ctx.where == "backward":
            raise ctx.error("planned")
        return 2 * x * grad, None, None


def raising(error):
    def hook(*_):
        raise error("planned")

    return hook


# Each makes a graph whose backward raises, given y = f(x); returns what undoes it.
def in_tensor_hook(x, y, error):
    return y.register_hook(raising(error)).remove


def in_leaf_hook(x, y, error):
    return x.register_hook(raising(error)).remove


def in_node_hook(x, y, error):
    return y.grad_fn.register_hook(raising(error)).remove


def in_node_prehook(x, y, error):
    return y.grad_fn.register_prehook(raising(error)).remove


PLACES = [in_tensor_hook, in_leaf_hook, in_node_hook, in_node_prehook]


@pytest.fixture(autouse=True)
def state_is_as_before():
    errstate = np.geterr()
    yield
    assert pb.is_grad_enabled()
    assert not pb.is_inference_mode_enabled()
    assert np.geterr() == errstate
    x = leaf()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 4, 4]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["backward", "create_graph", "inputs", "grad"])
def test_a_hook_that_raises_leaves_every_grad(how, place, error):
    x, other, before = leaf(), leaf(), leaf()
    before.grad = held = pb.ones(3)
    y = x.exp()
    middle = y * 1
    middle.retain_grad()
    z = (middle * other * before).sum()
    undo = place(x, y, error)

    def run(retain):
        if how == "grad":
            return pb.autograd.grad(z, (x, other), retain_graph=retain)
        if how == "inputs":
            return pb.autograd.backward(z, inputs=[x, middle, y], retain_graph=retain)
        return z.backward(retain_graph=retain, create_graph=how == "create_graph")

    with pytest.raises(error, match="planned"):
        run(retain=True)
    assert [t.grad for t in (x, other, middle)] == [None] * 3
    assert y._extra is None or y._extra.grad is None
    assert before.grad is held
    assert held.tolist() == [1, 1, 1]
    undo()
    run(retain=False)  # the graph is whole: it was retained
    if how != "grad":
        assert np.allclose(x.grad.tolist(), 4 * np.exp(2.0))
        assert np.allclose(middle.grad.tolist(), 4)
    for t in (x, other, before):
        t.grad = None


def test_grads_that_were_there_keep_their_numbers_and_identity():
    x, w = leaf(), leaf()
    (x * w).sum().backward()
    y = x * 3
    y.retain_grad()
    (y * w).sum().backward()
    grads = [t.grad for t in (x, w, y)]
    numbers = [g.tolist() for g in grads]
    z = (y.detach() * (x * w)).sum() + (x * 3).sum()
    x.register_hook(raising(Planned))
    with pytest.raises(Planned):
        z.backward()
    assert all(t.grad is g for t, g in zip((x, w, y), grads, strict=True))
    assert [g.tolist() for g in grads] == numbers


@pytest.mark.parametrize("error", ERRORS)
def test_a_function_that_raises_in_backward(error):
    x, other = leaf(), leaf()
    z = (Fails.apply(x, "backward", error) * other).sum()
    for create_graph in (False, True):
        with pytest.raises(error, match="planned"):
            z.backward(retain_graph=True, create_graph=create_graph)
        assert x.grad is None
        assert other.grad is None


@pytest.mark.parametrize("error", ERRORS)
def test_a_function_that_raises_in_forward(error):
    x = leaf()
    y = x * 2
    with pb.no_grad(), pytest.raises(error):
        Fails.apply(y, "forward", error)
    with pytest.raises(error, match="planned"):
        Fails.apply(y, "forward", error)
    assert y._version == 0
    (y * y).sum().backward()
    assert x.grad.tolist() == [16, 16, 16]


def test_a_function_that_breaks_its_promises_leaves_the_graph_of_its_input():
    class Dirty(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.clone()  # and not x

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf()
    y = x * 2
    with pytest.raises(
        RuntimeError, match="An input that DirtyBackward marks with mark_dirty must be returned by forward"
    ):
        Dirty.apply(y)
    assert y.grad_fn.name() == "MulBackward0"
    (y * y).sum().backward()
    assert x.grad.tolist() == [16, 16, 16]


def test_a_node_whose_derivative_is_missing_or_forbidden():
    class Once(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @pb.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad * 2

    x, other = leaf(), leaf()
    (g,) = pb.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"OnceBackward.*once_differentiable"):
        (g * other).sum().backward()
    assert x.grad is None
    assert other.grad is None


def test_a_saved_tensor_that_was_modified():
    x, other = leaf(), leaf()
    y = x.exp()
    z = (y * y * other).sum()
    y.detach().add_(1)
    for _ in range(2):  # and the second error is the same as the first
        with pytest.raises(RuntimeError, match=r"MulBackward0 saved '(self|other)'"):
            z.backward(retain_graph=True)
        assert x.grad is None
        assert other.grad is None


BAD_WRITES = {
    "shape": lambda y, v: v.mul_(pb.ones(5)),
    "dtype": lambda y, v: v.add_(1j),
    "copy_": lambda y, v: y.copy_(pb.ones(9)),
    "setitem": lambda y, v: y.__setitem__(slice(0, 2), pb.ones(5)),
    "index": lambda y, v: y.__setitem__(7, 1.0),
    "argument": lambda y, v: v.sub_("a"),
    "out": lambda y, v: pb.exp(pb.ones(3), out=y),
    "squeeze_": lambda y, v: y.squeeze_(4),
}


@pytest.mark.parametrize("write", BAD_WRITES.values(), ids=BAD_WRITES)
def test_an_in_place_operation_that_raises_changes_nothing(write):
    x = leaf()
    y = x * 2
    v = y[0:2]
    functions = y.grad_fn, v.grad_fn
    with pytest.raises((RuntimeError, TypeError, IndexError)):
        write(y, v)
    assert y.tolist() == [4, 4, 4]
    assert y._version == 0
    assert (y.grad_fn, v.grad_fn) == functions
    (y * v.sum()).sum().backward()
    assert x.grad.tolist() == [40, 40, 16]


def test_a_pack_hook_that_raises():
    x, w = leaf(), leaf(3.0)
    with pytest.raises(Planned):
        with pb.autograd.graph.saved_tensors_hooks(raising(Planned), lambda t: t):
            x * w
    y = x * 1
    with pytest.raises(Planned):
        with pb.autograd.graph.saved_tensors_hooks(raising(Planned), lambda t: t):
            y.mul_(w)
    # Whether it was written or not, what the graph says is what the memory holds.
    assert y.tolist() == ([6, 6, 6] if y._version else [2, 2, 2])
    y.sum().backward()
    assert x.grad.tolist() == ([3, 3, 3] if y._version else [1, 1, 1])


def test_an_unpack_hook_that_raises():
    x, w = leaf(), leaf(3.0)
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t, raising(Planned)):
        z = (x * w).exp().sum() + (w * 2).sum()
    with pytest.raises(Planned):
        z.backward()
    assert x.grad is None
    assert w.grad is None


def test_a_post_accumulate_hook_that_raises_has_seen_its_own_grad_alone():
    """Where such a hook waits, the gradient is added before the run has ended; all others stay as they were."""
    x, w = leaf(), leaf(3.0)
    x.register_post_accumulate_grad_hook(raising(Planned))
    with pytest.raises(Planned):
        (x * w).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    assert w.grad is None


def test_other_graphs_go_on():
    x = leaf()
    first, second = (x * x).sum(), (x.exp() * 2).sum()
    h = x.register_hook(raising(Planned))
    with pytest.raises(Planned):
        first.backward()
    h.remove()
    second.backward()
    assert np.allclose(x.grad.tolist(), 2 * np.exp(2.0))


def test_a_hook_that_switches_modes_and_raises():
    x = leaf()
    y = x * x

    def hook(grad):
        pb.set_grad_enabled(True)
        np.seterr(all="raise")
        raise Planned

    y.register_hook(hook)
    z = y.sum()
    with pb.no_grad():
        with pytest.raises(Planned):
            z.backward()
        assert not pb.is_grad_enabled()


def test_errors_in_one_backward_of_several_threads():
    x = leaf(0.0)

    def work(i):
        for k in range(30):
            y = x * 1
            if (i + k) % 2:
                y.register_hook(raising(Planned))
                with pytest.raises(Planned):
                    y.sum().backward()
            else:
                y.sum().backward()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [60, 60, 60]


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_ctrl_c_during_a_hook():
    x, w = leaf(), leaf()
    y = x * w
    y.register_hook(lambda g: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            (y * w).sum().backward()
    finally:
        signal.signal(signal.SIGINT, before)
    assert x.grad is None
    assert w.grad is None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_interrupts_at_any_moment_leave_modes_and_graphs_usable():
    """A real signal, wherever it comes; the graph is retained, so the next backward gives the whole gradient."""
    x = pb.full((3,), 0.5, requires_grad=True)
    y = x
    for _ in range(200):
        y = y.sin() * 1.0
    y.register_hook(lambda g: None)
    z = y.sum()
    (expected,) = pb.autograd.grad(z, x, retain_graph=True)
    before = signal.signal(signal.SIGALRM, raising(KeyboardInterrupt))
    interrupted = 0
    try:
        for k in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 1e-6 * (k % 100))
                z.backward(retain_graph=True)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            assert pb.is_grad_enabled()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    x.grad = None
    z.backward()
    assert x.grad.tolist() == expected.tolist()


# -- what an exception keeps alive ---------------------------------------------------------------------------
def fail_below(y, depth):
    """Backward inside backward, through several threads; the innermost is given a graph that is gone."""
    if not depth:
        y.backward(pb.ones(3))
        y.backward(pb.ones(3))
    with pb.enable_grad():
        z = y.detach().requires_grad_() * 2
        z.register_hook(lambda g: fail_below(y, depth - 1))
        z.sum().backward()


def failing_programs():
    def hook():
        x = leaf()
        y = x.exp() * x
        y.register_hook(raising(Planned))
        return y, lambda: y.sum().backward()

    def function():
        x = leaf()
        y = x.exp() * x
        return y, lambda: Fails.apply(y, "backward", Planned).sum().backward()

    def forward():
        y = leaf() * 2
        return y, lambda: Fails.apply(y, "forward", Planned)

    def kernel():
        y = leaf() * 2
        return y, lambda: y @ pb.ones(7)

    def in_place():
        y = leaf() * 2
        return y, lambda: y[0:2].mul_(pb.ones(7))

    def twice():
        y = (leaf() * 2).exp()
        y.sum().backward()
        return y, lambda: y.sum().backward()

    def deep():
        y = leaf().exp()
        return y, lambda: fail_below(y, 70)

    return [hook, function, forward, kernel, in_place, twice, deep]


@pytest.mark.parametrize("program", failing_programs(), ids=lambda p: p.__name__)
def test_an_exception_is_no_part_of_a_cycle(program):
    """Without clearing anything: letting go of the exception is enough."""
    gc.collect()
    gc.disable()
    try:
        gone = attempt(program)
        assert [r() for r in gone] == [None, None]
    finally:
        gc.enable()


def attempt(program):
    y, run = program()
    gone = [weakref.ref(y), weakref.ref(y.grad_fn)]
    with pytest.raises((Planned, RuntimeError)):
        run()
    return gone
