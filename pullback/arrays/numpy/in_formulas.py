"""Kernels that backward formulas call instead of the forward ones, because there something quicker is right."""

import math

import numpy as np

from pullback.arrays.numpy import linalg, reductions
from pullback.arrays.numpy.shape import expand
from pullback.arrays.numpy.unit_vectors import MOST, ones_of

_SMALL = 2048


def filled(x, size, implicit=False):
    """`expand`, but whole where one number fills a small array: what follows runs faster than on strides of 0."""
    if x.size == 1 and math.prod(size) < _SMALL and -1 not in size:
        out = np.empty(size, x.dtype)
        out.fill(x.item() if x.ndim else x)
        return out
    return expand(np.asarray(x), size, implicit)


def summed(x, dim=None, keepdim=False, dtype=None):
    """`sum`; down the columns of a matrix, the gradient of a bias, as a product with ones: a third of the time."""
    if dim == 0 and dtype is None and not keepdim and type(x) is np.ndarray and x.ndim == 2 and x.dtype.kind == "f":
        rows = x.shape[0]
        if rows <= MOST and x.dtype.itemsize > 2 and x.flags.c_contiguous:
            return np.dot(ones_of(rows, x.dtype), x)
    return reductions.sum(x, dim, keepdim, dtype)


def product(x, y):
    """`matmul`; of two matrices by `dot`, which is quicker to start and just as quick to run."""
    if x.ndim == 2 == y.ndim and type(x) is np.ndarray and x.dtype.char in "fd" and x.dtype == y.dtype:
        return x.dot(y)
    return linalg.matmul(x, y)


IN_FORMULAS = {"expand": filled, "matmul": product, "sum": summed}
