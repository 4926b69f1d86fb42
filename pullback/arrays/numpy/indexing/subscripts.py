"""Kernels that read and write by index with square brackets, by position in the flattened array, and on diagonals.

Every writing operator has two kernels: `name_` writes into its first argument and returns it; `name` works on a copy.
Indices follow NumPy: negative ones count from the end everywhere.
"""

import numpy as np
from numpy import ndarray

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.fast.flat_indices import add_rows, places_of
from pullback.arrays.numpy.overlap import refuse_overlap
from pullback.arrays.numpy.shape.slices import diagonal

# Below this many elements numpy.add.at on the index itself is faster than working out flat positions.
FEW = 64
ALL = slice(None)
_REAL = frozenset([float, int, bool])


# -- indexing with square brackets -----------------------------------------------------------------------------


def slice_view(self, index):
    """self[index] for a basic index (integers, slices, Ellipsis, None): always a view."""
    if type(index) is int:
        return self[index, ...]
    out = self[index]
    if type(out) is not ndarray:  # a full set of integers gives a copy of the number; the ellipsis keeps a view
        out = self[(*index, ...)] if isinstance(index, tuple) else self[index, ...]
    return out


def slice_backward(grad, shape, index):
    """Zeros of the given shape with grad at a basic index."""
    out = np.zeros(shape, grad.dtype)
    out[index] = grad
    return out


def advanced_index(self, index):
    """self[index] for an index with arrays, lists or booleans in it: a copy, C-contiguous as in PyTorch.

    NumPy lays it out by the indexed dimensions.
    """
    if type(index) is tuple and len(index) > 1 and _at_last(index) and self.flags.c_contiguous:
        return np.take(self, index[-1], len(index) - 1)
    out = self[index]
    return out if out.flags.c_contiguous or not in_c_order_itself(self) else np.ascontiguousarray(out)


def _at_last(index):
    """True if an index is an array of integers behind whole dimensions, for which numpy.take gives C order."""
    last = index[-1]
    return (
        type(last) is np.ndarray and last.dtype.kind == "i" and all(type(i) is slice and i == ALL for i in index[:-1])
    )


def in_c_order_itself(self):
    """True if an array's memory runs in C order, with or without gaps; of another the results keep their own order."""
    strides = [stride for stride, n in zip(self.strides, self.shape, strict=True) if n > 1]
    return all(stride >= after for stride, after in zip(strides, [*strides[1:], 0], strict=True))


def index_accumulate(grad, shape, index):
    """Zeros of the given shape, with grad added at an index; a position that occurs twice receives both."""
    out = np.zeros(shape, grad.dtype)
    add_at(out, index, grad)
    return out


def add_at(out, index, values):
    """out[index] += values, counting every occurrence of a position; values broadcast."""
    items = index if isinstance(index, tuple) else (index,)
    arrays = [i for i in items if not isinstance(i, (slice, int, np.integer)) and i is not None and i is not Ellipsis]
    if len(arrays) == 1 and np.asarray(arrays[0]).dtype.kind == "b":
        out[index] += values  # a mask names no position twice
    elif values.size >= FEW and _is_rows(items) and isinstance(values, np.ndarray) and add_rows(out, items[0], values):
        return
    else:
        reduce_at(np.add, out, index, values)


def reduce_at(ufunc, out, index, values):
    """ufunc.at(out, index, values); values broadcast.

    NumPy has a fast loop for one flat int64 index into one dimension, 5 to 15 times as fast as others: many values go
    there.
    """
    if values.size < FEW or not out.flags.c_contiguous:
        ufunc.at(out, index, values)
        return
    items = index if isinstance(index, tuple) else (index,)
    places = places_of(out, items)
    if places is None:
        places = flat_positions(out.shape, index)
    if values.shape != places.shape:
        values = np.broadcast_to(values, places.shape)
    ufunc.at(out.reshape(-1), places.ravel(), values.ravel())


def _is_rows(items):
    """True if the items of an index are a vector, followed by nothing but an ellipsis: whole slices of dimension 0."""
    return (
        type(items[0]) is np.ndarray
        and items[0].ndim == 1
        and (len(items) == 1 or (len(items) == 2 and items[1] is Ellipsis))
    )


@loops("arguments")
def flat_positions(shape, index):
    """For every element that `index` picks from an array of the given shape, its position in C order."""
    places, stride = 0, 1
    for dim in range(len(shape) - 1, -1, -1):
        along = np.arange(shape[dim]) * stride
        along = along.reshape([-1 if d == dim else 1 for d in range(len(shape))])
        places = places + np.broadcast_to(along, shape)[index]
        stride *= shape[dim]
    return np.asarray(places)


def write_at(out, index, value):
    """out[index] = value; at a position that index names twice, the last value in C order stays."""
    if isinstance(value, np.ndarray) and not (out.base is value.base is None) and np.may_share_memory(out, value):
        _check_overlap(out, index, value)
    out[in_c_order(index)] = np.asarray(value, order="C") if isinstance(value, np.ndarray) else value


def _check_overlap(out, index, value):
    """Refuse a value in the memory of out where NumPy copies none: for a mask, and in steps of another length."""
    items = index if type(index) is tuple else (index,)
    if not any(type(item) is np.ndarray or isinstance(item, list) for item in items):
        written = out[index]
        if written.ndim != 1 or not value.ndim or written.strides[0] == value.strides[-1]:
            return
    elif len(items) > 1:
        return
    refuse_overlap("x[i] = y", lambda x, y: x.__setitem__(index, y), out, value)


def in_c_order(index):
    """The index with its arrays in C order: NumPy walks through others in the order of their memory."""
    if isinstance(index, tuple):
        return tuple([in_c_order(item) for item in index])
    return np.asarray(index, order="C") if type(index) is np.ndarray else index


def setitem_(self, index, value):
    """self[index] = value, in place."""
    if type(index) is int and type(value) in _REAL:  # a loop over elements, and its backward
        self[index] = value
        return self
    check_fits(self, value, "setitem")
    if isinstance(value, np.ndarray) and value.ndim and value.shape[0] == 1:
        # Without its first dimensions of size 1: NumPy refuses them at a single place, and where a mask is.
        first = next((d for d, n in enumerate(value.shape) if n != 1), value.ndim)
        value = value.reshape(value.shape[first:])
    write_at(self, index, value)
    return self


def setitem(self, index, value):
    """A copy of self with value at index."""
    return setitem_(np.array(self), index, value)


def check_fits(self, value, name):
    """Refuses complex values for a real array, which NumPy would cut down to their real part."""
    if np.iscomplexobj(value) and not np.iscomplexobj(self):
        raise RuntimeError(
            f"{name}: a complex value cannot be written into an array of dtype {self.dtype}; take its .real"
        )


def check_integers(index, name):
    """Refuses index arrays of another kind than integers."""
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: index must hold integers, got {index.dtype}")


def index_put_(self, index, values, accumulate):
    """Writes values at (or adds them to) an index."""
    check_fits(self, values, "index_put")
    if accumulate:
        add_at(self, index, np.asarray(values, self.dtype))
    else:
        write_at(self, index, values)
    return self


def index_put(self, index, values, accumulate):
    """index_put_ on a copy."""
    return index_put_(np.array(self), index, values, accumulate)


# -- the flattened array -----------------------------------------------------------------------------------------


def take(self, index):
    """The elements of the flattened self at the positions `index`, in index's shape."""
    check_integers(index, "take")
    return self.reshape(-1)[index]


def take_backward(grad, shape, index):
    """Zeros of the given shape, with grad added where take took its elements from."""
    out = np.zeros(shape, grad.dtype)
    add_at(out.reshape(-1), (index,), np.asarray(grad))
    return out


def put_(self, index, source, accumulate=False):
    """Writes source at (or adds it to) positions of the flattened self."""
    check_integers(index, "put")
    if source.size != index.size or source.dtype != self.dtype:
        raise RuntimeError(
            f"put: source must hold one element of dtype {self.dtype} for each index, got shapes {source.shape} and "
            f"{index.shape}, dtype {source.dtype}"
        )
    if not accumulate:
        take(self, index)  # raises where a place does not exist; np.put has written to those before it when it does
        np.put(self, index, source)
    elif self.flags.c_contiguous:
        add_at(self.reshape(-1), (index.reshape(-1),), source.reshape(-1))
    else:
        places = np.where(index < 0, index + self.size, index).reshape(-1)
        np.add.at(self, np.unravel_index(places, self.shape), source.reshape(-1))
    return self


def put(self, index, source, accumulate=False):
    """put_ on a copy."""
    return put_(np.array(self, order="C"), index, source, accumulate)


# -- diagonals ---------------------------------------------------------------------------------------------------


def diagonal_scatter(self, src, offset=0, dim1=0, dim2=1):
    """A copy of self with src (an array of the diagonal's shape, or a number) on its diagonals."""
    out = np.array(self)
    target = diagonal(out, offset, dim1, dim2)
    if isinstance(src, np.ndarray) and src.shape != target.shape:
        raise RuntimeError(f"diagonal_scatter: src must have the diagonal's shape {target.shape}, got {src.shape}")
    check_fits(self, src, "diagonal_scatter")
    target[...] = src
    return out


def argwhere(self):
    """Where self is not zero: a matrix with one row a position."""
    return np.argwhere(self)
