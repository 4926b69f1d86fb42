"""Faster kernels of the area nn, for backward formulas: see `arrays.numpy.load_formula_kernels`."""

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.nn.normalisations import layer_norm_backward
from pullback.arrays.numpy.pointwise.exponentials import sigmoid


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


IN_FORMULAS = {"_layer_norm_backward": layer_norm_backward, "_softplus_slope": softplus_slope}
