"""Kernels of the area reductions: sums, extrema, running sums, order statistics, counts."""

from pullback.arrays.numpy.reductions.accumulations import (
    cummax, cummin, cumprod, cumsum, cumsum_backward, linear_recurrence, logcumsumexp,
)
from pullback.arrays.numpy.reductions.counting import (
    bin_edges, bincount, hash_tensor, histc, histogram_boxes, histogram_counts,
)
from pullback.arrays.numpy.reductions.order_statistics import (
    kthvalue, median, median_dim, mode, nanmedian, nanmedian_dim,
)
from pullback.arrays.numpy.reductions.sums_and_extrema import (
    all, amax, amin, aminmax, any, argmax, argmin, count_nonzero, logsumexp, logsumexp_slope, max, max_dim, mean, min,
    min_dim, nansum, prod, std, std_mean, sum, value_selecting_reduction_backward, var, var_mean,
)
