"""Ufuncs of lists that hold our tensors; views show dispatchers for them while a transform runs, and no longer."""

import pickle
import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import DetachingError

X = np.array([0.3, 0.7, 1.9])
GENUINE = {"np": np}  # adopt() reaches names

# Each call of lists, and the same of arrays.
CALLS = {
    "sin": (lambda x: np.sin([x[0], 1.0]), lambda x: np.sin(x[:1])),
    "square": (lambda x: np.square(list(x)), lambda x: x * x),
    "tuple": (lambda x: np.sqrt((x[1], x[2])), lambda x: np.sqrt(x[1:])),
    "nested": (lambda x: np.exp([[x[0], 2.0], [x[1], x[2]]])[:, 0], lambda x: np.exp(x[:2])),
    "arrays": (lambda x: np.tanh([x, 2 * x]), lambda x: np.tanh(np.stack([x, 2 * x]))),
    "two": (lambda x: np.hypot([x[0], x[1]], 1.5), lambda x: np.hypot(x[:2], 1.5)),
    "two lists": (lambda x: np.add([x[0], 2.0], [1.0, x[1]]), lambda x: x[:2] + np.array([1.0, 2.0])),
    "maximum": (lambda x: np.maximum([x[0], x[2]], 1.0), lambda x: np.maximum(x[::2], 1.0)),
    "where": (lambda x: np.exp([x[0], x[1]], where=[True, False], out=np.zeros(2)), lambda x: np.exp(x[:1])),
    "matmul": (lambda x: np.matmul([x[0], x[1]], np.eye(2)), lambda x: x[:2]),
    "reduce": (lambda x: np.maximum.reduce([x, 1 - x]), lambda x: np.maximum(x, 1 - x)),
    "add.reduce": (lambda x: np.add.reduce([x[0], x[1]]), lambda x: x[:2].sum()),
    "accumulate": (lambda x: np.multiply.accumulate([x[0], x[1]]), lambda x: np.cumprod(x[:2])),
    "outer": (lambda x: np.multiply.outer([x[0], x[1]], [1.0, 2.0]), lambda x: x[:2, None] * np.array([1.0, 2.0])),
    "two results": (lambda x: np.modf([x[0], x[2]])[0], lambda x: x[::2]),
}  # fmt: skip


@pytest.mark.parametrize(("of_lists", "of_arrays"), CALLS.values(), ids=CALLS)
def test_a_list_counts_as_the_array_of_it(of_lists, of_arrays, adopted):
    gradient = pb.func.grad(lambda x: np.sum(of_lists(x)))(X)
    expected = pb.func.grad(lambda x: np.sum(of_arrays(x)))(X)
    assert np.any(expected)
    assert np.allclose(gradient, expected, rtol=1e-14)
    _, tangent = pb.func.jvp(lambda x: np.sum(of_lists(x)), (X,), (np.ones(3),))
    assert np.allclose(tangent, np.sum(gradient), rtol=1e-14)


@pytest.mark.parametrize("name", ["sin", "square", "nested", "two lists", "maximum", "accumulate", "outer"])
def test_plain_lists_give_what_they_give(name, adopted):
    of_lists = CALLS[name][0]
    plain, inside = [*map(float, X)], []
    pb.func.grad(lambda t: (inside.append(of_lists(plain)), t)[1])(1.0)
    expected = of_lists(plain)
    assert type(inside[0]) is type(expected)
    assert np.array_equal(inside[0], expected)


def seen():
    """Whether this module's view shows the ufunc itself."""
    return np.sin is sys.modules["numpy"].sin and np.add is sys.modules["numpy"].add


def test_outside_of_transforms_views_have_the_ufuncs_themselves(adopted):
    looks = [seen()]

    def f(x):
        looks.append(seen())
        inner = pb.func.grad(lambda y: np.sin([y])[0])(x)
        looks.append(seen())
        return inner

    pb.func.grad(f)(1.0)
    looks.append(seen())
    with pytest.raises(ZeroDivisionError):
        pb.func.grad(lambda x: x / (1 / 0))(1.0)
    looks.append(seen())
    assert looks == [True, False, False, True, True]


def test_a_dispatcher_passes_for_the_ufunc(adopted):
    def f(x):
        genuine = sys.modules["numpy"].add
        assert np.add == genuine
        assert {genuine: 1}[np.add] == 1
        assert isinstance(np.add, np.ufunc)
        assert (np.add.nin, np.add.identity, np.add.__name__, repr(np.add)) == (2, 0, "add", repr(genuine))
        assert np.absolute is np.abs
        assert pickle.loads(pickle.dumps(np.add)) is genuine
        assert pickle.loads(pickle.dumps(np.add.reduce)) == genuine.reduce
        return x

    pb.func.grad(f)(1.0)


def test_another_threads_transform_changes_no_value_and_is_waited_for(adopted):
    started, done, looks = threading.Event(), threading.Event(), []

    def slow(x):
        started.set()
        done.wait(10)
        return np.sin([x])[0]

    found = []
    thread = threading.Thread(target=lambda: found.append(pb.func.grad(slow)(0.5)))
    thread.start()
    started.wait(10)
    pb.func.grad(lambda x: np.square([x])[0])(1.0)  # ends while the other one runs
    looks.append(seen())
    plain = np.sin([0.5])
    done.set()
    thread.join()
    looks.append(seen())
    assert looks == [False, True]
    assert type(plain) is GENUINE["np"].ndarray
    assert found[0] == pytest.approx(np.cos(0.5))


def test_adopt_and_release_inside_of_a_transform():
    def f(x):
        with pytest.raises(DetachingError, match=r"np.sin .*adopt\(\) once"):
            np.sin([x])
        with pb.adopt():
            y = np.sin([x])[0]
        assert seen()
        return y

    assert pb.func.grad(f)(0.5) == pytest.approx(np.cos(0.5))
    assert seen()


def test_what_a_program_sets_on_the_view_stays_and_is_set_on_numpy(adopted, monkeypatch):
    def mine(x):
        return x * 7

    numpy = sys.modules["numpy"]
    monkeypatch.setattr(numpy, "fabs", numpy.fabs)
    monkeypatch.setattr(numpy, "ones", numpy.ones)
    np.fabs = mine
    assert pb.func.grad(lambda x: np.fabs(x))(1.0) == 7
    assert np.fabs is numpy.fabs is mine
    np.ones = np.ones  # what mock.patch does at its end
    assert type(numpy.ones) is type(mine)
    assert np.ones is not numpy.ones


def test_the_refusal_names_the_remedy_where_adopt_would_not_do():
    t = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(DetachingError, match=r"join a list first, by np.stack\(\[...\]\)\.\n"):
        np.sin([t[0], 1.0])
    with pytest.raises(DetachingError, match=r"np.maximum.reduce .*join a list first, by np.stack"):
        np.maximum.reduce([t, t])


METHODS = {
    "dot": (lambda w, x: w.dot(x), "a @ x, or np.dot"),
    "dot of what has no name": (lambda w, x: (2 * w).dot(x), "a @ x, or np.dot"),
    "searchsorted": (lambda w, x: w.searchsorted(x), "np.searchsorted(a, x)"),
    "fill": (lambda w, x: w.fill(x[0]), "a = np.full_like(a, x, like=x)"),
    "put": (lambda w, x: w.put([0], x[0]), "into a Tensor: a = np.array(a, like=x)"),
}


@pytest.mark.parametrize(("call", "remedy"), METHODS.values(), ids=METHODS)
def test_methods_of_plain_arrays_name_the_function_that_takes_tensors(call, remedy):
    with pytest.raises(DetachingError) as caught:
        pb.func.grad(lambda x: call(np.arange(3.0), x))(X)
    assert f"A method of a plain array does not take Tensors. Write {remedy}" in str(caught.value)


def test_clip_of_a_plain_array_between_tensors_is_recorded():
    w = np.array([0.0, 1.0, 5.0])
    assert np.array_equal(pb.func.grad(lambda x: w.clip(x[0], x[2]).sum())(X), [1, 0, 1])
