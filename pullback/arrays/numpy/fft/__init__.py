"""Kernels of the area fft."""
