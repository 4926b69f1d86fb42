"""Kernels of the area spatial: convolutions, pooling, sampling."""

from pullback.arrays.numpy.spatial.columns import col2im, constant_pad_nd, im2col
from pullback.arrays.numpy.spatial.convolutions import convolution, convolution_input, convolution_weight
from pullback.arrays.numpy.spatial.fractions import fractional_max_indices
from pullback.arrays.numpy.spatial.maxima import place_pooled, put_pooled, take_pooled, windowed_max
from pullback.arrays.numpy.spatial.places import base_grid, grid_places
from pullback.arrays.numpy.spatial.regions import region_maxima, sample_bins, spread_bins
from pullback.arrays.numpy.spatial.resampling import separable_map
from pullback.arrays.numpy.spatial.samples import dot_at, sample_at, spread_at
