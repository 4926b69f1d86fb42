"""Kernels of the area joining: arrays out of several."""

from pullback.arrays.numpy.joining.concatenation import cat, combination_places, stack
