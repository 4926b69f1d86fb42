"""Products of large contiguous arrays. In a row, `np.multiply.reduce` has every product wait for the one before.

Short rows are turned into columns, block by block, so that many products advance together: factor by factor in the
order of the row, to the same bits. Long rows are cut into lanes. That is another order, in which something may overflow
or underflow that does not in the plain one; NumPy is asked to raise then, and the plain way is taken.
"""

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast, loops

LARGE = 1 << 14  # elements
_LANES = 128
_SHORT = 256  # elements of a row
_BLOCK = 1 << 15  # elements of a block, which stays in the second-level cache


def _prod_plainly(x, axis, keepdims=False):
    return np.multiply.reduce(x, axis=axis, keepdims=keepdims)


@fast(plain=_prod_plainly, pays_from=LARGE, exact=Exactness(1, "factors"))
def contiguous_prod(x, axis, keepdims=False):
    """The product of everything (None) or over the last dimension; None where NumPy's way is as good, or needed."""
    if type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.flags.c_contiguous or x.size < LARGE:
        return None
    if type(axis) is tuple and len(axis) == 1:
        axis = axis[0]
    if axis is None or x.ndim == 1:
        if axis not in (None, 0, -1):
            return None
        total = _long_products(x.reshape(1, -1))
        return total.reshape((1,) * x.ndim) if keepdims else total[0]
    if type(axis) is not int or axis not in (-1, x.ndim - 1) or x.shape[-1] < 2:
        return None
    rows = x.reshape(-1, x.shape[-1])
    out = _short_products(rows) if rows.shape[1] <= _SHORT else _long_products(rows)
    return out.reshape(x.shape[:-1] + ((1,) if keepdims else ()))


@loops("blocks")
def _short_products(rows):
    count, length = rows.shape
    width = min(_BLOCK // length, count)
    out, columns = np.empty(count, rows.dtype), np.empty((length, width), rows.dtype)
    for start in range(0, count, width):
        part = rows[start : start + width]
        turned = columns[:, : len(part)]
        np.copyto(turned, part.T)
        np.multiply.reduce(turned, axis=0, out=out[start : start + width])
    return out


def _long_products(rows):
    count, length = rows.shape
    whole = length - length % _LANES
    try:
        with np.errstate(over="raise", under="raise"):
            lanes = np.multiply.reduce(rows[:, :whole].reshape(count, -1, _LANES), axis=1)
            return np.multiply.reduce(lanes, axis=1) * np.multiply.reduce(rows[:, whole:], axis=1)
    except FloatingPointError:
        return np.multiply.reduce(rows, axis=1)


def products_of_others(x, dim):
    """For each element the product of all others along dim: right at zeros, where a division is not."""
    if x.ndim == 0:
        return np.ones_like(x)
    if x.size >= LARGE and (out := others_by_division(x, dim)) is not None:
        return out
    return _others_plainly(x, dim)


def _others_plainly(x, dim):
    x = np.moveaxis(x, dim, 0)
    out, after = np.ones_like(x), np.ones_like(x)
    np.multiply.accumulate(x[:-1], axis=0, out=out[1:])
    np.multiply.accumulate(x[:0:-1], axis=0, out=after[-2::-1])
    out *= after
    return np.moveaxis(out, 0, dim)


@fast(plain=_others_plainly, pays_from=LARGE, exact=Exactness(2, "factors"))
def others_by_division(x, dim):
    """None where it might lose anything: products must be finite and not zero, with no overflow or underflow so far."""
    if x.dtype.char not in "fd":
        return None
    try:
        with np.errstate(over="raise", under="raise", invalid="ignore"):
            total = contiguous_prod(x, dim, True)
            if total is None:
                total = np.multiply.reduce(x, axis=dim, keepdims=True)
    except FloatingPointError:
        return None
    return total / x if np.isfinite(total).all() and total.all() else None
