"""NumPy kernels that count: histograms and hashes. Counts do not change with the elements: no gradients."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered


def bincount(self, weights=None, minlength=0):
    """How often each of the numbers 0, 1, ... occurs, or the sum of the weights where it does."""
    if self.ndim != 1 or self.dtype.kind not in "iu":
        raise RuntimeError(
            f"bincount(): input must be a vector of integers, but it has shape {self.shape} and dtype {self.dtype}."
        )
    if minlength < 0 or (self.size and self.min() < 0):
        raise RuntimeError("bincount(): the numbers in input, and minlength, must not be negative.")
    if weights is None:
        return np.bincount(self, minlength=minlength)
    if weights.shape != self.shape:
        raise RuntimeError(f"bincount(): weights must have the input's shape {self.shape}, got {weights.shape}.")
    # Sums in double precision, whatever the weights are.
    return np.bincount(self, weights, minlength).astype(weights.dtype if weights.dtype.kind == "f" else float)


def histc(self, bins=100, min=0, max=0):
    """Counts in bins of one width from min to max, or between the extremes where both are 0; a dtype as self's."""
    refuse_unordered(self)
    if bins < 1:
        raise RuntimeError(f"histc(): bins must be at least 1, got {bins}.")
    low, high = float(min), float(max)
    if low == high and self.size:
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    limits("histc", low, high)
    return np.histogram(self, bins, (low, high))[0].astype(self.dtype)


def limits(name, low, high):
    """Refuse a range that cannot be divided."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise RuntimeError(f"{name}(): the range must be finite and increasing, but it is [{low}, {high}].")


@loops("arguments")
def bin_edges(self, bins, range=None):
    """For each column of the matrix self, its number of bins as edges that divide the range, or all that occurs."""
    refuse_unordered(self)
    if self.ndim < 2 or len(bins) != self.shape[-1]:
        raise RuntimeError(f"histogramdd(): bins must have one entry for each column of {self.shape}, got {len(bins)}.")
    if range is not None and len(range) != 2 * len(bins):
        raise RuntimeError(f"histogram(): range must be two numbers for each column, got {range}.")
    points = self.reshape(-1, self.shape[-1])
    edges = []
    for i, count in enumerate(bins):
        if range is not None:
            low, high = float(range[2 * i]), float(range[2 * i + 1])
        elif len(points):
            low, high = float(points[:, i].min()), float(points[:, i].max())
        else:
            low, high = 0.0, 1.0
        limits("histogram", low, high)
        if low == high:
            low, high = low - 0.5, high + 0.5
        if count < 1:
            raise RuntimeError(f"histogram(): the number of bins must be at least 1, got {count}.")
        edges.append(np.linspace(low, high, count + 1, dtype=self.dtype))
    return edges


@loops("arguments")
def histogram_boxes(self, edges):
    """The number of the box in which each row of self falls, and that of all boxes for what is in none."""
    refuse_unordered(self, *edges)
    points = self.reshape(-1, self.shape[-1])
    inside, box = np.ones(len(points), bool), np.zeros(len(points), np.int64)
    for i, edge in enumerate(edges):
        if edge.ndim != 1 or edge.size < 2:
            raise RuntimeError(f"histogram(): the edges in bins must be vectors of at least 2, got shape {edge.shape}.")
        column, last = points[:, i], edge.size - 2
        inside &= (column >= edge[0]) & (column <= edge[-1])
        box = box * (last + 1) + np.clip(np.searchsorted(edge, column, "right") - 1, 0, last)
    return np.where(inside, box, math.prod(edge.size - 1 for edge in edges))


def histogram_counts(self, edges):
    """How many rows of self fall in each box; the last bins contain their right end."""
    shape = [edge.size - 1 for edge in edges]
    count = math.prod(shape)
    return np.bincount(histogram_boxes(self, edges), minlength=count + 1)[:count].reshape(shape).astype(self.dtype)


def hash_tensor(self, dim=(), keepdim=False, mode=0):
    """The exclusive or of the bits of all elements along dim, each as a double or a 64-bit integer: mode 0."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor(): mode must be 0, the exclusive or, got {mode}.")
    if self.dtype.kind == "c":
        raise RuntimeError("hash_tensor(): complex numbers are not supported; hash view_as_real(input).")
    if not self.size and dim in ((), None):
        raise RuntimeError(f"hash_tensor(): dim must be given for an input without elements, of shape {self.shape}.")
    wide = np.asarray(self, np.float64 if self.dtype.kind == "f" else np.int64, order="C")
    axis = None if dim in ((), []) else tuple(dim) if isinstance(dim, (tuple, list)) else dim
    if not self.ndim:
        axis = None
    return np.bitwise_xor.reduce(wide.view(np.uint64), axis=axis, keepdims=keepdim)
