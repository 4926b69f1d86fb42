"""Kernels of the area indexing that sort."""

from operator import index as as_int

import numpy as np

from pullback.arrays.numpy.dims import at_dim, wrap_dim
from pullback.arrays.numpy.ordered import refuse_unordered
from pullback.arrays.numpy.scattering import gather

__all__ = ["argsort", "sort", "topk"]


def argsort(self, dim=-1, descending=False, stable=None):
    """The positions along dim that sort self; NaN counts as the largest; equal elements keep their order."""
    refuse_unordered(self)
    dim = wrap_dim(dim, self.ndim, "argsort")
    if self.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(self, dim, kind="stable")
    # Sorting the reversed array and reversing the outcome keeps equal elements in order in the descending sense.
    return self.shape[dim] - 1 - np.flip(np.argsort(np.flip(self, dim), dim, kind="stable"), dim)


def sort(self, dim=-1, descending=False, stable=None):
    """(values, indices) of self sorted along dim."""
    indices = argsort(self, dim, descending)
    return gather(self, dim, indices), indices


def topk(self, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest (or smallest) elements along dim, in order."""
    dim = wrap_dim(dim, self.ndim, "topk")
    size = self.shape[dim] if self.ndim else 1
    k = as_int(k)
    if not 0 <= k <= size:
        raise RuntimeError(f"topk: k must be between 0 and {size}, the size of dimension {dim}; got {k}")
    indices = argsort(self, dim, largest)
    if self.ndim:
        indices = indices[at_dim(slice(k), dim)]
    return gather(self, dim, indices), indices
