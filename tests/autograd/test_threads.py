"""Several threads: separate graphs, shared leaves, shared graphs, and grad modes of their own."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest

import pullback as pb


@pytest.fixture(autouse=True)
def switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(n, work, lines=()):
    """Run work(i) in n threads that start at once; raises what any of them raised.

    In files whose path contains one of `lines` the threads take turns after every line, so that each gets between any
    two lines of the others.
    """
    barrier, errors = threading.Barrier(n), []

    def run(i):
        barrier.wait()
        try:
            if lines:
                sys.settrace(
                    lambda frame, *_: let_others if any(x in frame.f_code.co_filename for x in lines) else None
                )
            work(i)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            errors.append(error)
        finally:
            if lines:
                sys.settrace(None)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive(), "deadlock"
    if errors:
        raise errors[0]


def let_others(frame, event, arg):
    if event == "line":
        time.sleep(random.random() * 3e-5)  # not all alike: in step they would miss each other
    return let_others


def test_separate_graphs():
    results = [None] * 4

    def work(i):
        for _ in range(30):
            x = pb.full((10,), float(i), requires_grad=True)
            (x**3).sum().backward()
            results[i] = x.grad.tolist()

    together(4, work)
    assert results == [[3.0 * i * i] * 10 for i in range(4)]


@pytest.mark.parametrize("size", [3, 5000])
def test_gradients_of_a_shared_leaf_are_all_added(size):
    x = pb.ones(size, requires_grad=True)
    together(4, lambda i: [(x * (i + 1)).sum().backward() for _ in range(100)])
    assert set(x.grad.tolist()) == {100.0 * (1 + 2 + 3 + 4)}


def test_gradients_of_a_leaf_used_for_the_first_time_by_all():
    for _ in range(50):
        x = pb.ones(2, requires_grad=True)
        together(4, lambda i, x=x: (x * x + x * (i + 1)).sum().backward())
        assert x.grad.tolist() == [4 * 2 + 10] * 2


def test_grad_sees_every_use_of_a_leaf_that_other_threads_use_too():
    wrong = []
    for _ in range(50):
        x = pb.ones(2, requires_grad=True)

        def work(i, x=x):
            y = x * 2
            z = (y + x * 3 + x * 4).sum()
            (g,) = pb.autograd.grad(z, x)
            if g.tolist() != [9, 9]:
                wrong.append(g.tolist())

        together(4, work)
    assert wrong == []


def test_a_shared_graph_can_be_run_by_several_threads_if_retained():
    x = pb.ones(4, requires_grad=True)
    y = (x.exp() * x).sum()
    together(4, lambda i: [y.backward(retain_graph=True) for _ in range(25)])
    assert np.allclose(x.grad.numpy(), 100 * 2 * np.e)


def test_hooks_run_in_the_thread_of_their_backward():
    x = pb.ones(2, requires_grad=True)
    seen = {}
    y = x * 2
    y.register_hook(lambda g: seen.update({threading.current_thread().name: g.tolist()}))
    z = y.sum()
    thread = threading.Thread(target=lambda: z.backward(), name="worker")
    thread.start()
    thread.join()
    assert seen == {"worker": [1, 1]}


def test_grad_mode_of_one_thread_does_not_reach_another():
    def work(i):
        for _ in range(100):
            with pb.set_grad_enabled(i % 2 == 0):
                y = pb.ones(2, requires_grad=True) * 2
                assert y.requires_grad is (i % 2 == 0)

    together(4, work)


def test_an_error_in_one_thread_leaves_the_others_alone():
    x = pb.ones(3, requires_grad=True)

    def work(i):
        for _ in range(50):
            if i == 0:
                with pytest.raises(RuntimeError):
                    (x * 2).backward()
            else:
                (x * 1).sum().backward()

    together(3, work)
    assert x.grad.tolist() == [100, 100, 100]


# -- shared graphs, leaves, views ----------------------------------------------------------------------------
LONG = os.environ.get("PULLBACK_LONG") == "1"


def test_eight_threads_lose_no_gradient_of_shared_leaves():
    """Whole numbers, so that every sum is exact; small arrays and some that are added to in place without the GIL."""
    threads, times = 8, 1000 if LONG else 100
    leaves = [pb.zeros(n, requires_grad=True) for n in (1, 3, 3000, 40_000)]
    a, b, c, d = leaves
    scalar = a * 2  # a part of the graph that all of them share

    def work(i):
        for k in range(times):
            loss = (scalar.sum() + (b * (i + 1)).sum()) * 2
            if k % 10 == i:
                loss = loss + (c * 2).sum() + (d * (i + 1)).sum() + (d * 3).sum()
            loss.backward(retain_graph=True)

    together(threads, work)
    total = sum(i + 1 for i in range(threads))
    large = threads * times // 10
    assert a.grad.tolist() == [threads * times * 4]
    assert b.grad.tolist() == [times * 2 * total] * 3
    assert set(c.grad.tolist()) == {large * 2}
    assert set(d.grad.tolist()) == {times // 10 * total + large * 3}


def test_shared_leaves_with_every_kind_of_hook_lose_nothing():
    x = pb.zeros(5, requires_grad=True)
    counts = Counter()
    x.register_hook(lambda g: (counts.update(["tensor"]), g * 2)[1])
    x.register_post_accumulate_grad_hook(lambda x: counts.update(["post"]))
    y = x * 1
    y.grad_fn.register_hook(lambda *_: counts.update(["node"]))
    y.grad_fn.register_prehook(lambda *_: counts.update(["before"]))
    y.retain_grad()
    z = y.sum()
    handle = pb.autograd.graph.register_multi_grad_hook((x, y), lambda grads: counts.update(["multi"]))
    together(4, lambda i: [z.backward(retain_graph=True) for _ in range(50)])
    handle.remove()
    assert x.grad.tolist() == [400] * 5
    assert y.grad.tolist() == [200] * 5
    assert counts == dict.fromkeys(["tensor", "post", "node", "before", "multi"], 200)


def test_gradients_held_by_someone_are_never_added_to_in_place():
    x = pb.zeros(5000, requires_grad=True)
    seen = []

    def work(i):
        for _ in range(50):
            (x * 1).sum().backward()
            held = x.grad
            seen.append((held, held.tolist()))

    together(4, work)
    assert set(x.grad.tolist()) == {200}
    torn = [g for g, then in seen if g.tolist() != then and g is not x.grad]
    assert torn == []


def test_grad_may_be_set_to_none_while_others_add():
    x = pb.zeros(3, requires_grad=True)

    def work(i):
        for _ in range(100):
            if i == 0:
                x.grad = None
            else:
                (x * 1).sum().backward()

    together(4, work)
    assert x.grad is None or set(x.grad.tolist()) <= set(range(1, 301))


@pytest.mark.parametrize("inputs", [False, True], ids=["retain_grad", "inputs="])
def test_gradients_of_a_shared_computed_tensor_are_all_added(inputs):
    x = pb.ones(3, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    if not inputs:
        y.retain_grad()
    wanted = [y] if inputs else None
    together(4, lambda i: [z.backward(retain_graph=True, inputs=wanted) for _ in range(50)])
    assert y.grad.tolist() == [400] * 3
    assert (x.grad is None) is inputs


def test_one_of_several_backwards_on_a_graph_that_is_not_retained_finds_it_whole():
    """The others are told that it is gone, and add nothing. Two in step may both find it whole: each adds all of it."""
    for k in range(60):
        x = pb.full((3,), 2.0, requires_grad=True)
        y = (x.exp() * x).sin().exp() * x
        z = y.sum()
        expected = pb.autograd.grad(z, x, retain_graph=True)[0].numpy()
        refused = []

        def work(i, z=z, y=y, refused=refused, k=k):
            try:
                (z if k % 2 else (y * (i + 1)).sum() / (i + 1)).backward()  # the same root, or one each
            except RuntimeError as error:
                refused.append(error)

        together(4, work)
        assert len(refused) <= 3
        assert np.allclose(x.grad.numpy(), (4 - len(refused)) * expected)
        for raised in refused:
            assert type(raised).__name__ == "BackwardTwiceError"
            assert re.search(r"second time .*\w+Backward\d has already released .* retain_graph=True", str(raised))


def test_a_node_released_while_another_thread_reads_it_is_never_taken_for_empty():
    """Every switch between two lines of the node's own code: the error is the clear one, the sums are right."""
    lines = ("/generated/", "graph/saved.py", "autograd/engine/plain_loop.py", "autograd/engine/fast_loop.py")
    for _ in range(40):
        x = pb.full((3,), 2.0, requires_grad=True)
        z = (x * x.exp() * x).sum()
        expected = pb.autograd.grad(z, x, retain_graph=True)[0].numpy()
        errors = []

        def work(i, z=z, errors=errors):
            try:
                z.backward()
            except RuntimeError as error:
                errors.append(type(error).__name__)

        together(4, work, lines)
        assert set(errors) <= {"BackwardTwiceError"}
        assert len(errors) <= 3
        assert np.allclose(x.grad.numpy(), (4 - len(errors)) * expected)


def test_a_function_released_by_one_thread_says_so_to_the_others():
    class Exp(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return y * g

    x = pb.zeros(2, requires_grad=True)
    z = Exp.apply(x).sum()
    z.backward()
    errors = []

    def work(i):
        with pytest.raises(RuntimeError, match=r"second time .*ExpBackward has already released") as caught:
            z.backward()
        errors.append(caught.value)

    together(3, work)
    assert len(errors) == 3
    assert x.grad.tolist() == [1, 1]


# -- what is made when it is first asked for -----------------------------------------------------------------
def first_use(make, use, n=4, lines=()):
    """What n threads get that use the same fresh thing at once, for many fresh things."""
    for _ in range(40):
        shared, got = make(), []
        together(n, lambda i, shared=shared, got=got: got.append(use(shared, i)), lines)
        yield shared, got


def test_threads_get_the_same_accumulator():
    def use(x, i):
        return (x * 2).grad_fn.next_functions[0][0]

    for x, nodes in first_use(lambda: pb.ones(2, requires_grad=True), use, lines=("graph/node.py", "core/tensor.py")):
        assert len({id(node) for node in nodes}) == 1
        assert nodes[0].variable is x


def test_threads_get_the_same_version_counter():
    """Two counters would let a modification go unnoticed: a wrong gradient without a word."""

    def use(x, i):
        return x.detach() if i % 2 else x[0:2]

    for x, aliases in first_use(lambda: pb.ones(3), use, lines=("core/version.py", "graph/view.py", "core/tensor.py")):
        assert all(alias._counter is x._counter for alias in aliases)
        x.add_(1)
        assert [alias._version for alias in aliases] == [1, 1, 1, 1]


def test_versions_count_what_every_thread_modifies():
    x = pb.zeros(3)
    together(4, lambda i: [x.add_(1) for _ in range(250)])
    assert x._version == 1000


def test_views_that_threads_make_of_a_base_wake_with_it():
    def use(base, i):
        return base[0 : i + 1]

    for base, views in first_use(lambda: pb.ones(4), use, lines=("graph/view.py", "core/tensor.py")):
        base.mul_(pb.ones(4, requires_grad=True))
        assert all(view.requires_grad for view in views)


def test_threads_get_the_same_new_function_of_a_view():
    """Its base was written into: the function made before would give the gradient of another program."""
    weights = []

    def make():
        w = pb.ones(3, requires_grad=True)
        weights.append(w)
        base = w * 1
        view = base[0:2]
        base.mul_(5)
        return view

    def use(view, i):
        return view.grad_fn, pb.autograd.grad(view.sum(), weights[-1], retain_graph=True)[0].tolist()

    for _, got in first_use(make, use, lines=("graph/inplace_nodes.py",)):
        assert [g for _, g in got] == [[5, 5, 0]] * 4
        assert len({id(node) for node, _ in got}) == 1


@pytest.mark.parametrize("kind", ["leaf", "post accumulate", "tensor", "node", "node before", "metadata"])
def test_hooks_that_threads_register_first_are_all_kept(kind):
    calls = []

    def make():
        calls.clear()
        x = pb.ones(2, requires_grad=True)
        return x, x * 2

    def use(pair, i):
        x, y = pair
        hook = lambda *_: calls.append(i)  # noqa: E731
        if kind == "leaf":
            x.register_hook(hook)
        elif kind == "post accumulate":
            x.register_post_accumulate_grad_hook(hook)
        elif kind == "tensor":
            y.register_hook(hook)
        elif kind == "node":
            y.grad_fn.register_hook(hook)
        elif kind == "node before":
            y.grad_fn.register_prehook(hook)
        else:
            y.grad_fn.metadata[i] = calls.append(i)

    for (_, y), _ in first_use(make, use, lines=("graph/node.py", "graph/tensor_hooks.py", "core/hook_dict.py")):
        y.sum().backward()
        assert sorted(calls) == [0, 1, 2, 3]
        assert kind != "metadata" or sorted(y.grad_fn.metadata) == [0, 1, 2, 3]


def test_sequence_numbers_are_never_given_twice():
    numbers = []

    def work(i):
        x = pb.ones(1, requires_grad=True)
        mine = [(x * 2).grad_fn._sequence_nr for _ in range(500)]
        assert mine == sorted(mine)
        numbers.extend(mine)

    together(4, work)
    assert len(set(numbers)) == 2000


def run_alone(script):
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_threads_may_be_the_first_to_use_numpy_on_tensors():
    """The rules of NumPy's functions, and SciPy, are imported when they are first needed: here by eight at once."""
    out = run_alone(
        """
import sys, threading
sys.setswitchinterval(1e-6)
import numpy as np, pullback as pb
functions = [np.sin, np.sum, np.cumsum, np.stack, np.where, np.add.reduce, np.sort, pb.erf, pb.sigmoid]
barrier, results = threading.Barrier(len(functions)), []

def work(function):
    x = pb.tensor([[0.5, 0.1], [0.2, 0.3]], requires_grad=True)
    args = ([x, x],) if function is np.stack else (x > 0, x, x) if function is np.where else (x,)
    barrier.wait()
    function(*args).sum().backward()
    results.append(x.grad is not None)

threads = [threading.Thread(target=work, args=(f,)) for f in functions]
for t in threads: t.start()
for t in threads: t.join(60)
print(results.count(True), len(functions))
"""
    )
    assert out.split() == ["9", "9"]


# -- fork ----------------------------------------------------------------------------------------------------
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_while_threads_run_backward_can_run_its_own():
    """The child has none of the other threads, and must not wait for what they held."""
    x = pb.zeros(3000, requires_grad=True)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            (x * 1).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        codes = [os.waitpid(in_child(x), 0)[1] for _ in range(20)]
    finally:
        stop.set()
        for t in threads:
            t.join(60)
    assert codes == [0] * 20


def in_child(x):
    """Fork; the child runs backward into `x` and leaves, with 0 if all was well. Returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.alarm(60)
        before = 0 if x.grad is None else x.grad.numpy()
        whole = np.all(before == np.ravel(before)[0])
        before = np.array(before)
        (x * 2).sum().backward()
        y = pb.ones(2, requires_grad=True)
        (y[0:1] * y).sum().backward()
        os._exit(0 if whole and np.all(x.grad.numpy() == before + 2) and y.grad.tolist() == [3, 1] else 1)
    finally:
        os._exit(2)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_worker_processes_after_use():
    import multiprocessing

    x = pb.ones(3, requires_grad=True)
    (x * x).sum().backward()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(gradient_of_cube, [1.0, 2.0, 3.0]) == [3.0, 12.0, 27.0]
    assert x.grad.tolist() == [2, 2, 2]


def gradient_of_cube(value):
    x = pb.tensor(value, requires_grad=True)
    (x**3).backward()
    return x.grad.item()
