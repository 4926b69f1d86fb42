"""Kernels of the area special."""
