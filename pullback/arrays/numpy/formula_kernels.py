"""Faster kernels for backward formulas: they replace forward kernels or composites where less generality is needed.

On Tensors, under create_graph, the operators of the same names run, which are differentiable.
"""

import math

import numpy as np

from pullback.arrays.numpy import linalg, reductions
from pullback.arrays.numpy.declarations import SAME_BITS, Exactness, fast
from pullback.arrays.numpy.fast.kept_vectors import MOST, ones_of
from pullback.arrays.numpy.fast.products import products_of_others
from pullback.arrays.numpy.indexing.scattering import scatter_
from pullback.arrays.numpy.pointwise.exponentials import sigmoid
from pullback.arrays.numpy.shape.arranging import expand

_SMALL = 2048


@fast(plain=expand, pays_from=0, exact=SAME_BITS)
def filled(x, size, implicit=False):
    """`expand`, but whole where one number fills a small array: what follows runs faster than on strides of 0."""
    if x.size == 1 and math.prod(size) < _SMALL and -1 not in size:
        out = np.empty(size, x.dtype)
        out.fill(x.item() if x.ndim else x)
        return out
    return expand(np.asarray(x), size, implicit)


@fast(plain=reductions.sum, pays_from=0, exact=Exactness(8, "terms"))
def summed(x, dim=None, keepdim=False, dtype=None):
    """`sum`; down the columns of a matrix, the gradient of a bias, as a product with ones: a third of the time."""
    if dim == 0 and dtype is None and not keepdim and type(x) is np.ndarray and x.ndim == 2 and x.dtype.char in "fd":
        rows = x.shape[0]
        if rows <= MOST and x.flags.c_contiguous:
            return np.dot(ones_of(rows, x.dtype), x)
    return reductions.sum(x, dim, keepdim, dtype)


@fast(plain=linalg.matmul, pays_from=0, exact=Exactness(8, "terms"))
def product(x, y):
    """`matmul`; of two matrices by `dot`, which is quicker to start and just as quick to run."""
    if x.ndim == 2 == y.ndim and type(x) is np.ndarray and x.dtype.char in "fd" and x.dtype == y.dtype:
        return x.dot(y)
    return linalg.matmul(x, y)


def _softplus_slope_plainly(x, beta, threshold):
    scaled = x * beta
    return np.where(scaled > threshold, scaled.dtype.type(1), sigmoid(scaled))


@fast(plain=_softplus_slope_plainly, pays_from=0, exact=Exactness(4))
def softplus_slope(x, beta, threshold):
    """sigmoid(beta x), and 1 above the threshold: chosen only where the sigmoid is not 1 there by itself."""
    scaled = x if beta == 1 else x * beta
    out = sigmoid(scaled)
    is_one = threshold >= 20 and scaled.dtype.itemsize <= 4
    if is_one or not scaled.size or np.maximum.reduce(scaled, axis=None) <= threshold:
        return out
    return np.where(scaled > threshold, out.dtype.type(1), out)


def placed_along(grad, shape, dim, index):
    """Zeros of the given shape, with grad at an index along dim that names no position twice."""
    return scatter_(np.zeros(shape, grad.dtype), dim, index, np.asarray(grad))


IN_FORMULAS = {
    "_placed_along": placed_along,
    "_products_of_others": products_of_others,
    "_softplus_slope": softplus_slope,
    "expand": filled,
    "matmul": product,
    "sum": summed,
}
# The same for areas that are loaded late: by area and name the module that has the function, and its name there.
LATE_IN_FORMULAS = {
    "nn": {"_layer_norm_backward": ("pullback.arrays.numpy.nn.normalisations", "layer_norm_backward")},
}
