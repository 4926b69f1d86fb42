"""Sums of large contiguous arrays as products with ones: BLAS adds a float32 row in a third of NumPy's time.

A dot product adds in several lanes. Rows are short enough that the error stays within 2 units in the last place of sums
of positive numbers, as that of NumPy's pairwise sums does; longer arrays are cut into rows whose sums NumPy adds.
"""

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.fast.kept_vectors import ones_of

LARGE = 1 << 14  # elements
_WIDTH = 128
_LONGEST = {"f": 1024, "d": 128}  # elements of a row that one dot product adds


def _sum_plainly(x, axis, keepdims=False):
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


@fast(plain=_sum_plainly, pays_from=LARGE, exact=Exactness(2, "terms"))
def contiguous_sum(x, axis, keepdims=False):
    """The sum over everything (None) or over the last dimension; None where another way is as good, or needed."""
    if type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.flags.c_contiguous:
        return None
    if axis is None:
        total = _flat_sum(x.reshape(-1))
        return total.reshape((1,) * x.ndim) if keepdims else total
    if type(axis) is tuple and len(axis) == 1:
        axis = axis[0]
    if type(axis) is not int or axis not in (-1, x.ndim - 1):
        return None
    length = x.shape[-1]
    if not 1 < length <= _LONGEST[x.dtype.char]:
        return None
    out = np.empty(x.shape[:-1] + ((1,) if keepdims else ()), x.dtype)
    np.dot(x.reshape(-1, length), ones_of(length, x.dtype), out=out.reshape(-1))
    return out if out.ndim else out[()]


def _flat_sum(x):
    whole = x.size - x.size % _WIDTH
    total = np.add.reduce(np.dot(x[:whole].reshape(-1, _WIDTH), ones_of(_WIDTH, x.dtype)))
    return total + np.add.reduce(x[whole:])
