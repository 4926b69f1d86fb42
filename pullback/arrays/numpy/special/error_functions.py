"""The error function's relatives, the normal distribution, entropies."""

import math

import numpy as np
import scipy.special as scipy_special

from pullback.arrays.numpy.normal import normal_cdf
from pullback.arrays.numpy.special.reals import in_double, of_reals

__all__ = ["entr", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri", "scaled_repeated_erfc", "xlog1py"]

entr = of_reals(scipy_special.entr)
erfcx = of_reals(scipy_special.erfcx)
erfinv = of_reals(scipy_special.erfinv)
log_ndtr = of_reals(scipy_special.log_ndtr)
ndtri = of_reals(scipy_special.ndtri)
xlog1py = of_reals(scipy_special.xlog1py)

_FAR = 2.0
_STEPS = 60  # of the continued fraction: full precision from _FAR on


@of_reals
def ndtr(self):
    """P(N < self) for the standard normal N."""
    return normal_cdf(self) if isinstance(self, np.ndarray) else scipy_special.ndtr(self)


def scaled_repeated_erfc(self, order):
    """w_n(x) = exp(x**2) i^n erfc(x), n = order: erfc integrated n times from x to infinity, scaled. w_0 is erfcx.

    w_{n-1} = 2 x w_n + 2 (n + 1) w_{n+1} (DLMF 7.18.7): forward it loses digits as x grows, so there ratios come from
    the continued fraction, that is, the recurrence backward (Gautschi, SIAM Review 9, 1967, 24-82).
    """
    x, dtype = in_double(self)
    near = x < _FAR
    before, value = 2 / math.sqrt(math.pi), scipy_special.erfcx(x)
    left = np.where(near, x, 0)
    with np.errstate(over="ignore"):
        forward = np.where(near, value, 0)
        for k in range(1, order + 1):
            before, forward = forward, (before - 2 * left * forward) / (2 * k)
        if near.all():
            return forward.astype(dtype, copy=False)
        right = 2 * np.where(near, _FAR, x)
        ratio = 0.0
        for k in range(_STEPS + order, 0, -1):
            ratio = 1 / (right + 2 * (k + 1) * ratio)
            value = value * ratio if k <= order else value
    return np.where(near, forward, value).astype(dtype, copy=False)
