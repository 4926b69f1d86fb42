"""Kernels of the area fft."""

from pullback.arrays.numpy import kernels_in

KERNELS = kernels_in(__name__, __path__)
globals().update(KERNELS)
