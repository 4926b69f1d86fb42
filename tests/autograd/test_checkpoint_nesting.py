"""Checkpoints within checkpoints, with hooks, contexts, exceptions and threads; and what they leave behind."""

import gc
import threading
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from pullback.utils.checkpoint import checkpoint, set_checkpoint_early_stop


def leaf(*shape, seed=0):
    return pb.tensor(np.random.default_rng(seed).uniform(0.2, 1.0, shape or (3, 3)), requires_grad=True)


def layer(x, w):
    return (x @ w).sin().exp() * x


def nested(x, w):
    y = checkpoint(layer, x, w).cos()
    return checkpoint(lambda y: checkpoint(layer, y * y, w).exp(), y) * x


def unnested(x, w):
    y = layer(x, w).cos()
    return layer(y * y, w).exp() * x


def close(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.detach().numpy(), w.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("early_stop", [True, False])
def test_nested_checkpoints(early_stop):
    x, w = leaf(), leaf(seed=1)
    want = pb.autograd.grad(unnested(x, w).sum(), (x, w))
    with set_checkpoint_early_stop(early_stop):
        out = checkpoint(nested, x, w).sum()
    close(pb.autograd.grad(out, (x, w), retain_graph=True), want)
    close(pb.autograd.grad(out, (x, w)), want)
    (first,) = pb.autograd.grad(checkpoint(nested, x, w).sum(), x, create_graph=True)
    (expected,) = pb.autograd.grad(unnested(x, w).sum(), x, create_graph=True)
    close(pb.autograd.grad(first.sum(), (x, w)), pb.autograd.grad(expected.sum(), (x, w)))


def test_hooks_inside_the_function_are_nearer_and_hooks_outside_get_its_inputs():
    inside, outside = [], []

    def function(x):
        y = x.sin()  # held by the checkpoint
        with saved_tensors_hooks(lambda t: inside.append(t) or t.clone(), lambda t: t):
            return y.exp()

    x = leaf()
    with saved_tensors_hooks(lambda t: outside.append(t) or t.clone(), lambda t: t):
        out = checkpoint(function, x)
    assert ([len(inside), len(outside)], outside[0] is x) == ([1, 1], True)
    out.sum().backward()
    assert (len(inside), len(outside)) == (1, 1)  # stopped at the sine
    close((x.grad,), pb.autograd.grad(x.sin().exp().sum(), x))


def test_hooks_where_backward_runs_do_not_see_the_recomputation():
    seen = []
    x = leaf()
    out = checkpoint(layer, x, x).sum()
    with saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        out.backward(retain_graph=True)
    with disable_saved_tensors_hooks("nothing of a user's"):
        out.backward()
    out = checkpoint(nested, x, x).sum()
    with disable_saved_tensors_hooks("nothing of a user's"):
        out.backward()
    assert seen == []
    with disable_saved_tensors_hooks("no checkpoints here"), pytest.raises(RuntimeError, match="no checkpoints here"):
        checkpoint(layer, x, x)
    with save_on_cpu():
        checkpoint(layer, x, x).sum().backward()


def test_context_fn():
    entered = []

    @contextmanager
    def noting(what):
        entered.append(what)
        yield
        entered.append(f"end of {what}")

    x = leaf()
    out = checkpoint(layer, x, x, context_fn=lambda: (noting("forward"), noting("recomputation")))
    assert entered == ["forward", "end of forward"]
    out.sum().backward()
    assert entered[2] == "recomputation"


def test_a_context_must_not_swallow_an_exception_of_the_function():
    @contextmanager
    def swallowing():
        try:
            yield
        except RuntimeError:
            pass

    x = leaf()
    with pytest.raises(RuntimeError, match=r"checkpoint\(fails\): the forward context .* suppressed an exception"):
        checkpoint(fails, x, context_fn=lambda: (swallowing(), swallowing()))
    with pytest.raises(RuntimeError, match="stop here"):
        checkpoint(fails, x)


def fails(x):
    x.sin()
    raise RuntimeError("stop here")


def test_an_exception_of_the_recomputation_leaves_everything_usable():
    calls = []

    def second_time(x):
        calls.append(x)
        if len(calls) > 1:
            raise KeyError("gone")
        return x.sin()

    x = leaf()
    state = pb.get_rng_state()
    with pytest.raises(KeyError, match="gone"):
        checkpoint(second_time, x).sum().backward()
    assert pb.get_rng_state() == state
    assert x.grad is None
    assert pb.is_grad_enabled()
    checkpoint(layer, x, x).sum().backward()
    assert x.grad is not None


def test_stopping_early_is_nothing_that_a_function_catches_by_chance():
    caught = []

    def careless(x):
        try:
            return x.sin().exp()
        except Exception:  # noqa: BLE001
            caught.append(x)

    def stubborn(x):
        try:
            y = x.sin().exp()
        except BaseException:  # noqa: BLE001
            y = x.cos().exp().tanh()
        return y + 1

    x = leaf()
    want = pb.autograd.grad(x.sin().exp().sum(), x)
    for f in (careless, stubborn):
        close(pb.autograd.grad(checkpoint(f, x).sum(), x), want)
    assert caught == []


def test_threads_checkpoint_side_by_side():
    x, w = leaf(), leaf(seed=1)
    want = pb.autograd.grad(layer(x, w).sum(), (x, w))
    results = []

    def run():
        out = checkpoint(layer, x, w, preserve_rng_state=False).sum()
        results.append(pb.autograd.grad(out, (x, w)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for got in results:
        close(got, want)


@pytest.fixture
def no_garbage_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collector")
@pytest.mark.parametrize("ends", ["drop", "backward", "retain", "partly", "create_graph", "failed"])
@pytest.mark.parametrize("function", [layer, nested, lambda x, w: checkpoint(layer, x, w, debug=True)])
def test_reference_counting_frees_everything(function, ends):
    class Payload:
        called = False

        def __call__(self, x, w):
            if ends == "failed" and self.called:
                raise KeyError
            self.called = True
            return function(x, w)

    x, w = leaf(), leaf(seed=1)
    payload = Payload()
    y = x * 1
    out = checkpoint(payload, y, w).sum()
    gone = [weakref.ref(payload), weakref.ref(y), weakref.ref(out.grad_fn)]
    if ends == "backward":
        out.backward()
    elif ends == "retain":
        out.backward(retain_graph=True)
    elif ends == "partly":
        pb.autograd.grad(out, w, retain_graph=True)
    elif ends == "create_graph":
        (g,) = pb.autograd.grad(out, x, create_graph=True)
        del g
    elif ends == "failed":
        try:
            out.backward()
        except KeyError as error:
            error.__traceback__ = None
    del payload, y, out
    assert [r() for r in gone if r() is not None] == []


NESTS = {
    "grad of jvp": lambda f, x, v: pb.func.grad(lambda z: pb.func.jvp(f, (z,), (v,))[1])(x),
    "grad of jvp along what is differentiated": lambda f, x, v: pb.func.grad(
        lambda z: pb.func.jvp(f, (z,), (z * v,))[1]
    )(x),
    "jvp of grad": lambda f, x, v: pb.func.jvp(pb.func.grad(f), (x,), (v,))[1],
    "grad of jvp of jvp": lambda f, x, v: pb.func.grad(
        lambda w: pb.func.jvp(lambda z: pb.func.jvp(f, (z,), (v,))[1], (w,), (v,))[1]
    )(x),
    "grad of grad of jvp": lambda f, x, v: pb.func.grad(
        lambda w: (pb.func.grad(lambda z: pb.func.jvp(f, (z,), (v,))[1])(w) * v).sum()
    )(x),
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
def test_recomputed_after_the_forward_level_has_ended(nest):
    x, v = np.array([0.3, 0.7, 1.2]), np.array([1.0, 0.5, -0.2])

    def f(y):
        return (np.sin(y) * y.cumsum(0) ** 3).prod()

    found = nest(lambda x: checkpoint(f, x, use_reentrant=False), x, v)
    np.testing.assert_allclose(found, nest(f, x, v), rtol=1e-12)
