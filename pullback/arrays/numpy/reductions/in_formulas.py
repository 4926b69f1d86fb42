"""Faster kernels of the area reductions, for backward formulas: see `arrays.numpy.load_formula_kernels`."""

import numpy as np

from pullback.arrays.numpy import reductions
from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.fast.kept_vectors import MOST
from pullback.arrays.numpy.fast.products import products_of_others
from pullback.arrays.numpy.fast.products_with_ones import column_sums


@fast(plain=reductions.sum, pays_from=0, exact=Exactness(8, "terms"))
def summed(x, dim=None, keepdim=False, dtype=None):
    """`sum`; down the columns of a matrix, the gradient of a bias, as a product with ones: a third of the time."""
    if dim == 0 and dtype is None and not keepdim and type(x) is np.ndarray and x.ndim == 2 and x.dtype.char in "fd":
        rows = x.shape[0]
        if rows <= MOST and x.flags.c_contiguous:
            return column_sums(x)
    return reductions.sum(x, dim, keepdim, dtype)


IN_FORMULAS = {"_products_of_others": products_of_others, "sum": summed}
