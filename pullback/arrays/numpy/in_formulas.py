"""Kernels that backward formulas call instead of the forward ones, because there something quicker is right."""

import math

import numpy as np

from pullback.arrays.numpy.shape import expand
from pullback.arrays.numpy.sincos import SINCOS

_SMALL = 2048


def filled(x, size, implicit=False):
    """`expand`, but whole where one number fills a small array: what follows runs faster than on strides of 0."""
    if x.size == 1 and math.prod(size) < _SMALL and -1 not in size:
        out = np.empty(size, x.dtype)
        out.fill(x.item() if x.ndim else x)
        return out
    return expand(np.asarray(x), size, implicit)


IN_FORMULAS = {"expand": filled, **SINCOS}
