"""The incomplete beta integral, its density and its inverse."""

import math

import numpy as np
import scipy.special as scipy_special

from pullback.arrays.numpy.dtypes import in_common
from pullback.arrays.numpy.special.reals import in_double, of_reals
from pullback.arrays.numpy.special.saddle_points import LARGE, excess, stirling_rest

betainc = of_reals(scipy_special.betainc)
betaincinv = of_reals(scipy_special.betaincinv)


def beta_density(alpha, beta, x):
    """x**(alpha - 1) (1 - x)**(beta - 1) / B(alpha, beta), by the saddle point where both are large."""
    (a, first), (b, second), (x, third) = map(in_double, in_common(alpha, beta, x))
    a, b, x = np.broadcast_arrays(a, b, x)
    small = np.minimum(a, b) < LARGE
    with np.errstate(all="ignore"):
        by_powers = _by_powers(np.where(small, a, 1), np.where(small, b, 1), x)
        by_saddle = _by_saddle_point(np.where(small, LARGE, a), np.where(small, LARGE, b), x)
    density = np.where(small, by_powers, by_saddle)
    density = np.where((x < 0) | (x > 1), math.nan, density)
    return density.astype(np.result_type(first, second, third), copy=False)


def _by_powers(a, b, x):
    scale = _over_beta(a, b)
    return np.where(scale == 0, 0, x ** (a - 1) * np.exp(scipy_special.xlog1py(b - 1, -x)) * scale)


def _over_beta(a, b):
    """1 / B(a, b); where one is large and the other small, by Stirling's series: SciPy's loses four digits there."""
    s, large = np.minimum(a, b), np.maximum(a, b)
    x = np.maximum(large, LARGE)
    growth = (x + s - 0.5) * np.log1p(s / x) + s * (np.log(x) - 1) + stirling_rest(x + s) - stirling_rest(x)
    apart = (s > 0) & (large > LARGE)
    return np.where(apart, np.exp(growth) * scipy_special.rgamma(s), 1 / scipy_special.beta(a, b))


def _by_saddle_point(a, b, x):
    n = a + b
    rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b)
    exponent = rest - a * excess(n * x, a) - b * excess(n * (1 - x), b)
    density = np.exp(exponent) * np.sqrt(a * b / n / (2 * math.pi)) / x / (1 - x)
    return np.where((x == 0) | (x == 1), 0, density)
