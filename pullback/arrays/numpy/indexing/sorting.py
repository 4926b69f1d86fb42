"""Kernels of the area indexing that sort. Equal elements keep their order, and NaN counts as the largest."""

from operator import index as as_int

import numpy as np

from pullback.arrays.numpy.dims import at_dim
from pullback.arrays.numpy.fast.sorting import order, top_order
from pullback.arrays.numpy.indexing.scattering import gather
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered
from pullback.core.dims import wrap_dim


def argsort(self, dim=-1, descending=False, stable=None):
    """The positions along dim that sort self; NaN counts as the largest; equal elements keep their order."""
    refuse_unordered(self)
    dim = wrap_dim(dim, self.ndim, "argsort")
    return order(self, dim, descending) if self.ndim else np.zeros((), np.int64)


def numpy_argsort(self, dim, kind):
    """The same in the order of NumPy's own sort, whose default moves equal elements."""
    return np.argsort(self, dim, kind)


def numpy_argpartition(self, dim, kth):
    """The positions in the order of NumPy's argpartition, which leaves open how the others lie."""
    return np.argpartition(self, kth, dim)


def order_of_partition(self, dim, kth):
    """The positions in the order of NumPy's partition, which moves numbers in another way than argpartition."""
    ranks = np.argsort(np.argsort(np.partition(self, kth, dim), dim, "stable"), dim)
    return np.take_along_axis(np.argsort(self, dim, "stable"), ranks, dim)


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
    if (indices := top_order(self, k, dim, largest)) is None:
        indices = argsort(self, dim, largest)
        if self.ndim:
            indices = indices[at_dim(slice(k), dim)]
    return gather(self, dim, indices), indices
