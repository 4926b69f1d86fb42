"""NumPy kernels of order statistics: the k-th smallest element, the median, the mode, and where they are.

Where elements tie, the one whose position is returned takes the gradient. NaN counts as the largest.
"""

import numpy as np

from pullback.arrays.numpy.indexing.sorting import argsort
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered
from pullback.core.dims import wrap_dim


def kthvalue(self, k, dim=-1, keepdim=False):
    """(k-th smallest elements along dim, where they are); k counts from 1."""
    lanes, dim = lanes_of("kthvalue", self, dim)
    size = lanes.shape[dim]
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): k must be between 1 and {size}, the size of dimension {dim}; got {k}.")
    return picked(self, lanes, at_rank(lanes, k - 1, dim), dim, keepdim)


def median(self):
    """The middle element, the lower of two; NaN if there is one."""
    refuse_unordered(self)
    flat = self.reshape(-1)
    if not flat.size:
        return nan_of(self, "median")
    if np.isnan(largest := np.maximum.reduce(flat)):
        return largest
    middle = (flat.size - 1) // 2
    return np.partition(flat, middle)[middle]  # at one place; at two NumPy does not use vectors


def nanmedian(self):
    """The middle one of the elements that are not NaN."""
    flat = self.reshape(-1)
    known = flat[~np.isnan(flat)] if flat.dtype.kind == "f" else flat
    return median(known) if known.size else nan_of(self, "nanmedian")


def nan_of(self, name):
    """The median of an empty input: nan, or an error where the dtype has none."""
    if self.dtype.kind != "f":
        raise RuntimeError(f"{name}(): an empty input has no median in dtype {self.dtype} (shape {self.shape}).")
    return np.array(np.nan, self.dtype)


def median_dim(self, dim, keepdim=False):
    """(medians along dim, where they are); a NaN is the median of its slice."""
    lanes, dim = lanes_of("median", self, dim)
    indices = at_rank(lanes, (lanes.shape[dim] - 1) // 2, dim)
    if lanes.dtype.kind == "f":
        lost = np.isnan(lanes)
        first = np.argmax(lost, dim, keepdims=True)
        indices = np.where(np.take_along_axis(lost, first, dim), first, indices)
    return picked(self, lanes, indices, dim, keepdim)


def nanmedian_dim(self, dim, keepdim=False):
    """(medians along dim of what is not NaN, where they are)."""
    lanes, dim = lanes_of("nanmedian", self, dim)
    known = np.count_nonzero(~np.isnan(lanes), dim, keepdims=True)
    order = np.argsort(lanes, dim)
    return picked(self, lanes, np.take_along_axis(order, np.maximum(known - 1, 0) // 2, dim), dim, keepdim)


def mode(self, dim=-1, keepdim=False):
    """(the most frequent elements along dim, the smallest among equals; where each occurs last)."""
    lanes, dim = lanes_of("mode", self, dim)
    lanes = np.moveaxis(lanes, dim, -1)
    order = argsort(lanes, -1)
    ranked = np.take_along_axis(lanes, order, -1)
    places = np.arange(lanes.shape[-1])
    begins = np.ones(lanes.shape, bool)
    np.not_equal(ranked[..., 1:], ranked[..., :-1], out=begins[..., 1:])
    run = places - np.maximum.accumulate(np.where(begins, places, 0), -1)  # how many equal ones came before
    indices = np.take_along_axis(order, np.argmax(run, -1, keepdims=True), -1)
    return picked(self, np.moveaxis(lanes, -1, dim), np.moveaxis(indices, -1, dim), dim, keepdim)


def lanes_of(name, self, dim):
    """(self with a dimension, if it had none; dim counted from the front), refused where slices are empty."""
    refuse_unordered(self)
    dim = wrap_dim(dim, self.ndim, name)
    lanes = self if self.ndim else self.reshape(1)
    if not lanes.shape[dim]:
        raise IndexError(f"{name}(): dimension {dim} of shape {self.shape} is empty; nothing can be chosen from it.")
    return lanes, dim


def at_rank(lanes, rank, dim):
    """The positions, as slices of size 1, of the elements that would be at `rank` if dim were sorted."""
    return np.take(np.argpartition(lanes, rank, dim), [rank], dim)


def picked(self, lanes, indices, dim, keepdim):
    """(the elements of lanes at the indices, the indices), with or without dim."""
    values = np.take_along_axis(lanes, indices, dim)
    if not self.ndim or not keepdim:
        values, indices = np.squeeze(values, dim), np.squeeze(indices, dim)
    return values, indices
