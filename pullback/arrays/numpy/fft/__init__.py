"""Kernels of the area fft: discrete Fourier transforms."""

from pullback.arrays.numpy.fft.transforms import fft_c2c, fft_c2r, fft_r2c, times_inner_points
