"""Kernels of the area shape: views, slices and rearrangements."""

from pullback.arrays.numpy.shape.arranging import (
    alias, expand, flip, is_contiguous, movedim, numpy_T, permute, repeat, reshape, roll, rot90, squeeze, t,
    transpose, tril, triu, unfold, unfold_backward, unsqueeze, view, view_as_complex, view_as_real,
)
from pullback.arrays.numpy.shape.slices import (
    chunk, diagonal, diagonal_backward, narrow, select, split, split_with_sizes, unbind,
)
from pullback.arrays.numpy.shape.strides import restride, storage_geometry, strided_view
