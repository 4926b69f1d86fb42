"""Kernels of the area creation: arrays out of nothing."""

from pullback.arrays.numpy.creation.filled import (
    arange, arange_start, empty, empty_like, eye, full, full_like, linspace, logspace, new_empty, new_full,
    new_ones, new_zeros, ones, ones_like, scalar_tensor, tril_indices, triu_indices, zeros, zeros_like,
)
from pullback.arrays.numpy.creation.strided import empty_permuted, empty_strided, new_empty_strided
from pullback.arrays.numpy.creation.windows import (
    bartlett_window, blackman_window, fftfreq, hamming_window, hann_window, kaiser_window, rfftfreq,
    window_bartlett, window_blackman, window_cosine, window_exponential, window_gaussian, window_general_cosine,
    window_general_hamming, window_hamming, window_hann, window_kaiser, window_nuttall,
)
