"""Writes into memory that is read in the same call, and writes that fail halfway: as NumPy does, or refused.

Each write is linear or quadratic in what the array holds, so that central differences of any step are exact.
"""

import operator
import random
from functools import partial

import numpy as np
import pytest

import pullback as pb
from pullback.extend import InplaceError

N = 12


def differences(write, x, w):
    """The gradient of sum(w * x) after the write."""
    found = []
    for i in range(x.size):
        ends = []
        for step in (0.5, -0.5):
            y = x.copy()
            y.flat[i] += step
            write(y)
            ends.append((y * w).sum())
        found.append(ends[0] - ends[1])
    return np.reshape(found, x.shape)


def judged(write, x, seed, allowed=InplaceError):
    """What a write leaves is what NumPy leaves, and so is the gradient; True if it was refused."""
    w = np.random.default_rng(seed).normal(size=x.shape)
    left, after = x.copy(), []
    write(left)

    def loss(a):
        write(a)
        after.append(np.array(pb.func.stop_gradient(a)))
        return (a * w).sum()

    try:
        found = pb.func.grad(loss)(x)
    except allowed:
        return True
    assert np.allclose(after[0], left, rtol=1e-13)
    assert np.allclose(found, differences(write, x, w), rtol=1e-9, atol=1e-9)
    return False


class Places:
    """Two slices of one length, and where else something may be written, at random."""

    def __init__(self, seed):
        R = random.Random(seed)
        k = R.randint(2, 5)
        self.to, self.of = (self._slice(R, k) for _ in "ab")
        self.k, self.start = k, R.randint(0, N - k)
        self.places = [R.randrange(N) for _ in range(k)]
        self.mask = np.isin(np.arange(N), R.sample(range(N), k))
        self.some = np.array([R.random() < 0.5 for _ in range(k)])
        self.cut = R.randint(1, N - 1)

    @staticmethod
    def _slice(R, k):
        step = R.choice([1, 1, 2, -1, -2])
        first = R.randint(0, N - 1 - abs(step) * (k - 1))
        last = first + abs(step) * (k - 1)
        if step > 0:
            return slice(first, last + 1, step)
        return slice(last, first - 1 if first else None, step)


def _at(x, index, value):
    x[index] = value


def _swap(x, s, t):
    x[s], x[t] = x[t], x[s]


WRITES = {
    "x[s] = x[t]": lambda a, p: _at(a, p.to, a[p.of]),
    "x[i] = x[t]": lambda a, p: _at(a, p.places, a[p.of]),
    "x[mask] = x[t]": lambda a, p: _at(a, p.mask, a[p.of]),
    "x.flat[s] = x[t]": lambda a, p: _at(a.flat, p.to, a[p.of]),
    "x.flat[i] = x[t]": lambda a, p: _at(a.flat, p.places, a[p.of]),
    "x.flat[mask] = x[t]": lambda a, p: _at(a.flat, p.mask, a[p.of]),
    "x.flat[:] = x[t]": lambda a, p: _at(a.flat, slice(None), a[p.of]),
    "x[s] += x[t]": lambda a, p: np.add(a[p.to], a[p.of], out=a[p.to]),
    "np.subtract": lambda a, p: np.subtract(a[p.of], 2 * a[p.to], out=a[p.to]),
    "np.multiply": lambda a, p: np.multiply(a[p.of], a[p.to], out=a[p.to]),
    "where": lambda a, p: np.add(a[p.of], a[p.to], out=a[p.to], where=p.some),
    "np.copyto": lambda a, p: np.copyto(a[p.to], a[p.of]),
    "np.copyto where": lambda a, p: np.copyto(a[p.to], a[p.of], where=p.some),
    "np.take": lambda a, p: np.take(a, p.places, out=a[p.to]),
    "np.take wrap": lambda a, p: np.take(a[p.of], p.places, out=a[p.to], mode="wrap"),
    "np.cumsum": lambda a, p: np.cumsum(a[p.of], out=a[p.to]),
    "accumulate": lambda a, p: np.add.accumulate(a[p.of], out=a[p.to]),
    "np.add.at": lambda a, p: np.add.at(a, p.places, a[p.of]),
    "np.add.at, again": lambda a, p: (
        np.add.at(a, [*p.places, p.to.start, p.to.start], a[p.start - 2 :][: p.k + 2])
        if p.start > 1
        else np.subtract.at(a, [1, 1, 2], a[:3])
    ),
    "swap": lambda a, p: _swap(a, p.to, p.of),
    "swap elements": lambda a, p: _at(a, p.places[:2], a[p.places[1::-1]]),
    "np.put": lambda a, p: np.put(a, p.places, a[p.of]),
    "np.place": lambda a, p: np.place(a, p.mask, a[p.of]),
    "np.putmask": lambda a, p: np.putmask(a, p.mask, a[p.of]),
    "np.choose": lambda a, p: np.choose(p.some.astype(int), [a[p.of], a[: p.k]], out=a[p.to]),
    "np.compress": lambda a, p: np.compress(p.mask, a, out=a[p.to]),
    "np.concatenate": lambda a, p: np.concatenate([a[p.cut :], a[: p.cut]], out=a),
    "np.concatenate s": lambda a, p: np.concatenate([a[p.of], 2 * a[p.k :]], out=a),
    "np.stack": lambda a, p: np.stack([a[6:], a[:6]], out=a.reshape(2, 6)),
    "np.put_along_axis": lambda a, p: np.put_along_axis(
        a, np.array(sorted({*p.places})), a[p.of][: len({*p.places})], 0
    ),
    "np.sum": lambda a, p: np.sum(a.reshape(2, 6), axis=0, out=a[p.start : p.start + 6][:6] if p.start < 7 else a[:6]),
}


@pytest.mark.parametrize("name", WRITES)
def test_memory_that_is_read_and_written_at_once(name):
    x = np.random.default_rng(1).permutation(N) + 0.25
    refused = [judged(partial(WRITES[name], p=Places(seed)), x, seed) for seed in range(12)]
    assert not all(refused)  # where nothing overlaps, or a copy leaves the same, it works


MATRICES = {
    "x += x.T": lambda a: a.__iadd__(a.T),
    "x -= x.T": lambda a: a.__isub__(a.T),
    "x *= x.T": lambda a: a.__imul__(a.T),
    "x @= x": lambda a: a.__imatmul__(a),
    "x @= x.T": lambda a: a.__imatmul__(a.T),
    "x += x[::-1]": lambda a: a.__iadd__(a[::-1]),
    "x -= x[1]": lambda a: a.__isub__(a[1]),
    "x[:] = x.T": lambda a: _at(a, slice(None), a.T),
    "x.T[:] = x": lambda a: _at(a.T, slice(None), a),
    "x.flat = x.T": lambda a: setattr(a, "flat", a.T),
    "x.T.flat = x": lambda a: setattr(a.T, "flat", a),
    "matmul": lambda a: np.matmul(a, a, out=a),
    "matmul of a part": lambda a: np.matmul(a[1:, 1:], a[:-1, :-1], out=a[1:, :-1]),
    "einsum": lambda a: np.einsum("ij,jk->ik", a, a, out=a),
    "dot": lambda a: np.dot(a, a.copy(), out=a),
    "cumsum": lambda a: np.cumsum(a.T, 0, out=a),
    "rows": lambda a: np.concatenate([a[2:], a[:2]], out=a),
    "columns": lambda a: np.concatenate([a.T[2:], a.T[:2]], out=a),
    "stack": lambda a: np.stack([a[3], a[2], a[1], a[0]], out=a),
    "np.ix_": lambda a: _at(a, np.ix_([0, 1], [0, 1]), a[1:3, 1:3]),
    "fill_diagonal": lambda a: np.fill_diagonal(a, a[0]),
    "triangles": lambda a: _at(a, np.tril_indices(4), a[np.triu_indices(4)]),
    "two results": lambda a: np.modf(a[0], out=(a[1], a[1:3].reshape(-1)[2:6])),
}


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_that_is_read_and_written_at_once(name):
    x = np.random.default_rng(2).permutation(16).reshape(4, 4) + 0.25
    judged(MATRICES[name], x, 0)


def caught(write):
    def run(a):
        with np.errstate(all="raise"), pytest.raises((IndexError, ValueError, TypeError, ArithmeticError)):
            write(a)

    return run


FAILING = {
    "put": lambda a: np.put(a, [1, 99], [7.0, 8.0]),
    "put from the end": lambda a: np.put(a, [1, -2, -99, 3], [7.0, 8.0]),
    "put in columns": lambda a: np.put(a.reshape(4, 3).T, [1, 99], [7.0, 8.0]),
    "put of itself": lambda a: np.put(a, [1, 99], a[3:5]),
    "x.put": lambda a: a.put([1, 99], [7.0, 8.0]),
    "x.flat[i]": lambda a: _at(a.flat, [1, 99], [7.0, 8.0]),
    "x[i]": lambda a: _at(a, [1, 99], [7.0, 8.0]),
    "x[mask]": lambda a: _at(a, np.arange(N) > 3, [7.0, 8.0]),
    "place": lambda a: np.place(a, np.arange(N) > 3, []),
    "putmask": lambda a: np.putmask(a, np.arange(3) > 1, [1.0]),
    "choose": lambda a: np.choose([0, 5, 0], [a[:3] * 2, a[1:4]], out=a[5:8]),
    "take": lambda a: np.take(a, [3, 99], out=a[:2]),
    "add.at": lambda a: np.add.at(a, [0, 99], [1.0, 2.0]),
    "put_along_axis": lambda a: np.put_along_axis(a, np.array([1, 99]), np.array([7.0, 8.0]), 0),
    "copyto": lambda a: np.copyto(a, np.ones(3)),
    "concatenate": lambda a: np.concatenate([a[:2], a[:3]], out=a),
    "division": lambda a: a.__itruediv__(np.where(np.arange(N) == 2, 0.0, 2.0)),
    "out=": lambda a: np.divide(a, np.where(np.arange(N) == 2, 0.0, 2.0), out=a),
    "sort": lambda a: a.sort(axis=3),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_write_that_fails_leaves_what_numpy_leaves(name):
    x = np.random.default_rng(3).permutation(N) + 1.25
    left, after = x.copy(), []
    caught(FAILING[name])(left)
    pb.func.grad(lambda a: (caught(FAILING[name])(a), after.append(np.array(pb.func.stop_gradient(a))), a.sum())[-1])(x)
    assert np.array_equal(after[0], left)
    if np.isfinite(left).all():
        judged(caught(FAILING[name]), x, 0, allowed=())


def test_a_mask_of_a_tensor_takes_no_value_from_the_same_memory():
    x = pb.ones(4, requires_grad=True) * pb.arange(4.0)
    with pytest.raises(InplaceError, match=r"Write a copy of the value: y\.copy\(\)"):
        x[pb.tensor([False, True, False, True])] = x[:2]
    x[pb.tensor([True, True, False, False])] = x[:2]
    assert x.tolist() == [0, 1, 2, 3]


REFUSED = {
    "x[:2] = y": (lambda a: _at(a, slice(2), np.ones(3)), ValueError),
    "x[mask] = y": (lambda a: _at(a, np.arange(N) > 3, np.ones(3)), ValueError),
    "x[:3] = words": (lambda a: _at(a, slice(3), [1.0, None, "x"]), ValueError),
    "x.flat[:2] = words": (lambda a: _at(a.flat, slice(2), ["a", "b"]), ValueError),
    "x.flat[0] = y": (lambda a: _at(a.flat, 0, np.ones(3)), ValueError),
    "x.flat[None]": (lambda a: a.flat[None], IndexError),
    "x @ 2": (lambda a: a @ 2.0, ValueError),
    "2 @ x": (lambda a: 2.0 @ a, ValueError),
    "x @= 2": (lambda a: a.__imatmul__(2.0), ValueError),
    "x += y": (lambda a: a.__iadd__(np.ones(3)), ValueError),
    "x *= 2j": (lambda a: a.__imul__(2j), TypeError),
    "2 ^ x": (lambda a: 2 ^ a, TypeError),
    "None | x": (lambda a: None | a, TypeError),
    "x.ravel": (lambda a: a.ravel(2), TypeError),
    "x.copy": (lambda a: a.copy(np.ones(2)), TypeError),
    "x.item": (lambda a: a.item(None), TypeError),
    "x.shape": (lambda a: setattr(a, "shape", (5, 5)), ValueError),
    "x.resize": (lambda a: a.resize(2.5), TypeError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_who_catches_numpys_error_catches_ours_and_finds_what_numpy_leaves(name):
    call, error = REFUSED[name]
    x = np.random.default_rng(3).permutation(N) + 1.25
    left, after = x.copy(), []
    with pytest.raises(error):
        call(left)

    def loss(a):
        with pytest.raises(error):
            call(a)
        after.append(np.array(pb.func.stop_gradient(a)))
        return (a * a).sum()

    gradient = pb.func.grad(loss)(x)
    assert np.array_equal(after[0], left, equal_nan=True)
    assert np.array_equal(gradient, np.where(left == x, 2 * x, 0))


def test_operators_of_whole_numbers_take_them_from_the_left():
    found = []

    def loss(a):
        n = pb.to(a, int)
        found.extend([6 & n, 1 << n, [1, 1, 1] | n])
        return a.sum()

    pb.func.grad(loss)(np.array([1.0, 2.0, 3.0]))
    assert [np.asarray(x).tolist() for x in found] == [[0, 2, 2], [2, 4, 8], [1, 3, 3]]


CAUGHT_WRITES = {
    "shape": lambda y: operator.setitem(y, ..., y.T),
    "shape of plain numbers": lambda y: operator.setitem(y, ..., np.ones((3, 2))),
    "shape at an index array": lambda y: operator.setitem(y, [0, 1], y.T),
    "in place": lambda y: operator.iadd(y, y.T),
    "copyto": lambda y: np.copyto(y, y.T),
}


@pytest.mark.parametrize("fail", CAUGHT_WRITES.values(), ids=CAUGHT_WRITES)
def test_a_refused_write_that_is_caught_changes_nothing_for_the_backward(fail):
    def f(x):
        y = np.tanh(x)
        z = y * y
        y[0] = y[1]
        for _ in range(2):
            with pytest.raises(ValueError):
                fail(y)
        y[1] *= 3.0
        with pytest.raises(ValueError):
            fail(y)
        return (y * y).sum() + z.sum()

    x = np.arange(1.0, 7.0).reshape(2, 3) * 0.1
    slopes = 2 * np.tanh(x) / np.cosh(x) ** 2
    np.testing.assert_allclose(pb.func.grad(f)(x), slopes * [[1.0], [11.0]])
