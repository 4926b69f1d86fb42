"""Weighted sums of numbers at given places: what grid_sample makes of an array, and the adjoints of that.

The three kernels are the partial derivatives of one trilinear form, the sum over c, p and k of
y[n, c, p] * x[n, c, index[n, p, k]] * weight[n, p, k]. Shapes are x (N, C, S), y (N, C, P), index and weight
(N, P, K). The index -1 names no place at all: what is there counts as 0 and gets nothing.
"""

import numpy as np
import scipy.sparse

from pullback.arrays.numpy.declarations import loops

PAGE, MORE = 4096, 16  # bytes; numbers


def sample_at(self, index, weight):
    """y from x: the places of p, weighted and summed."""
    count, channels, size = self.shape
    found = _matrix(index, weight, size) @ _rows(self)
    return _apart(found, (count, index.shape[1], channels), self.dtype, weight.dtype)


def spread_at(self, index, weight, size):
    """x of `size` places from y: each number added, with its weights, to its places."""
    found = _matrix(index, weight, size).T @ _rows(self)[:-1]
    return _apart(found[:-1], (len(self), size, self.shape[1]), self.dtype, weight.dtype)


@loops("window")
def dot_at(self, other, index):
    """weight from y (self) and x (other): products of y at p and x at its places, summed over the channels."""
    rows, of_y = _rows(other), _rows(self)[:-1]
    places = _places(index, other.shape[2]).reshape(-1, index.shape[2])
    found = np.empty(places.shape, np.result_type(rows, of_y))
    for k in range(index.shape[2]):
        np.einsum("pc,pc->p", of_y, rows.take(places[:, k], 0), out=found[:, k])
    return found.astype(np.result_type(self, other), copy=False).reshape(index.shape)


def _rows(x):
    """(N, C, S) as rows of channels, (N * S + 1, C), the last of them zero."""
    count, channels, size = x.shape
    if size * x.itemsize % PAGE == 0:  # lines of that length share few places of the cache: six times slower
        x = np.concatenate([x, x[..., :MORE]], 2)[..., :size]
    out = np.zeros((count * size + 1, channels), np.result_type(x, np.float32))
    out[:-1].reshape(count, size, channels)[...] = x.swapaxes(1, 2)
    return out


def _apart(rows, shape, *dtypes):
    """Rows of channels of that shape, (N, P, C), as (N, C, P)."""
    return np.ascontiguousarray(rows.reshape(shape).swapaxes(1, 2), np.result_type(*dtypes))


def _places(index, size):
    """The numbers of the rows."""
    count = len(index)
    first = np.arange(count).reshape(-1, 1, 1) * size
    return np.where(index < 0, count * size, index + first)


def _matrix(index, weight, size):
    """The sparse matrix (N * P, N * S + 1) whose product with rows of x gives rows of y."""
    count, points, each = index.shape
    ends = np.arange(0, index.size + 1, each) if each else np.zeros(count * points + 1, np.int64)
    numbers = np.ravel(weight).astype(np.result_type(weight, np.float32), copy=False)
    shape = (count * points, count * size + 1)
    return scipy.sparse.csr_array((numbers, _places(index, size).ravel(), ends), shape=shape)
