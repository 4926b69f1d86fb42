"""Arrays that adopted code makes inside vmap and fills with batched values, against a loop."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import InplaceError, ReadError
from pullback.func import grad, hessian, jvp, vmap

X = np.array([[-1.0, 0.5], [0.25, 2.0], [1.5, -0.75]])


def elements(x):
    y = np.zeros(3)
    y[0] = x[0]
    y[2] = x[1] * y[0]
    return y


def views(x):
    y = np.zeros((2, 2))
    y[0] = 1.0
    row, transposed = y[1], y.T
    row[0] = x[0]
    y[0] += x
    transposed[1] *= x[1]
    return y + row


def results_of_ufuncs(x):
    y = np.empty(2)
    np.multiply(x, x, out=y)
    np.add.at(y, [0, 0], x)
    return y


def matrix(x):
    r = np.eye(3)
    r[0, :2] = np.cos(x)
    r[1:, 2] = x
    return r @ np.ones(3)


def made_of_others(x):
    y = np.array([1.0, 2.0])
    z, w = y.copy(), np.ones(2) * 3
    y[1] *= x[0]
    z[0] = x[1]
    w[::-1] = x
    return y + z * w


def steps(x):
    out = np.zeros((4, 2))
    out[0] = x
    for i in range(3):
        out[i + 1] = out[i] + 0.1 * np.array([out[i, 1], -np.sin(out[i, 0])])
    return out


FUNCTIONS = (elements, views, results_of_ufuncs, matrix, made_of_others, steps)
over_functions = pytest.mark.parametrize("f", FUNCTIONS)


@pytest.fixture(autouse=True)
def _adopted():
    with pb.adopt():
        yield


def looped(f, xs=X):
    return np.stack([f(x) for x in xs])


def squares(f):
    return lambda x: np.sum(f(x) ** 2)


def tangent(f):
    return lambda x: jvp(f, (x,), (np.array([1.0, -0.5]),))[1]


@over_functions
def test_values(f):
    np.testing.assert_allclose(vmap(f)(X), looped(f))
    np.testing.assert_allclose(vmap(f)(pb.tensor(X)), looped(f))
    np.testing.assert_allclose(vmap(f, chunk_size=2)(X), looped(f))
    np.testing.assert_allclose(vmap(vmap(f))(np.stack([X, 2 * X])), [looped(f), looped(f, 2 * X)])


@over_functions
def test_derivatives(f):
    gradients = looped(grad(squares(f)))
    np.testing.assert_allclose(vmap(grad(squares(f)))(X), gradients)
    np.testing.assert_allclose(grad(lambda xs: np.sum(vmap(f)(xs) ** 2))(X), gradients)
    np.testing.assert_allclose(vmap(tangent(f))(X), looped(tangent(f)))
    directions = np.tile([1.0, -0.5], (3, 1))
    np.testing.assert_allclose(jvp(vmap(f), (X,), (directions,))[1], looped(tangent(f)))
    np.testing.assert_allclose(vmap(hessian(squares(f)))(X), looped(hessian(squares(f))), atol=1e-12)


def test_what_was_written_before_keeps_its_derivative():
    def f(w, x):
        y = np.zeros(3)
        part = y[1:]
        y[0] = w[0] ** 2  # the same for all samples
        part[0] = y[0] * x[0]
        part[1] = x[1] * w[1]
        y *= w[1]
        return np.sum(y**2)

    w = np.array([1.5, -0.5])
    found = grad(lambda w: np.sum(vmap(f, in_dims=(None, 0))(w, X)))(w)
    np.testing.assert_allclose(found, sum(grad(f)(w, x) for x in X))


def test_whole_numbers_and_truth_values():
    def f(x):
        counts, signs = np.zeros(2, int), np.zeros(2, bool)
        counts[0] = np.argmax(x)
        counts[1] = counts[0] + 1
        signs[:] = x > 0
        return counts * 2 + signs

    found = vmap(f)(X)
    np.testing.assert_array_equal(found, looped(f))
    assert found.dtype == int


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(3),
        lambda: np.array([0, 1, 2]),
        lambda: np.asarray((0, 1, 2)),
        lambda: np.eye(3, dtype=int)[1],
        lambda: np.tile(np.arange(3), 2)[3:],
        lambda: np.arange(6).reshape(2, 3)[1] - 3,
    ],
)
def test_any_fresh_array_of_whole_numbers_may_become_one_of_many_samples(make):
    def f(x):
        i = make()
        i[1] = np.argmax(x)
        return np.append(x, [1.0])[i] * 2

    np.testing.assert_array_equal(vmap(f)(X), [f(x) for x in X])
    np.testing.assert_array_equal(vmap(grad(lambda x: np.sum(f(x))))(X), [grad(lambda x: np.sum(f(x)))(x) for x in X])


def test_what_was_made_outside_is_refused():
    outside = np.zeros(2)

    def writes(x):
        outside[0] = x[0]
        return x

    with pytest.raises(ReadError, match=r"(?s)writing it into a plain ndarray.*outside\[0\] = x\[0\].*adopt"):
        vmap(writes)(X)
    assert not outside.any()
    with pytest.raises(InplaceError, match="same for all"):
        vmap(lambda x, table: table.__setitem__(0, x[0]), in_dims=(0, None))(X, np.ones(2))

    def nested(xs):
        of_outer = np.zeros(2)

        def inner(x):
            of_outer[0] = x[0]
            return x

        return vmap(inner)(xs)

    with pytest.raises(InplaceError, match="same for all"):
        vmap(nested)(np.stack([X, X]))


def test_plain_arrays_outside_of_vmap_stay_plain():
    vmap(elements)(X)
    assert type(np.zeros(3)) is np.ndarray
