"""Large gathers and scattered sums, by positions in the flattened array.

NumPy walks through an index of several arrays with 2.5 ns an element and adds at one with 7 to 10, but takes from and
adds to one dimension in 0.4 to 2. Whole rows are added as a product with a sparse matrix of ones, 30 to 100 times as
fast as `np.add.at`. Every function here answers None, or False, where it does not apply: for small arrays, other memory
layouts, and indices that are negative or out of range, which the caller's plain way counts from the end or refuses.
"""

import functools

import numpy as np

from pullback.arrays.numpy.declarations import SAME_BITS, Exactness, fast, loops

_MANY = 4096  # elements: below, the plain way is as fast
_MANY_IN_ROWS = 1 << 16  # elements: below, importing scipy.sparse does not pay
_SPARSE = 4  # rows of the target for each one that is added: beyond, most would be added zeros
_INT64 = np.dtype(np.int64)


@functools.cache
def _csc_array():
    """scipy.sparse.csc_array, imported when first needed."""
    from scipy.sparse import csc_array

    return csc_array


def _all_below(index, count):
    """True if all of index, int64, lies in range(count): seen as unsigned, negative numbers are the largest."""
    return np.maximum.reduce(index.view(np.uint64), axis=None) < count


def _positions(array):
    return np.arange(array.size).reshape(array.shape)


def _places_along_plainly(array, dim, index):
    corner = tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))
    return np.take_along_axis(_positions(array)[corner], index, dim)


@fast(plain=_places_along_plainly, pays_from=_MANY, exact=SAME_BITS)
@loops("arguments")
def places_along(array, dim, index):
    """Positions in the flattened `array` of what gather takes along dim (not negative); None where too few, or odd."""
    if index.size < _MANY or index.dtype.kind not in "iu" or index.ndim != array.ndim or not array.flags.c_contiguous:
        return None
    index = index.astype(np.int64, copy=False)
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


def _places_of_plainly(array, index):
    return _positions(array)[index]


@fast(plain=_places_of_plainly, pays_from=0, exact=SAME_BITS)
@loops("arguments")
def places_of(array, index):
    """Positions in the flattened `array` of what a tuple picks: of integer arrays, one a dimension, or `_open_grid`."""
    if not array.flags.c_contiguous:
        return None
    if len(index) != array.ndim or type(index[0]) is slice:
        index = _open_grid(array.shape, index)
    places, stride = None, 1
    for d in range(len(index) - 1, -1, -1):
        at = index[d]
        if type(at) is not np.ndarray or at.dtype.kind not in "iu" or not at.size:
            return None
        at = at.astype(np.int64, copy=False)
        if not _all_below(at, array.shape[d]):
            return None
        along = at if stride == 1 else at * stride
        places = along if places is None else places + along
        stride *= array.shape[d]
    return places


def taken_along(x, index):
    """numpy.take_along_axis(x, index, -1)."""
    places = places_along(x, x.ndim - 1, index)
    return np.take_along_axis(x, index, -1) if places is None else x.reshape(-1).take(places, mode="wrap")


def _open_grid(shape, index):
    """Whole dimensions and one vector of integers, (:, vector, ...), as one array a dimension; () for others."""
    vectors = [d for d, item in enumerate(index) if type(item) is np.ndarray]
    if len(vectors) != 1 or index[vectors[0]].ndim != 1 or len(index) > vectors[0] + 2:
        return ()
    (dim,) = vectors
    if any(item != slice(None) for item in index[:dim]) or (index[dim + 1 :] and index[dim + 1] is not Ellipsis):
        return ()
    along = [index[dim] if d == dim else np.arange(n) for d, n in enumerate(shape)]
    return [at.reshape((-1,) + (1,) * (len(shape) - 1 - d)) for d, at in enumerate(along)]


@fast(plain=np.add.at, pays_from=_MANY_IN_ROWS, exact=Exactness(4, "terms"), writes=True)
def add_rows(out, index, values):
    """out[index] += values for a vector of row numbers, every occurrence counted; says whether it was done."""
    if not _rows_apply(out.shape, out.dtype, index, values):
        return False
    if len(out) > _SPARSE * index.size:
        rows, index = np.unique(index, return_inverse=True)
        out[rows] += _summed(len(rows), index, values)
    else:
        out += _summed(len(out), index, values)
    return True


def _summed_plainly(shape, index, values):
    out = np.zeros(shape, values.dtype)
    np.add.at(out, index, values)
    return out


@fast(plain=_summed_plainly, pays_from=_MANY_IN_ROWS, exact=SAME_BITS)
def summed_rows(shape, index, values):
    """Zeros of the given shape with values added to the rows that index names; None where it does not apply."""
    return _summed(shape[0], index, values) if _rows_apply(shape, values.dtype, index, values) else None


def _rows_apply(shape, dtype, index, values):
    return (
        values.size >= _MANY_IN_ROWS
        and len(shape) > 1
        and index.dtype == _INT64
        and values.dtype == dtype
        and dtype.char in "fdFD"
        and dtype.isnative
        and values.shape == index.shape + tuple(shape[1:])
        and values.flags.c_contiguous
        and _all_below(index, shape[0])
    )


def _summed(count, index, values):
    """`count` rows, each the sum of the values whose index it is, added in their order, as np.add.at adds them."""
    # Column j of the matrix has its one in row index[j].
    real = values.real.dtype  # of a complex number both parts are added, since inf times 1 + 0j has a nan
    ends = np.arange(index.size + 1)
    adding = _csc_array()((np.ones(index.size, real), index, ends), shape=(count, index.size))
    if values.ndim == 2 and real == values.dtype:
        return adding @ values  # no view of it, which an engine would copy
    sums = adding @ values.reshape(index.size, -1).view(real)
    return sums.view(values.dtype).reshape(count, *values.shape[1:])
