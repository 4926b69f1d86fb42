"""Several threads: separate graphs, shared leaves, shared graphs, and grad modes of their own."""

import sys
import threading

import numpy as np
import pytest

import pullback as pb


@pytest.fixture(autouse=True)
def switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(n, work):
    """Run work(i) in n threads that start at once; raises what any of them raised."""
    barrier, errors = threading.Barrier(n), []

    def run(i):
        barrier.wait()
        try:
            work(i)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    if errors:
        raise errors[0]


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
