"""memory_budget: the numbers are the same to the last bit, memory is bounded, and no file outlives the process."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import memory_budget as module
from pullback.autograd.graph import memory_budget
from pullback.core.errors import SavedArrayModifiedError, SavedTensorModifiedError
from pullback.utils.checkpoint import checkpoint

SIZE = 20_000  # elements of an array that counts: 160 kB
NBYTES = 8 * SIZE


@pytest.fixture
def all_arrays(monkeypatch):
    """Every array counts, however small."""
    monkeypatch.setattr(module, "SMALL", 1)


def leaf(seed=0):
    return pb.tensor(np.random.default_rng(seed).standard_normal(SIZE), requires_grad=True)


def chain(x, n=12):
    for _ in range(n):
        x = x.sin()
    return x


def settled(budget):
    """The bytes in memory and on disk, once nothing is being written."""
    for writing, _ in list(budget._writing):
        writing.exception()
    return budget.held, budget.on_disk


# -- memory -------------------------------------------------------------------------------------------------------
def test_what_is_beyond_the_budget_is_on_disk_and_nothing_stays():
    x = leaf()
    with memory_budget(4 * NBYTES) as budget:
        y = chain(x)
    held, on_disk = settled(budget)
    assert held <= 4 * NBYTES
    assert held + on_disk >= 11 * NBYTES
    expected = pb.autograd.grad(chain(x).sum(), x)[0]
    y.sum().backward()
    assert np.array_equal(x.grad, expected)
    assert settled(budget) == (0, 0)


def test_a_forward_waits_where_it_is_ahead_of_the_disk(monkeypatch):
    write = module._write
    monkeypatch.setattr(module, "_write", lambda ref: (time.sleep(0.01), write(ref)))
    x, most = leaf(), []
    with memory_budget(3 * NBYTES) as budget:
        y = x
        for _ in range(10):
            y = y.sin()
            most.append(budget.held)
    assert max(most) <= 3 * NBYTES
    y.sum().backward()


def test_an_array_counts_once_and_views_of_it_do_not():
    x = leaf()
    with memory_budget(10 * NBYTES) as budget:
        y = x * 2
        loss = (y * y).sum() + (y[::2] * y[1::2]).sum() + (y.reshape(2, -1).exp() * 3).sum()
    assert budget.held == 2 * NBYTES  # y and its exp
    loss.backward()
    assert budget.held == 0


def test_what_others_hold_is_not_written():
    w, data = leaf(), np.random.default_rng(1).standard_normal(SIZE)
    held = pb.tensor(data)
    with memory_budget(0) as budget:
        loss = (w * held).sum() + (w * data).sum() + (w * w).sum()
    assert settled(budget) == (0, 0)
    loss.backward()
    np.testing.assert_allclose(w.grad, 2 * data + 2 * w.detach().numpy())


def test_what_others_have_let_go_of_counts_again():
    x = leaf()
    with memory_budget(0) as budget:
        y = x.sin()
        z = y.sin()  # y is held by a variable, so it is not written
        assert settled(budget) == (0, 0)
        del y
        w = z.sin()
        assert settled(budget)[1] >= NBYTES
    del z
    w.sum().backward()


def test_budget_and_graph_go_by_reference_counting():
    gc.collect()
    gc.disable()
    try:
        x, seen = leaf(), []
        with memory_budget(NBYTES) as budget:
            y = chain(x)
        seen = [module.weakref.ref(budget), module.weakref.ref(y.grad_fn)]
        settled(budget)
        del y, budget
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


# -- numbers ------------------------------------------------------------------------------------------------------
def written_into(x):
    y = x * 2
    y[1:] *= y[:-1].copy()
    y += np.cos(y)
    return np.sum(y**3)


def scanned(x):
    carry, _ = pb.func.scan(lambda c, a: (c * np.sin(a) + a, c), x[0], x)
    return carry**2


PROGRAMS = {
    "views": lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), 0)[::-1] * np.exp(x).reshape(2, -1).T.ravel()),
    "matrices": lambda x: np.linalg.slogdet(np.outer(x, np.sin(x)) + 3 * np.eye(4))[1],
    "written into": written_into,
    "forward mode": lambda x: np.sum(pb.func.jvp(lambda z: np.tanh(z) * z, (x,), (np.cos(x),))[1] ** 2),
    "batch": lambda x: np.sum(pb.func.vmap(lambda z: np.exp(z) * z * np.sum(x))(x)),
    "checkpoint": lambda x: checkpoint(lambda x: np.sum(np.exp(np.sin(x)) * x), x),
    "loop": scanned,
}  # fmt: skip
X = np.array([0.3, -1.2, 0.7, 2.0])
DIRECTION = np.array([1.0, 0.5, -0.3, 0.2])
func = pb.func
TRANSFORMS = {
    "gradient": lambda f: func.grad(f)(X),
    "third order": lambda f: func.grad(lambda x: np.sum(func.grad(lambda y: np.sum(func.grad(f)(y) ** 2))(x)))(X),
    "forward over reverse": lambda f: func.jvp(func.grad(f), (X,), (DIRECTION,))[1],
    "forward over forward over reverse": lambda f: func.jvp(
        lambda x: func.jvp(func.grad(f), (x,), (DIRECTION,))[1], (X,), (X,))[1],
    "batch of gradients": lambda f: func.vmap(func.grad(f))(np.stack([X, -X, 2 * X])),
    "gradient of batch": lambda f: func.grad(lambda xs: np.sum(func.vmap(f)(xs)))(np.stack([X, -X])),
}  # fmt: skip


@pytest.mark.parametrize("limit", [0, 100])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_derivatives_are_those_without(transform, program, limit, all_arrays):
    expected = TRANSFORMS[transform](PROGRAMS[program])
    with memory_budget(limit):
        found = TRANSFORMS[transform](PROGRAMS[program])
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_layouts_come_back(order):
    a = np.random.default_rng(0).standard_normal((40, 50, 60))
    a = a.transpose(2, 0, 1) if order == "K" else np.asarray(a, order=order)
    x = pb.tensor(a, requires_grad=True)
    with memory_budget(0) as budget:
        y = x.sin().sin()[1:, ::-1].exp()
    settled(budget)
    saved = y.grad_fn._saved_result
    assert saved.detach().numpy().strides == y.detach().numpy().strides
    expected = pb.autograd.grad(x.sin().sin()[1:, ::-1].exp().sum(), x)[0]
    assert np.array_equal(pb.autograd.grad(y.sum(), x)[0], expected)


def test_a_graph_that_is_kept_goes_backward_again():
    x = leaf()
    with memory_budget(0):
        y = chain(x)
    first, second = (pb.autograd.grad(y.sum(), x, retain_graph=True)[0] for _ in range(2))
    assert np.array_equal(first, second)


def test_threads_may_share_a_budget():
    def work(seed, found):
        x = leaf(seed)
        with budget:
            y = chain(x)
        y.sum().backward()
        found[seed] = x.grad

    budget, found = memory_budget(2 * NBYTES), {}
    threads = [threading.Thread(target=work, args=(seed, found)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        x = leaf(seed)
        assert np.array_equal(found[seed], pb.autograd.grad(chain(x).sum(), x)[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is POSIX's")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_goes_on_with_what_is_being_written(monkeypatch):
    write = module._write
    monkeypatch.setattr(module, "_write", lambda ref: (time.sleep(0.05), write(ref)))
    x = leaf()
    expected = pb.autograd.grad(chain(x).sum(), x)[0]
    with memory_budget(3 * NBYTES):
        y = chain(x, 5)
        child = os.fork()
        y = chain(y, 7)
    same = np.array_equal(pb.autograd.grad(y.sum(), x)[0], expected)
    if child == 0:
        os._exit(0 if same else 1)
    assert same
    assert os.waitpid(child, 0)[1] == 0


# -- what is written into -----------------------------------------------------------------------------------------
def test_writing_into_what_is_in_memory_is_an_error():
    x = leaf()
    with memory_budget(10 * NBYTES):
        y = x.exp()
    y.mul_(2)
    with pytest.raises(SavedTensorModifiedError, match="ExpBackward0 saved 'result'"):
        y.sum().backward()


@pytest.mark.parametrize("limit", [0, 10**9])
def test_an_ndarray_that_is_filled_anew_is_found(limit):
    w, data = leaf(), np.ones(SIZE)
    with memory_budget(limit):
        loss = (w * data).sum()
        chain(w)
    data[5] = 7.0
    with pytest.raises(SavedArrayModifiedError, match="saved the ndarray 'other'"):
        loss.backward()


# -- disk ---------------------------------------------------------------------------------------------------------
def test_a_limit_on_disk_is_an_error_in_forward():
    x = leaf()
    with memory_budget(NBYTES, disk_limit=3 * NBYTES):
        with pytest.raises(RuntimeError, match=r"disk_limit=480000 has no room for 160000 more bytes"):
            chain(x)
    chain(x).sum().backward()
    assert x.grad is not None


def test_the_folder_is_the_one_that_was_named(tmp_path, monkeypatch):
    import tempfile

    folders, made = [], tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **how: (folders.append(how["dir"]), made(**how))[1])
    with memory_budget(0, tmp_path) as budget:
        y = chain(leaf())
    settled(budget)
    assert folders == [tmp_path]
    assert not list(tmp_path.iterdir())
    del y


KILLED = """
import sys, os, signal, numpy as np, pullback as pb
x = pb.tensor(np.ones(100_000), requires_grad=True)
with pb.autograd.graph.memory_budget(0, sys.argv[1]) as budget:
    y = x
    for _ in range(10):
        y = y.sin()
for writing, _ in budget._writing:
    writing.result()
print(budget.on_disk, flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signal.SIGKILL is POSIX's")
@pytest.mark.parametrize("end", ["kill", "normal"])
def test_no_end_of_the_process_leaves_a_file(end, tmp_path):
    found = subprocess.run([sys.executable, "-c", KILLED, tmp_path, end], capture_output=True, text=True, check=False)
    assert int(found.stdout) >= 8 * 800_000, found.stderr
    assert found.returncode == (-signal.SIGKILL if end == "kill" else 0)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((-1,), ValueError, "bytes must not be negative, got -1"),
        (("1GB",), TypeError, "whole number of bytes, such as 500_000_000, got '1GB'"),
        ((1.5,), TypeError, "got 1.5"),
        ((float("nan"),), TypeError, "got nan"),
        ((1, "/no/such/folder"), FileNotFoundError, "no folder '/no/such/folder'"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        memory_budget(*arguments)
    assert memory_budget(1e9).held == 0
