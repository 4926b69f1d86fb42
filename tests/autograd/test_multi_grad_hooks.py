"""register_multi_grad_hook: one hook for the gradients of several tensors, in each backward on its own."""

import gc
import threading
import weakref

import pytest

import pullback as pb
from pullback.autograd.graph import register_multi_grad_hook

pytestmark = pytest.mark.usefixtures("both_loops")


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def listed(grads):
    return [None if g is None else g.tolist() for g in grads]


@pytest.fixture
def abcd():
    a, b = leaf(), leaf(3.0, 4.0)
    return a, b, a * b, a * b


# -- all -------------------------------------------------------------------------------------------------------


def test_all_waits_for_the_last_gradient_that_a_backward_computes(abcd):
    a, b, c, d = abcd
    seen = []
    handle = register_multi_grad_hook(abcd, lambda grads: seen.append(listed(grads)))
    c.sum().backward(retain_graph=True)
    assert seen.pop() == [[3, 4], [1, 2], [1, 1], None]
    (c + d).sum().backward(retain_graph=True)
    assert seen.pop() == [[6, 8], [2, 4], [1, 1], [1, 1]]
    c.sum().backward(inputs=[a], retain_graph=True)
    assert seen.pop() == [[3, 4], None, [1, 1], None]
    pb.autograd.grad(c.sum(), b, retain_graph=True)
    assert seen.pop() == [None, [1, 2], [1, 1], None]
    pb.autograd.grad(c.sum(), c, retain_graph=True)
    assert seen.pop() == [None, None, [1, 1], None]
    handle.remove()
    handle.remove()
    c.sum().backward()
    assert seen == []


def test_all_runs_in_each_backward_once(abcd):
    c, seen = abcd[2], []
    register_multi_grad_hook(abcd, lambda grads: seen.append(1))
    for _ in range(3):
        c.sum().backward(retain_graph=True)
    assert seen == [1, 1, 1]


def test_all_does_not_run_where_none_of_the_tensors_is():
    x, seen = leaf(), []
    register_multi_grad_hook([x], seen.append)
    (leaf() * 2).sum().backward()
    assert seen == []


def test_all_counts_outputs_of_one_node_and_tensors_given_twice():
    x, seen = leaf(1.0, 2.0, 3.0), []
    parts = pb.unbind(x * 1)
    register_multi_grad_hook([*parts, x, x], lambda grads: seen.append(listed(grads)))
    (parts[0] + parts[1] * 2 + parts[2] * 3).backward(retain_graph=True)
    assert seen.pop() == [1, 2, 3, [1, 2, 3], [1, 2, 3]]
    parts[0].backward()
    assert seen.pop() == [1, None, None, [1, 0, 0], [1, 0, 0]]


def test_all_counts_a_tensor_at_which_the_backward_starts():
    y, seen = leaf() * 2, []
    register_multi_grad_hook([y], lambda grads: seen.append(listed(grads)))
    y.backward(pb.ones(2))
    assert seen == [[[1, 1]]]


def test_all_gets_none_for_an_undefined_gradient():
    class First(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None, g

    x, w, seen = leaf(), leaf(), []
    y, v = x * 3, w * 1
    register_multi_grad_hook([y, v], lambda grads: seen.append(listed(grads)))
    First.apply(y, v).sum().backward()
    assert seen == [[None, [1, 1]]]


def test_it_takes_its_place_among_the_hooks_of_a_tensor():
    y, log = leaf() * 2, []
    y.register_hook(lambda g: (log.append("first"), g * 10)[1])
    register_multi_grad_hook([y], lambda grads: log.append(listed(grads)))
    y.register_hook(lambda g: (log.append("last"), g * 10)[1])
    y.sum().backward()
    assert log == ["first", [[10, 10]], "last"]


@pytest.mark.parametrize("mode", ["all", "any"])
def test_what_it_returns_is_not_used(mode):
    x = leaf()
    y = x * 2
    register_multi_grad_hook([y], lambda g: pb.full((2,), 100.0), mode=mode)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_gradients_of_a_recorded_backward_can_be_differentiated():
    x, seen = leaf(), []
    y = x * x
    register_multi_grad_hook([x, y], seen.append)
    (y * y).sum().backward(create_graph=True)
    ((gx, gy),) = seen
    assert pb.autograd.grad(gx.sum(), x, retain_graph=True)[0].tolist() == [12, 48]
    assert pb.autograd.grad(gy.sum(), x)[0].tolist() == [4, 8]


# -- any -------------------------------------------------------------------------------------------------------


def test_any_gets_the_first_gradient_of_each_backward(abcd):
    a, b, c, d = abcd
    seen = []
    handle = register_multi_grad_hook(abcd, lambda g: seen.append(g.tolist()), mode="any")
    c.sum().backward(retain_graph=True)
    assert seen == [[1, 1]]
    pb.autograd.grad((c * 5).sum(), a, retain_graph=True)
    assert seen == [[1, 1], [5, 5]]
    (c + d).sum().backward(retain_graph=True)
    assert seen == [[1, 1], [5, 5], [1, 1]]
    handle.remove()
    c.sum().backward()
    assert len(seen) == 3
    assert b.grad is not None


def test_any_leaves_out_tensors_that_require_no_grad():
    x, seen = leaf(), []
    register_multi_grad_hook([x, pb.ones(2)], lambda g: seen.append(g.tolist()), mode="any")
    (x * 2).sum().backward()
    assert seen == [[2, 2]]


# -- runs that fail, nest or go on side by side ----------------------------------------------------------------


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_backward_that_failed_leaves_no_notes_behind(mode):
    x, w, seen, fails = leaf(), leaf(), [], [True]

    def fail(g):
        if fails:
            raise KeyError("boom")

    y, v = x * 3, w * 1
    z = (y * v).sum()
    register_multi_grad_hook([y, v], seen.append, mode=mode)
    y.register_hook(fail)
    v.register_hook(fail)
    with pytest.raises(KeyError):
        z.backward(retain_graph=True)
    fails.clear()
    seen.clear()
    z.backward()
    assert len(seen) == 1
    if mode == "all":
        assert listed(seen[0]) == [[1, 2], [3, 6]]


def test_an_error_in_the_hook_comes_out_of_backward_and_the_next_one_works():
    x, fails, seen = leaf(), [True], []

    def hook(grads):
        if fails:
            raise KeyError("boom")
        seen.append(listed(grads))

    register_multi_grad_hook([x], hook)
    with pytest.raises(KeyError, match="boom"):
        (x * 2).sum().backward()
    assert x.grad is None
    fails.clear()
    (x * 2).sum().backward()
    assert seen == [[[2, 2]]]


def test_a_backward_inside_the_hook_is_another_one():
    x, seen = leaf(), []
    y = x * 3

    def hook(grads):
        seen.append(listed(grads))
        if len(seen) == 1:
            pb.autograd.grad(y, x, pb.full((2,), 5.0), retain_graph=True)

    register_multi_grad_hook([x, y], hook)
    y.sum().backward(retain_graph=True)
    assert seen == [[[3, 3], [1, 1]], [[15, 15], [5, 5]]]
    assert x.grad.tolist() == [3, 3]


def test_a_backward_between_two_gradients_does_not_mix_with_the_outer_one():
    x, seen, inside = leaf(), [], []
    y = x * 3
    z = (y * 1).sum()

    def other(g):
        if not inside:
            inside.append(1)
            pb.autograd.grad(y, x, pb.full((2,), 5.0), retain_graph=True)

    register_multi_grad_hook([x, y], lambda grads: seen.append(listed(grads)))
    y.register_hook(other)  # when y's gradient is known and x's is not
    z.backward()
    assert seen == [[[15, 15], [5, 5]], [[3, 3], [1, 1]]]


@pytest.mark.parametrize("mode", ["all", "any"])
def test_threads_do_not_mix(mode):
    x = leaf()
    y, w = x * 3, x * 1
    seen, lock, barrier = [], threading.Lock(), threading.Barrier(8)

    def note(grads):
        with lock:
            seen.append([g.tolist() for g in grads] if mode == "all" else [grads.tolist()])

    register_multi_grad_hook([w, y] if mode == "all" else [y], note, mode=mode)

    def run(k):
        barrier.wait()
        for _ in range(50):
            pb.autograd.grad((y * w * k).sum(), x, retain_graph=True)

    threads = [threading.Thread(target=run, args=(float(k),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [([[3 * k, 6 * k]] if mode == "all" else []) + [[k, 2 * k]] for k in range(8) for _ in range(50)]
    assert sorted(seen) == sorted(expected)


# -- errors, memory --------------------------------------------------------------------------------------------


def test_errors_come_before_anything_is_registered():
    x, seen = leaf(), []
    with pytest.raises(RuntimeError, match=r"tensors\[1\] \(shape \(2,\)\) does not require grad.*Leave it out"):
        register_multi_grad_hook([x, pb.ones(2)], seen.append)
    with pytest.raises(ValueError, match=r"one of \('all', 'any'\) but got 'some'"):
        register_multi_grad_hook([x], seen.append, mode="some")
    with pytest.raises(TypeError, match=r"tensors\[0\] must be a Tensor, got int"):
        register_multi_grad_hook([3], seen.append)
    (x * 2).sum().backward()
    assert seen == []


def test_no_tensors_no_hook():
    for mode in ("all", "any"):
        register_multi_grad_hook([], print, mode=mode).remove()


def test_the_handle_is_a_context_manager(abcd):
    c, seen = abcd[2], []
    with register_multi_grad_hook(abcd, lambda grads: seen.append(1)):
        c.sum().backward(retain_graph=True)
    c.sum().backward()
    assert seen == [1]


@pytest.mark.parametrize("mode", ["all", "any"])
@pytest.mark.parametrize("then", ["drop", "backward", "failed"])
def test_hook_tensors_and_gradients_are_freed_by_reference_counting(mode, then):
    class Hook:
        def __call__(self, grads):
            if then == "failed":
                raise KeyError

    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = x * 2
        hook = Hook()
        handle = register_multi_grad_hook([x, y], hook, mode=mode)
        grads = []
        y.register_hook(lambda g: grads.append(weakref.ref(g)))
        z = y.sum()
        if then == "backward":
            z.backward()
        elif then == "failed":
            with pytest.raises(KeyError) as caught:
                z.backward()
            caught.value.__traceback__ = None
            del caught
        gone = [weakref.ref(t) for t in (x, y, y.grad_fn, hook)] + grads
        del x, y, z, hook
        assert [r() for r in gone] == [None] * len(gone)
        handle.remove()
    finally:
        gc.enable()
