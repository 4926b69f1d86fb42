"""Random programs, and written ones that were wrong once, give compiled what they give in eager mode."""

import os
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import CompileWarning, backward, program, writer
from tests.compiler.beside import differences, leaves
from tests.compiler.programs import Program, run


@pytest.fixture(autouse=True)
def compared_here(monkeypatch):
    """The first runs of a program are not compared, and replaced, by the compiler itself."""
    for kind in (program.Program, backward.DifferentiableProgram):
        monkeypatch.setattr(kind, "look", 1 << 30)
    monkeypatch.setattr(writer, "_REUSED", 1)  # so that small arrays too are written over
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program(seed):
    made = Program(seed)
    how, _ = differences(made)
    assert not how, made.text


@pytest.mark.skipif("PULLBACK_LONG" not in os.environ, reason="takes ten minutes: PULLBACK_LONG=1")
@pytest.mark.parametrize("part", range(10))
def test_many_more_random_programs(part):
    wrong, _ = run(range(1000 * (part + 1), 1000 * (part + 2)))
    assert not wrong, "\n".join(wrong)


def views_of_a_buffer(x):
    buffer = pb.zeros(3, 3)
    rows = buffer[1:]
    column = rows.T
    rows[0] = x
    column[0] += x[:2]
    return buffer * 1, column * 1


def a_detached_alias(x):
    y = x * 1
    alias = y.detach()
    y.mul_(2)
    alias[0] = 7
    return y, alias


def a_copy_by_reshape(x):
    y = x.expand(2, 3)
    flat = y.reshape(-1)
    y.sum(0).exp_()
    flat.zero_()
    return y * 1


def an_argument(x):
    x[0] = x.sum()
    x.view(-1)[1:] *= 2
    return x * 3


def pushed_through_a_view(x):
    def f(x):
        flat = x.view(-1)
        flat[-1] += x.sum()
        x.relu_()
        return flat * 1

    return pb.func.jvp(f, (x,), (x * 1,))


def detached_inside(x):
    def f(x):
        y = x * 1
        y.detach()[0] = 3.0
        return y

    return pb.func.jvp(f, (x,), (x * 1,))


@pytest.mark.parametrize(
    "function",
    [views_of_a_buffer, a_detached_alias, a_copy_by_reshape, an_argument, pushed_through_a_view, detached_inside],
)
def test_what_is_written_reaches_every_view(function):
    compiled = pb.compile(function)
    for k in range(5):
        x, y = (pb.tensor(np.array([1.0, -2.0, 3.0]) * (k - 2)) for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("error", CompileWarning)
            found, expected = leaves(compiled(x)), leaves(function(y))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_ndarrays_are_written_into_at_each_call():
    @pb.compile
    def f(x, y):
        x += y
        y[1:] = x[:-1]
        return x.sum()

    for k in range(5):
        x, y = np.arange(3.0) + k, np.ones(3) * k
        a, b = x + y, y.copy()
        b[1:] = a[:-1]
        assert f(x, y) == a.sum()
        np.testing.assert_array_equal(x, a)
        np.testing.assert_array_equal(y, b)


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
@pytest.mark.parametrize("made", [lambda x: x, pb.from_numpy])
def test_arguments_in_one_memory_that_are_written_into_are_left_to_eager_mode(made):
    @pb.compile
    def f(x, y):
        x += y
        return x * y

    for together in (False, True) * 3:
        memory = np.arange(6.0)
        x, y = memory[:4], (memory[2:] if together else memory[2:].copy())
        a = np.arange(6.0)
        c, d = a[:4], (a[2:] if together else a[2:].copy())
        c += d
        np.testing.assert_array_equal(f(made(x), made(y)), c * d)
        np.testing.assert_array_equal(memory, a)


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
def test_a_call_that_fails_fails_as_in_eager_mode():
    compiled = pb.compile(lambda x, i: x[i] * 1)
    x = np.arange(3.0)
    for i in ([0, 1], [1, 2], [2, 2], [0, 3], [1, 1]):
        i = np.array(i)
        if i.max() < 3:
            np.testing.assert_array_equal(compiled(x, i), x[i])
        else:
            with pytest.raises(IndexError):
                compiled(x, i)


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
def test_a_trace_that_fails_has_written_nothing():
    @pb.compile
    def f(x):
        x += 1
        return np.array([object()] * len(x)) if x.sum() else x.tolist()

    x = np.zeros(2)
    f(x)
    np.testing.assert_array_equal(x, [1.0, 1.0])


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
def test_one_tensor_given_twice_is_one():
    def f(x, y):
        x.mul_(2)
        return x + y

    compiled = pb.compile(f)
    for k in range(6):
        x, y = pb.ones(2) * k, pb.ones(2) * k
        given, again = ((x, x), (y, y)) if k % 2 else ((x, pb.ones(2)), (y, pb.ones(2)))
        np.testing.assert_array_equal(compiled(*given), f(*again))
        np.testing.assert_array_equal(x, y)


def test_results_are_the_callers_own():
    compiled = pb.compile(lambda x: (x, x.T, x[0], x * 2, np.ones(3)))
    for _ in range(5):
        x = np.arange(9.0).reshape(3, 3)
        found = compiled(x)
        for a in found:
            a[...] = -1
        np.testing.assert_array_equal(x, np.arange(9.0).reshape(3, 3))
    assert compiled(x)[4].tolist() == [1, 1, 1]
