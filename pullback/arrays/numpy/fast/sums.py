"""Sums of large contiguous arrays as products with ones: BLAS adds a float32 row in a third of NumPy's time.

A dot product adds in several lanes. Rows are short enough that the error stays within 2 units in the last place of sums
of positive numbers, as that of NumPy's pairwise sums does; longer arrays are cut into rows whose sums NumPy adds. Over
other dimensions than the last NumPy adds one slice after the other: there a product is never less exact, and over
slices of ten numbers takes a sixth of the time.
"""

import math

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.fast.kept_vectors import MOST, ones_of
from pullback.arrays.numpy.fast.products_with_ones import ONE_THREAD, row_sums

LARGE = 1 << 14  # elements
_WIDTH = 128
_LONGEST = {"f": 1024, "d": 128}  # elements of a row that one dot product adds
_NARROW = 128  # elements of a slice; sums of wider ones, when there are
_MANY = 1 << 23  # bytes of them, are as quick as memory in NumPy alone


def _sum_plainly(x, axis, keepdims=False):
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


@fast(plain=_sum_plainly, pays_from=LARGE, exact=Exactness(8, "terms"))
def contiguous_sum(x, axis, keepdims=False):
    """The sum over everything (None) or over some dimensions; None where another way is as good, or needed."""
    if type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.flags.c_contiguous or not x.size:
        return None
    if axis is None:
        total = _flat_sum(x.reshape(-1))
        return total.reshape((1,) * x.ndim) if keepdims else total
    axes = _sorted_axes(axis, x.ndim)
    if not axes:
        return None
    # The last dimensions of those that lie side by side; what they leave over the others is a smaller sum.
    stop = axes[-1] + 1
    start = next(i for i in range(stop - 1, -1, -1) if i - 1 not in axes)
    shape, others = x.shape, tuple(i for i in axes if i < start)
    if stop - start == x.ndim:
        return contiguous_sum(x, None, keepdims)
    kept = (1,) * (stop - start) if keepdims or others else ()
    out = np.empty((*shape[:start], *kept, *shape[stop:]), x.dtype)
    fill = _fill_row_sums if stop == x.ndim else _fill_slice_sums
    if not fill(x.reshape(math.prod(shape[:start]), math.prod(shape[start:stop]), -1), out):
        return None
    if not others:
        return out if out.ndim else out[()]
    return np.add.reduce(out if keepdims else out.squeeze(tuple(range(start, stop))), axis=others, keepdims=keepdims)


def _sorted_axes(axis, ndim):
    """Numbers of dimensions, none negative; None where there are none, or NumPy must refuse them."""
    axes = axis if type(axis) is tuple else (axis,)
    if not all(type(i) is int and -ndim <= i < ndim for i in axes):
        return None
    found = sorted({i % ndim for i in axes})
    return found if len(found) == len(axes) else None


def _flat_sum(x):
    whole = x.size - x.size % _WIDTH
    total = np.add.reduce(row_sums(x[:whole].reshape(-1, _WIDTH)))
    return total + np.add.reduce(x[whole:])


def _fill_row_sums(x, out):
    length = x.shape[1]
    if not 1 < length <= _LONGEST[x.dtype.char]:
        return False
    row_sums(x.reshape(-1, length), out.reshape(-1))
    return True


def _fill_slice_sums(x, out):
    """The sums over the middle dimension, of so many slices at a time as one thread adds."""
    count, width = x.shape[1:]
    if count < 2 or not x.size or (width > _NARROW and x.nbytes > _MANY):
        return False
    out = out.reshape(-1, width)
    most = max(2, min(MOST, ONE_THREAD // width))
    if count <= most:
        np.matmul(ones_of(count, x.dtype), x, out=out)
        return True
    whole = count - count % most
    parts = x[:, :whole].reshape(len(x), -1, most, width)
    np.add.reduce(np.matmul(ones_of(most, x.dtype), parts), axis=1, out=out)
    if whole < count:
        out += np.matmul(ones_of(count - whole, x.dtype), x[:, whole:])
    return True
