"""Large gathers and scattered sums, by positions in the flattened array.

NumPy walks through an index of several arrays with 2.5 ns an element and adds at one with 7, but takes from and adds to
one dimension in 0.5 to 0.7. Whole rows are added as a product with a sparse matrix of ones, 30 times as fast as
`np.add.at`. Every function here answers None, or False, where it does not apply: for small arrays, other memory
layouts, and indices that are negative or out of range, which the caller's plain way counts from the end or refuses.
"""

import functools

import numpy as np

_MANY = 4096  # elements: below, the plain way is as fast
_MANY_IN_ROWS = 1 << 16  # elements: below, importing scipy.sparse does not pay
_INT64 = np.dtype(np.int64)


@functools.cache
def _csr_array():
    """scipy.sparse.csr_array, imported when first needed."""
    from scipy.sparse import csr_array

    return csr_array


def _all_below(index, count):
    """Whether all of index, int64, lies in range(count): seen as unsigned, negative numbers are the largest."""
    return np.maximum.reduce(index.view(np.uint64), axis=None) < count


def places_along(array, dim, index):
    """Positions in the flattened `array` of what gather takes along dim (not negative); None where too few, or odd."""
    if index.size < _MANY or index.dtype != _INT64 or index.ndim != array.ndim or not array.flags.c_contiguous:
        return None
    if not _all_below(index, array.shape[dim]):
        return None
    offsets, stride = np.zeros((1,) * index.ndim, np.int64), 1
    for d in range(array.ndim - 1, -1, -1):
        if d == dim:
            along = stride
        else:
            steps = np.arange(0, index.shape[d] * stride, stride)
            offsets = offsets + steps.reshape((-1,) + (1,) * (array.ndim - 1 - d))
        stride *= array.shape[d]
    if along == 1:
        return np.add(index, offsets, order="C")
    places = np.multiply(index, along, order="C")
    places += offsets
    return places


def add_rows(out, index, values):
    """out[index] += values for a vector of row numbers, every occurrence counted; says whether it was done."""
    if (
        values.size < _MANY_IN_ROWS
        or index.dtype != _INT64
        or values.dtype != out.dtype
        or values.dtype.char not in "fdFD"
        or not values.dtype.isnative
        or values.shape != index.shape + out.shape[1:]
        or not values.flags.c_contiguous
        or not _all_below(index, len(out))
    ):
        return False
    order = np.argsort(index, kind="stable")
    rows, starts = np.unique(index[order], return_index=True)
    real = values.real.dtype  # of a complex number both parts are added, since inf times 1 + 0j has a nan
    ones = np.ones(index.size, real)
    adding = _csr_array()((ones, order, np.append(starts, index.size)), shape=(len(rows), index.size))
    sums = adding @ values.reshape(index.size, -1).view(real)
    out[rows] += sums.view(values.dtype).reshape(len(rows), *out.shape[1:])
    return True
