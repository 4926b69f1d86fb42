"""Linear maps along single dimensions, whose products resample an array: average pooling, interpolation, borders.

A map has `size_in`, `size_out`, `apply(x, axis)` and its adjoint `adjoint()`; none is ever a dense matrix. Maps are
kept by those who make them, with their adjoints, since one is used in every step of a program.
"""

import functools
import math

import numpy as np
import scipy.sparse

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.spatial.columns import constant_pad_nd

LONG = 8  # from so many numbers a window, NumPy's sum is quicker than adding slices


class Pick:
    """out[i] = x[index[i]]."""

    def __init__(self, index, size_in):
        self.index, self.size_in, self.size_out = index, size_in, len(index)

    def __repr__(self):
        return f"Pick({self.size_in} -> {self.size_out})"

    def apply(self, x, axis):
        """x at the indices."""
        return x.take(self.index, axis)

    def adjoint(self):
        """The map that adds each number where it was taken from."""
        return self._adjoint

    @functools.cached_property
    def _adjoint(self):
        """Sums of windows, where all numbers were taken equally often one after the other."""
        each = self.size_out // max(self.size_in, 1)
        if each > 0 and np.array_equal(self.index, np.repeat(np.arange(self.size_in), each)):
            return WindowSum(each, each, 0, 1, self.size_out, self.size_in)
        ends = np.arange(self.size_out + 1)
        return SparseMap(np.ones(self.size_out), self.index, ends, self.size_in).adjoint()


class SparseMap:
    """out[i] = sum of weights[j] * x[index[j]] for j from ends[i] to ends[i + 1]: the rows of a sparse matrix."""

    def __init__(self, weights, index, ends, size_in):
        self._set(scipy.sparse.csr_array((weights, index, ends), shape=(len(ends) - 1, size_in)))

    def __repr__(self):
        return f"SparseMap({self.size_in} -> {self.size_out})"

    def _set(self, matrix):
        self.matrix, (self.size_out, self.size_in) = matrix, matrix.shape
        self._cast = {}

    def apply(self, x, axis):
        """The product with the columns of x."""
        kind = np.float32 if x.dtype in (np.float32, np.complex64) else np.float64
        matrix = self._cast.get(kind)
        if matrix is None:
            matrix = self._cast[kind] = self.matrix.astype(kind)
        columns = np.moveaxis(x, axis, 0)
        out = matrix @ columns.reshape(self.size_in, math.prod(columns.shape[1:]))
        return np.moveaxis(out.reshape(self.size_out, *columns.shape[1:]), 0, axis)

    def adjoint(self):
        """The map of the transposed matrix."""
        return self._adjoint

    @functools.cached_property
    def _adjoint(self):
        other = object.__new__(SparseMap)
        other._set(self.matrix.T.tocsr())
        return other


class WindowSum:
    """out[i] = scale[i] * sum of x[i * stride - padding + j] for j below kernel; scale may be one number."""

    def __init__(self, kernel, stride, padding, scale, size_in, size_out, is_adjoint=False):
        self.window, self.scale = (kernel, stride, padding), scale
        self.size_in, self.size_out, self.is_adjoint = size_in, size_out, is_adjoint

    def __repr__(self):
        return f"WindowSum({self.size_in} -> {self.size_out}, window={self.window}, adjoint={self.is_adjoint})"

    def adjoint(self):
        """The map that adds every scaled number to the whole window it came from."""
        return WindowSum(*self.window, self.scale, self.size_out, self.size_in, not self.is_adjoint)

    def apply(self, x, axis):
        """Sums of windows, or numbers spread over windows."""
        return self._spread(x, axis) if self.is_adjoint else self._summed(x, axis)

    def _scaled(self, x, axis):
        if isinstance(self.scale, np.ndarray):
            scale = self.scale.astype(x.real.dtype) if x.dtype.kind in "fc" else self.scale
            return x * scale.reshape(-1, *(1,) * (x.ndim - 1 - axis))
        return x if self.scale == 1 else x * self.scale

    def _margins(self, size, count):
        """Return what lies before and behind, for windows that leave the array, or end before its end."""
        kernel, stride, padding = self.window
        return padding, (count - 1) * stride + kernel - padding - size

    @loops("window")
    def _summed(self, x, axis):
        kernel, stride, _ = self.window
        margins = self._margins(self.size_in, self.size_out)
        x = constant_pad_nd(x, [0, 0] * (x.ndim - 1 - axis) + list(margins)) if any(margins) else x
        if stride == kernel and kernel >= LONG:
            apart = x.reshape(*x.shape[:axis], self.size_out, kernel, *x.shape[axis + 1 :])
            return self._scaled(apart.sum(axis + 1), axis)
        before, reach = (slice(None),) * axis, (self.size_out - 1) * stride + 1
        out = x[(*before, slice(0, reach, stride))]
        for i in range(1, kernel):
            part = x[(*before, slice(i, i + reach, stride))]
            out = out + part if i == 1 else np.add(out, part, out=out)
        return self._scaled(out, axis)

    @loops("window")
    def _spread(self, x, axis):
        kernel, stride, padding = self.window
        x = self._scaled(x, axis)
        count, before = self.size_in, (slice(None),) * axis
        length = max((count - 1) * stride + kernel, padding + self.size_out)
        out = np.zeros((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
        for i in range(kernel):
            out[(*before, slice(i, i + (count - 1) * stride + 1, stride))] += x
        return out[(*before, slice(padding, padding + self.size_out))]
