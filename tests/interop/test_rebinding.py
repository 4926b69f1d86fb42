"""`a += t` with an ndarray `a`: the name gets another array where nobody can tell, and is refused elsewhere."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import DetachingError

X = np.array([1.0, 2.0, 3.0])


class Holder:
    def __init__(self, array):
        self.array = array


def local(x):
    a = np.ones(3)
    a += x
    a *= x
    return np.sum(a)


def attribute(x):
    h = Holder(np.ones(3))
    h.array += x
    h.array *= x
    return np.sum(h.array)


def element(x):
    found = [np.ones(3), {"k": np.ones(3)}]
    found[0] += x
    found[0] *= x
    found[1]["k"] -= x
    return np.sum(found[0]) + np.sum(found[1]["k"]) + np.sum(x)


def copied(x):
    a = X.copy()
    for _ in range(2):
        a += 0.5 * x * 1.0
    return np.sum(a * (x + 1) - a * x + x**2) - np.sum(X) + np.sum(1.0 + 0 * x)


@pytest.mark.parametrize("f", [local, attribute, element])
def test_the_only_name_is_bound_to_the_result(f):
    value, slope = pb.func.value_and_grad(f)(X)
    assert value == np.sum((1 + X) * X) + (np.sum(1 - X) + np.sum(X) if f is element else 0)
    np.testing.assert_allclose(slope, 1 + 2 * X)
    np.testing.assert_allclose(pb.func.jvp(f, (X,), (np.ones(3),))[1], np.sum(1 + 2 * X))
    np.testing.assert_allclose(pb.func.grad(lambda x: np.sum(pb.func.grad(f)(x)))(X), [2, 2, 2])


def test_an_integrator_that_starts_from_plain_numbers():
    np.testing.assert_allclose(pb.func.grad(copied)(X), 1 + 2 * X)


def test_whole_numbers_and_other_shapes_are_refused_as_numpy_does():
    def whole(x):
        a = np.ones(3, int)
        a += x
        return np.sum(a)

    def wider(x):
        a = np.ones(1)
        a += x
        return np.sum(a)

    for f in (whole, wider):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            pb.func.grad(f)(X)


def test_single_precision_stays_single():
    def f(x):
        a = np.ones(3, np.float32)
        a += x
        assert a.dtype == np.float32
        return np.sum(a)

    np.testing.assert_allclose(pb.func.grad(f)(X), [1, 1, 1])


def alias(x):
    a = np.ones(3)
    b = a
    a += x
    return np.sum(b)


def view(x):
    a = np.ones(3)
    b = a[1:]
    a += x
    return np.sum(b)


def of_view(x):
    a = np.ones(4)
    b = a[1:]
    b += x
    return np.sum(a)


def argument(x):
    def step(a):
        a += x

    a = np.ones(3)
    step(a)
    return np.sum(a)


def named_out(x):
    a = np.ones(3)
    np.add(a, x, out=a)
    return np.sum(a)


CONSTANT = np.ones(3)


def of_module(x):
    a = CONSTANT
    a += x
    return np.sum(a)


def captured(x):
    a = np.ones(3)

    def seen():
        return np.sum(a)

    kept = [a]
    a += x
    return seen() + np.sum(kept[0])


def row(x):
    a = np.ones((2, 3))
    a[0] += x
    return np.sum(a)


@pytest.mark.parametrize("f", [alias, view, of_view, argument, named_out, of_module, captured, row])
def test_an_array_that_others_see_is_refused(f):
    with pytest.raises(DetachingError):
        pb.func.grad(f)(X)


def test_without_a_gradient_the_array_itself_is_written():
    a = np.ones(3)
    b = a
    a += pb.tensor(X)
    assert type(a) is np.ndarray
    assert b is a
    np.testing.assert_array_equal(a, 1 + X)
