"""Faster kernels of the area linalg, for backward formulas: see `arrays.numpy.load_formula_kernels`."""

import numpy as np

from pullback.arrays.numpy import linalg
from pullback.arrays.numpy.declarations import Exactness, fast


@fast(plain=linalg.matmul, pays_from=0, exact=Exactness(8, "terms"))
def product(x, y):
    """`matmul`; of two matrices by `dot`, which is quicker to start and just as quick to run."""
    if x.ndim == 2 == y.ndim and type(x) is np.ndarray and x.dtype.char in "fd" and x.dtype == y.dtype:
        return x.dot(y)
    return linalg.matmul(x, y)


IN_FORMULAS = {"matmul": product}
