"""The distribution function of the normal distribution, in blocks that stay in cache for float32."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast
from pullback.arrays.numpy.fast.blocks import MANY, by_blocks, constants, fill_polynomial
from pullback.arrays.numpy.scipy_functions import in_half, scipy_special

# ndtr(-a) = t exp(q(t) - a**2 / 2) with t = 1 / (1 + 0.27 a): q is a Chebyshev fit of degree 8 over 0 <= a <= 14.5,
# where float32 ends, with an error of 6.5e-8. So the lower tail keeps its digits, unlike in (1 + erf) / 2.
_Q = constants(
    -0.24089353, 1.16528084, -2.11684783, 1.76762764, -0.915362286, 0.505604311, 0.362826528, 1.00723601, -2.22861889,
)  # fmt: skip
_SLOPE, _MINUS_HALF, _ONE, _MINUS_END, _END, _ZERO, _INF = constants(0.27, -0.5, 1, -15, 15, 0, math.inf)


def _cdf_plainly(x):
    return in_half(scipy_special().ndtr(x), x)


@fast(plain=_cdf_plainly, pays_from=MANY, exact=Exactness(64))
def normal_cdf(x):
    """P(N < x) for the standard normal N, in a new array; for many float32 numbers three times as fast as SciPy's."""
    if x.dtype != np.float32 or x.size < MANY:
        return _cdf_plainly(x)
    return by_blocks(_fill_cdf, 3, x)


def _times_cdf_plainly(x):
    out = np.asarray(_cdf_plainly(x))
    out *= np.clip(x, -40, math.inf)  # where the distribution function is 0: no infinity times zero
    return out


@fast(plain=_times_cdf_plainly, pays_from=MANY, exact=Exactness(64))
def times_normal_cdf(x):
    """x P(N < x), 0 at -inf, in a new array: as max(x, 0) - |x| P(N < -|x|) for many float32 numbers."""
    if x.dtype == np.float32 and x.size >= MANY:
        return by_blocks(_fill_times_cdf, 3, x)
    return _times_cdf_plainly(x)


def _fill_cdf(x, out, size, t, power):
    """The lower tail, then reflected where x is positive."""
    _fill_tail(x, out, size, t, power)
    np.subtract(x > 0, out, out=out)  # |1 - p| is 1 - p, |0 - p| is p: cheaper than a choice
    np.abs(out, out=out)


def _fill_times_cdf(x, out, size, t, power):
    _fill_tail(x, out, size, t, power)
    out *= size
    x.clip(_ZERO, _INF, out=t)
    np.subtract(t, out, out=out)


def _fill_tail(x, out, size, t, power):
    """P(N < -|x|) by the fit, and |x| in `size`, as far as it matters."""
    x.clip(_MINUS_END, _END, out=size)  # the result is 0 from there on, and infinity stays out
    np.abs(size, out=size)  # np.minimum(np.abs(x), 15) takes three times as long
    np.multiply(size, _SLOPE, out=t)
    t += _ONE
    np.true_divide(_ONE, t, out=t)  # half the time of np.reciprocal
    np.multiply(size, size, out=power)
    power *= _MINUS_HALF
    fill_polynomial(t, _Q, out)
    out += power
    np.exp(out, out=out)
    out *= t
