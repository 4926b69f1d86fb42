"""The error function's relatives, the normal distribution, entropies."""

import math

import numpy as np
import scipy.special as scipy_special

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.fast.normal_distribution import normal_cdf
from pullback.arrays.numpy.special.reals import in_double, of_reals

entr = of_reals(scipy_special.entr)
erfcx = of_reals(scipy_special.erfcx)
erfinv = of_reals(scipy_special.erfinv)
erfcinv = of_reals(scipy_special.erfcinv)
log_ndtr = of_reals(scipy_special.log_ndtr)
ndtri = of_reals(scipy_special.ndtri)
xlog1py = of_reals(scipy_special.xlog1py)

_FAR = 2.0
_STEPS = 50  # of the continued fraction: full precision from _FAR on


@of_reals
def ndtr(self):
    """P(N < self) for the standard normal N."""
    return normal_cdf(self) if isinstance(self, np.ndarray) else scipy_special.ndtr(self)


def inverse_mills(self):
    """The density of the standard normal at x over its distribution function, sqrt(2/pi) / erfcx(-x / sqrt(2))."""
    x, dtype = in_double(self)
    with np.errstate(divide="ignore", over="ignore"):
        return (math.sqrt(2 / math.pi) / scipy_special.erfcx(x * -math.sqrt(0.5))).astype(dtype, copy=False)


def scaled_repeated_erfc(self, order):
    """w_n(x) = exp(x**2) i^n erfc(x), n = order: erfc integrated n times from x to infinity, scaled. w_0 is erfcx.

    w_{n-1} = 2 x w_n + 2 (n + 1) w_{n+1} (DLMF 7.18.7): forward it loses digits as x grows, so there ratios come from
    the continued fraction, that is, the recurrence backward (Gautschi, SIAM Review 9, 1967, 24-82).
    """
    x, dtype = in_double(self)
    far = x > _FAR
    value = np.empty(x.shape)
    value[~far] = _forward(x[~far], order)
    value[far] = _backward(x[far], order)
    return value.astype(dtype, copy=False)


@loops("coefficients")
def _forward(x, order):
    before, value = 2 / math.sqrt(math.pi), scipy_special.erfcx(x)
    with np.errstate(over="ignore"):
        for k in range(1, order + 1):
            before, value = value, (before - 2 * x * value) / (2 * k)
    return value


@loops("coefficients")
def _backward(x, order):
    value = scipy_special.erfcx(x)
    with np.errstate(over="ignore"):
        ratio, twice = np.zeros_like(x), 2 * x
        for k in range(_STEPS + order, 0, -1):
            ratio *= 2 * (k + 1)
            ratio += twice
            np.reciprocal(ratio, out=ratio)
            if k <= order:
                value *= ratio
    return value
