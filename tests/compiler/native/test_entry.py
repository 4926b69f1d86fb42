"""The builtin over machine code: what it takes, what it makes, and that nothing is left behind."""

import ctypes
import gc
import os
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pullback.arrays.traced.graph import LeftError
from pullback.compiler.native import entry
from pullback.compiler.native.code import ADDRESS, INDEX, Code, Module, Type
from pullback.compiler.native.entry import Form

F64 = Type("f", 64)
X = np.arange(6.0)


def _kernels():
    """twice: the double of a base in another; status: gives its data; pause: the double through the workspace, long."""

    def begun(name):
        code = Code(name, [("bases", ADDRESS), ("data", ADDRESS)], INDEX)
        bases, data = code.params

        def number(nr):
            return code.load(INDEX, code.shift(data, 8 * nr))

        return code, number, lambda nr: code.load(ADDRESS, bases.at(number(nr), 8))

    twice, number, base = begun("twice")
    with twice.loop(0, number(2)) as i:
        twice.store(twice.load(F64, base(0).at(i, 8)) * 2.0, base(1).at(i, 8))
    twice.give(twice.index(0))
    status, number, _ = begun("status")
    status.give(number(0))
    pause, number, base = begun("pause")
    work = pause.load(ADDRESS, pause.params[0])
    with pause.loop(0, 300), pause.loop(0, number(2)) as i:
        pause.store(pause.load(F64, base(0).at(i, 8)) * 2.0, work.at(i, 8))
    with pause.loop(0, number(2)) as i:
        pause.store(pause.load(F64, work.at(i, 8)), base(1).at(i, 8))
    pause.give(pause.index(0))
    return Module([twice, status, pause])


@pytest.fixture(scope="module")
def kernels(tool):
    return tool.build(_kernels(), None)


@pytest.fixture(params=["builtin", "function"])
def made(request, tool, kernels, monkeypatch):
    """A function of arrays: each input doubled, of so many elements, in turn; or other steps."""
    if request.param == "function":
        monkeypatch.setattr(entry, "has_known_layout", lambda: False)
    elif not entry.has_known_layout():
        pytest.skip("objects lie in memory as the entry does not know")

    def build(inputs, outputs, steps=None, constants=(), workspace=0, single=False, releases=False, keep=None):
        forms = [[x if isinstance(x, Form) else Form.of(x) for x in some] for some in (inputs, outputs)]
        if steps is None:
            first = len(inputs) + len(constants) + 1
            twice = kernels.address("twice")
            steps = [x for k, form in enumerate(forms[1]) for x in (5, twice, k + 1, first + k, np.prod(form.shape))]
        return entry.made(
            *forms, constants, workspace, np.array(steps, np.int64), single, releases, (kernels, keep), tool
        )

    build.address = kernels.address
    return build


def _bytes_between(x, strides):
    """A copy with these strides."""
    made = np.lib.stride_tricks.as_strided(np.empty(x.size, x.dtype), x.shape, strides)
    made[...] = x
    return made


def test_layout_is_known_here():
    assert entry.has_known_layout()


def test_results_are_fresh_arrays_in_a_tuple(made):
    f = made([X], [X])
    (first,), (second,) = f(X), f(X)
    np.testing.assert_array_equal(first, 2 * X)
    assert first is not second
    assert first.flags.owndata
    assert first.flags.writeable


def test_a_single_result_comes_as_it_is(made):
    np.testing.assert_array_equal(made([X], [X], single=True)(X), 2 * X)


@pytest.mark.parametrize("wrong", [
    X[:5], X[::2], X.astype(np.float32), X.astype(">f8"), X.astype(int), X.reshape(2, 3), X.tolist(), None, 3.0, X[0],
    np.ma.array(X), X.view(np.matrix), np.zeros(49, np.uint8)[1:].view(float), X.astype(object),
], ids=str)  # fmt: skip
def test_other_forms_are_not_taken(made, wrong):
    f = made([X], [X])
    assert f(wrong) is NotImplemented
    np.testing.assert_array_equal(f(X)[0], 2 * X)


def test_another_number_of_arguments_is_not_taken(made):
    f = made([X, X], [X])
    assert f() is NotImplemented
    assert f(X) is NotImplemented
    assert f(X, X, X) is NotImplemented
    with pytest.raises(TypeError):
        f(X, y=X)


def test_each_size_and_stride_is_compared(made):
    x = np.zeros((2, 3, 4))
    f = made([x], [np.zeros(24)])
    assert f(x) is not NotImplemented
    for shape in ((2, 3, 5), (2, 4, 4), (3, 3, 4)):
        assert f(np.zeros(shape)) is NotImplemented
    assert f(np.zeros((4, 3, 2)).T) is NotImplemented
    assert f(np.zeros((2, 3, 8))[..., ::2]) is NotImplemented
    assert f(np.broadcast_to(0.0, (2, 3, 4))) is NotImplemented


def test_strides_in_which_there_is_no_step_do_not_count(made):
    x = _bytes_between(np.arange(3.0).reshape(1, 3), (800, 8))
    np.testing.assert_array_equal(made([np.zeros((1, 3))], [np.zeros(3)])(x)[0], [0, 2, 4])
    empty = np.zeros((0, 3))
    assert made([empty], [empty])(empty[:, ::-1])[0].shape == (0, 3)


@pytest.mark.parametrize("like", [
    np.zeros((2, 3)), np.zeros((2, 3), order="F"), np.zeros((3, 2, 4)).transpose(1, 2, 0), np.zeros((3, 0)),
    np.zeros(()), np.zeros((1, 1)), np.zeros(7, np.float32), np.zeros((2, 2), bool), np.zeros(3, np.int16),
], ids=lambda x: f"{x.dtype}{x.shape}{x.strides}")  # fmt: skip
def test_results_have_the_form_that_is_asked_for(made, like):
    (found,) = made([], [like], steps=[])()
    assert type(found) is np.ndarray
    assert (found.shape, found.strides, found.dtype) == (like.shape, like.strides, like.dtype)
    assert found.flags.c_contiguous == like.flags.c_contiguous


@pytest.mark.parametrize("strides", [(8, 0), (64, 8), (-24, 8), (8, 8)])
def test_a_result_that_does_not_fill_its_memory_is_our_mistake(made, strides):
    with pytest.raises(AssertionError):
        made([], [Form((2, 3), strides, X.dtype)], steps=[])


def test_a_result_without_dimensions_is_an_array_or_a_number(made):
    x = np.array(3.0)
    number, array = made([x, x], [x[()], x])(x, x)
    assert type(number) is np.float64
    assert type(array) is np.ndarray
    assert number == array == 6


def test_many_numbers_each_have_their_place(made):
    x = [np.array(float(k)) for k in range(9)]
    assert made(x, [y[()] for y in x])(*x) == tuple(2.0 * k for k in range(9))


def test_constants_are_read_where_they_lie(made):
    constant = X.copy()
    f = made([X], [X], steps=[5, made.address("twice"), 2, 3, 6], constants=[constant])
    np.testing.assert_array_equal(f(X)[0], 2 * X)
    constant += 1
    np.testing.assert_array_equal(f(X)[0], 2 * X + 2)


def test_a_guard_ends_the_run(made):
    steps = [5, made.address("twice"), 1, 2, 6, 3, made.address("status"), 0, 3, made.address("status"), 7, 3, 0, 0]
    f = made([X], [X], steps=steps)
    with pytest.raises(LeftError) as found:
        f(X)
    assert found.value.args == (7,)


def test_an_output_that_cannot_be_made_is_an_error(made):
    f = made([X], [X, Form((1 << 58,), (8,), X.dtype)], steps=[])
    before = sys.getrefcount(X.dtype)
    for _ in range(100):
        with pytest.raises((MemoryError, ValueError)):
            f(X)
    assert abs(sys.getrefcount(X.dtype) - before) < 50


def _growth(what):
    gc.collect()
    before = [sys.getrefcount(x) for x in (X, X.dtype, NotImplemented, LeftError, np.ndarray, 7)]
    blocks = sys.getallocatedblocks()
    what()
    gc.collect()
    after = [sys.getrefcount(x) for x in (X, X.dtype, NotImplemented, LeftError, np.ndarray, 7)]
    return [b - a for a, b in zip(before, after, strict=True)], sys.getallocatedblocks() - blocks


def test_references_are_counted(made):
    single, both = made([X], [X], single=True), made([X, X], [X, X])
    number = made([np.array(1.0)], [np.float64(1)])
    guarded = made([X], [X, X], steps=[3, made.address("status"), 7])
    zero = np.array(1.0)

    calls_made = 2_000 if single.__class__.__name__ == "function" else 100_000

    def calls():
        for _ in range(calls_made):
            single(X)
            both(X, X)
            number(zero)
            single(zero)
            both(X)
            try:
                guarded(X)
            except LeftError:
                pass

    calls()
    references, blocks = _growth(calls)
    assert all(abs(x) < 100 for x in references)
    assert blocks < 500


def test_what_it_needs_lives_as_long_as_it_does(made):
    class Kept:
        pass

    kept = Kept()
    reference = weakref.ref(kept)
    f = made([X], [X], keep=kept)
    del kept
    gc.collect()
    assert reference() is not None
    f(X)
    del f
    gc.collect()
    assert reference() is None


def test_many_functions_come_and_go(made):
    for _ in range(200):
        made([X], [X], workspace=1000)(X)


def test_a_program_may_call_itself(made):
    """A kernel may be any function, so also one that comes back to Python."""
    depth, found = [0], []

    @ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    def back(bases, data):
        work = ctypes.c_int64.from_address(ctypes.c_int64.from_address(bases).value)
        work.value = mine = depth[0]
        depth[0] += 1
        if depth[0] < 4:
            found.append(f(X)[0])
        assert work.value == mine
        return 0

    steps = [2, ctypes.cast(back, ctypes.c_void_p).value, 5, made.address("twice"), 1, 2, 6]
    f = made([X], [X], steps=steps, workspace=8, keep=back)
    found.append(f(X)[0])
    assert len(found) == 4
    assert all(np.array_equal(x, 2 * X) for x in found)


def test_an_error_in_a_nested_call_leaves_the_memory_free(made):
    @ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    def fails(bases, data):
        return 5

    f = made([X], [X], steps=[2, ctypes.cast(fails, ctypes.c_void_p).value], workspace=8, keep=fails)
    for _ in range(5):
        with pytest.raises(LeftError):
            f(X)
    if f.__class__.__name__ != "function":
        assert f.__self__[4] == 0  # nobody is in its memory


@pytest.mark.parametrize("releases", [False, True])
def test_threads_do_not_meet_in_the_workspace(made, releases):
    n = 2000
    x = np.zeros(n)
    f = made([x], [x], steps=[5, made.address("pause"), 1, 2, n], workspace=8 * n, single=True, releases=releases)

    def work(nr):
        given = np.full(n, float(nr))
        return all(np.array_equal(f(given), 2 * given) for _ in range(30))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_other_threads_run_meanwhile(made):
    met = threading.Event()

    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)  # takes the lock of Python again
    def waits(bases, data):
        return 0 if met.wait(20) else 1

    f = made([X], [X], steps=[2, ctypes.cast(waits, ctypes.c_void_p).value], releases=True, keep=waits)
    thread = threading.Thread(target=met.set)
    thread.start()
    f(X)
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_child_process_runs_it_too(made):
    f = made([X], [X], workspace=64)
    f(X)
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(f(X)[0], 2 * X) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_workspace_is_aligned(made):
    seen = []

    @ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    def look(bases, data):
        seen.append(ctypes.c_int64.from_address(bases).value)
        if len(seen) < 3:
            f(X)
        return 0

    f = made([X], [X], steps=[2, ctypes.cast(look, ctypes.c_void_p).value], workspace=8, keep=look)
    f(X)
    assert all(x % 64 == 0 for x in seen)
    assert len(set(seen)) == 3


def test_memory_that_cannot_be_had_is_an_error(made):
    f = made([X], [X], workspace=8)
    if f.__class__.__name__ == "function":
        pytest.skip("NumPy allocates it")
    words = (ctypes.c_int64 * len(f.__self__)).from_address(f.__self__.ctypes.data)
    words[4], words[7] = 1, 1 << 60  # busy, and of that size
    for _ in range(10):
        with pytest.raises(MemoryError):
            f(X)


def test_a_descriptor_cannot_be_written(made):
    f = made([X], [X])
    if f.__class__.__name__ == "function":
        pytest.skip("it has none")
    with pytest.raises(ValueError, match="read-only"):
        f.__self__[0] = 1
