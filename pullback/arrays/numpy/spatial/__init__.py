"""Kernels of the area spatial."""
