"""NumPy kernels that say where things are: sorted positions, distinct elements, flat indices. No gradients."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered
from pullback.core.dims import wrap_dim


def searchsorted(sorted_sequence, self, right=False, sorter=None, out_int32=False):
    """How many numbers of each sorted row come before the numbers of the same row of self (a vector is every row's)."""
    refuse_unordered(sorted_sequence, self)
    rows = sorted_sequence.shape[:-1]
    if sorted_sequence.ndim == 0 or (sorted_sequence.ndim > 1 and self.shape[:-1] != rows):
        raise RuntimeError(
            "searchsorted(): sorted_sequence must be a vector, or agree with the input in all dimensions but the "
            f"last; got the shapes {sorted_sequence.shape} and {self.shape}."
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape or sorter.dtype.kind not in "iu":
            raise RuntimeError(
                f"searchsorted(): sorter must hold integers and have the shape {sorted_sequence.shape} of "
                f"sorted_sequence, got {sorter.dtype} {sorter.shape}."
            )
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, -1)
    if rows:
        places = bisect_rows(sorted_sequence, self, np.greater if right else np.greater_equal)
    else:
        places = np.searchsorted(sorted_sequence, self, "right" if right else "left")
    return np.asarray(places, np.int32 if out_int32 else np.int64)


@loops("steps")
def bisect_rows(rows, values, passes):
    """Binary search in every row at once: the first place whose number passes the value."""
    size = rows.shape[-1]
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, size)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        beyond = passes(np.take_along_axis(rows, np.minimum(middle, size - 1), -1), values)
        open_ = low < high
        low, high = np.where(open_ & ~beyond, middle + 1, low), np.where(open_ & beyond, middle, high)
    return low


def isin(elements, test_elements, assume_unique=False, invert=False):
    """Which elements are among test_elements."""
    return np.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


# -- distinct elements -----------------------------------------------------------------------------------------------
def slices(self, dim, name):
    """(self as a matrix whose rows are the elements, or the slices along dim, and the shape of what numbers them)."""
    if dim is None:
        return self.reshape(-1, 1), self.shape
    moved = np.moveaxis(self, wrap_dim(dim, self.ndim, name), 0) if self.ndim else self.reshape(1)
    if moved.shape[0] and not moved.size:
        raise RuntimeError(f"{name}(): slices of shape {moved.shape[1:]} have no elements to tell them apart.")
    return moved.reshape(len(moved), math.prod(moved.shape[1:])), moved.shape[:1]


def unique(self, dim=None):
    """(where each distinct element, or slice along dim, is first, in sorted order; which one each is; how often)."""
    rows, shape = slices(self, dim, "unique")
    if rows.shape[1] == 1:  # NaN differs from NaN
        _, first, inverse, counts = np.unique(rows[:, 0], True, True, True, equal_nan=False)
    else:
        _, first, inverse, counts = np.unique(rows, True, True, True, 0)
    return first, inverse.reshape(shape), counts


def consecutive(self, dim=None):
    """(where each run of equal elements, or slices along dim, begins; which run each is in; how long they are)."""
    rows, shape = slices(self, dim, "unique_consecutive")
    begins = np.ones(len(rows), bool)
    np.any(rows[1:] != rows[:-1], 1, out=begins[1:])
    first = np.flatnonzero(begins)
    return first, (np.cumsum(begins) - 1).reshape(shape), np.diff(first, append=len(rows))


# -- positions -------------------------------------------------------------------------------------------------------
@loops("arguments")
def unravel_index(indices, shape):
    """The coordinates of positions in the flattened array; negative positions count from the end."""
    if indices.dtype.kind not in "iu":
        raise TypeError(f"unravel_index(): indices must be integers, got {indices.dtype}.")
    if any(n < 0 for n in shape):
        raise ValueError(f"unravel_index(): the sizes in shape must not be negative, got {tuple(shape)}.")
    rest, found = indices, []
    for n in reversed(shape):
        rest, at = np.divmod(rest, n)
        found.append(at)
    return list(reversed(found))


def nonzero_static(self, size, fill_value=-1):
    """The first `size` rows of argwhere; where there are fewer, rows of fill_value follow."""
    if size < 0:
        raise RuntimeError(f"nonzero_static(): size must not be negative, got {size}.")
    found = np.argwhere(self)[:size]
    out = np.full((size, self.ndim), fill_value, np.int64)
    out[: len(found)] = found
    return out


def repeat_positions(repeats, size):
    """0, 1, ..., size - 1, each as often as repeats says."""
    if repeats.dtype.kind not in "iu" or repeats.ndim > 1:
        raise RuntimeError(
            f"repeat_interleave(): repeats must be a number or a vector of integers, got {repeats.dtype} of shape "
            f"{repeats.shape}."
        )
    if repeats.size not in (1, size):
        raise RuntimeError(f"repeat_interleave(): repeats must have one number for each of {size}, not {repeats.size}.")
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeat_interleave(): repeats must not be negative.")
    return np.repeat(np.arange(size), repeats)
