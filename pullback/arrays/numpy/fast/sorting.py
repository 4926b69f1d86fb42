"""Sorting many floating-point numbers.

NumPy's default sort of them runs in vectors and takes a fifth of the time of its stable one. So many numbers are sorted
by it, and where neighbours turn out equal, their positions are put in order afterwards. A small top is found without
sorting the others.
"""

import numpy as np

from pullback.arrays.numpy.declarations import SAME_BITS, fast
from pullback.arrays.numpy.fast.flat_indices import taken_along

_MANY = 1 << 12  # elements
_FEW = 8  # a top of at most one element in so many is found without sorting the others


def _order_plainly(x, dim, descending):
    if not descending:
        return np.argsort(x, dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)


@fast(plain=_order_plainly, pays_from=_MANY, exact=SAME_BITS)
def order(x, dim, descending):
    """The positions along dim that sort x; NaN counts as the largest, equal elements keep their order."""
    if not descending:
        return _stable_order(x, dim)
    # Sorting the reversed array and reversing the outcome keeps equal elements in order in the descending sense.
    return x.shape[dim] - 1 - np.flip(_stable_order(np.flip(x, dim), dim), dim)


def _stable_order(x, dim):
    if x.size < _MANY or x.dtype.char not in "fd":
        return np.argsort(x, dim, kind="stable")
    rows = _rows(x, dim)
    found = np.argsort(rows, -1)
    ranked = taken_along(rows, found)
    differs = ranked[..., 1:] != ranked[..., :-1]
    differs &= ranked[..., :-1] == ranked[..., :-1]  # NaNs, all at the end, count as equal
    tied = ~np.logical_and.reduce(differs, axis=-1)
    if tied.any():
        found[tied] = _in_order_where_equal(found[tied], differs[tied])
    return np.ascontiguousarray(np.moveaxis(found, -1, dim))


def _in_order_where_equal(order, differs):
    """Rows of positions, those of equal numbers ascending; `differs` says whether a number differs from the next."""
    runs = np.zeros(order.shape, np.int64)
    np.add.accumulate(differs, axis=-1, dtype=np.int64, out=runs[..., 1:])
    runs *= order.shape[-1]
    return np.sort(runs + order, -1) - runs


def _rows(x, dim):
    """x with dimension dim last, contiguous."""
    return np.ascontiguousarray(np.moveaxis(x, dim, -1))


def _top_plainly(x, k, dim, largest):
    return _order_plainly(x, dim, largest).take(range(k), dim)


@fast(plain=_top_plainly, pays_from=_MANY, exact=SAME_BITS)
def top_order(x, k, dim, largest):
    """The positions of the k largest (smallest) along dim, in order, of equal ones the first; None where k is large."""
    size = x.shape[dim] if x.ndim else 1
    if x.size < _MANY or not 0 < k * _FEW <= size or x.dtype.char not in "fd":
        return None
    rows = _rows(x, dim)
    if largest:
        chosen = np.argpartition(rows, size - k, -1)[..., size - k :]
    else:
        chosen = np.argpartition(rows, k - 1, -1)[..., :k]
    chosen = np.sort(chosen, -1)
    values = np.take_along_axis(rows, chosen, -1)
    chosen = np.take_along_axis(chosen, order(values, -1, largest), -1)
    last = np.take_along_axis(rows, chosen[..., -1:], -1)
    # Where more than k numbers are no less (no more) than the last one, the partition may have chosen others of them.
    inside = size - np.count_nonzero(rows < last, -1) if largest else np.count_nonzero(rows <= last, -1)
    unsure = inside != k  # also where the last one is NaN
    if unsure.any():
        chosen[unsure] = order(rows[unsure], -1, largest)[..., :k]
    return np.moveaxis(chosen, -1, dim)
