"""Kernels of the area indexing that sort. Equal elements keep their order, and NaN counts as the largest.

NumPy's default sort of floating-point numbers runs in vectors and takes a fifth of the time of its stable one. So many
numbers are sorted by it, and where neighbours turn out equal, their positions are put in order afterwards.
"""

from operator import index as as_int

import numpy as np

from pullback.arrays.numpy.dims import at_dim, wrap_dim
from pullback.arrays.numpy.indexing.scattering import gather
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered

_MANY = 1 << 12  # elements
_FEW = 8  # a top of at most one element in so many is found without sorting the others


def argsort(self, dim=-1, descending=False, stable=None):
    """The positions along dim that sort self; NaN counts as the largest; equal elements keep their order."""
    refuse_unordered(self)
    dim = wrap_dim(dim, self.ndim, "argsort")
    if self.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return _stable_order(self, dim)
    # Sorting the reversed array and reversing the outcome keeps equal elements in order in the descending sense.
    return self.shape[dim] - 1 - np.flip(_stable_order(np.flip(self, dim), dim), dim)


def sort(self, dim=-1, descending=False, stable=None):
    """(values, indices) of self sorted along dim."""
    indices = argsort(self, dim, descending)
    return gather(self, dim, indices), indices


def topk(self, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest (or smallest) elements along dim, in order."""
    refuse_unordered(self)
    dim = wrap_dim(dim, self.ndim, "topk")
    size = self.shape[dim] if self.ndim else 1
    k = as_int(k)
    if not 0 <= k <= size:
        raise RuntimeError(f"topk: k must be between 0 and {size}, the size of dimension {dim}; got {k}")
    if self.size >= _MANY and 0 < k * _FEW <= size and self.dtype.char in "fd":
        indices = np.moveaxis(_top_order(_rows(self, dim), k, largest), -1, dim)
    else:
        indices = argsort(self, dim, largest)
        if self.ndim:
            indices = indices[at_dim(slice(k), dim)]
    return gather(self, dim, indices), indices


def _rows(x, dim):
    """x with dimension dim last, contiguous."""
    return np.ascontiguousarray(np.moveaxis(x, dim, -1))


def _stable_order(x, dim):
    """numpy.argsort(x, dim, kind="stable")."""
    if x.size < _MANY or x.dtype.char not in "fd":
        return np.argsort(x, dim, kind="stable")
    rows = _rows(x, dim)
    order = np.argsort(rows, -1)
    ranked = gather(rows, -1, order)
    differs = ranked[..., 1:] != ranked[..., :-1]
    differs &= ranked[..., :-1] == ranked[..., :-1]  # NaNs, all at the end, count as equal
    tied = ~np.logical_and.reduce(differs, axis=-1)
    if tied.any():
        order[tied] = _in_order_where_equal(order[tied], differs[tied])
    return np.ascontiguousarray(np.moveaxis(order, -1, dim))


def _in_order_where_equal(order, differs):
    """Rows of positions, those of equal numbers ascending; `differs` says whether a number differs from the next."""
    runs = np.zeros(order.shape, np.int64)
    np.add.accumulate(differs, axis=-1, dtype=np.int64, out=runs[..., 1:])
    runs *= order.shape[-1]
    return np.sort(runs + order, -1) - runs


def _top_order(rows, k, largest):
    """The positions of the k largest (smallest) of each row, in order; of equal ones the first."""
    size = rows.shape[-1]
    if largest:
        chosen = np.argpartition(rows, size - k, -1)[..., size - k :]
    else:
        chosen = np.argpartition(rows, k - 1, -1)[..., :k]
    chosen = np.sort(chosen, -1)
    values = np.take_along_axis(rows, chosen, -1)
    chosen = np.take_along_axis(chosen, argsort(values, -1, largest), -1)
    last = np.take_along_axis(rows, chosen[..., -1:], -1)
    # Where more than k numbers are no less (no more) than the last one, the partition may have chosen others of them.
    inside = size - np.count_nonzero(rows < last, -1) if largest else np.count_nonzero(rows <= last, -1)
    unsure = inside != k  # also where the last one is NaN
    if unsure.any():
        chosen[unsure] = argsort(rows[unsure], -1, largest)[..., :k]
    return chosen
