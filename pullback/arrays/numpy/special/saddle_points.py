"""Densities by their saddle point: Loader, Fast and accurate computation of binomial probabilities, 2000.

The logarithm of such a density is a difference of numbers like a log(a), which would cost their digits; what is left of
it has the two parts below, and both are small where the density is not.
"""

import numpy as np

from pullback.arrays.numpy.declarations import loops

LARGE = 10.0
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


@loops("coefficients")
def stirling_rest(a):
    """log Gamma(a) - (a - 1/2) log(a) + a - log(2 pi) / 2, to 1e-16 from LARGE on."""
    series = 0.0
    for c in reversed(_STIRLING):
        series = series / (a * a) + c
    return series / a


@loops("coefficients")
def excess(x, a):
    """x / a - 1 - log(x / a), whose terms cancel near x = a; there by the series of the inverse hyperbolic tangent."""
    t = (x - a) / a
    near = np.abs(t) < 0.3
    s = np.where(near, t, 0) / (2 + np.where(near, t, 0))
    series = 0.0
    for k in range(25, 1, -2):
        series = series * (s * s) + 1 / k
    return np.where(near, s * t - 2 * s**3 * series, t - np.log(x / a))
