"""The distribution function of the normal distribution, in blocks that stay in cache for float32."""

import numpy as np

from pullback.arrays.numpy.exponentials import scipy_special

# ndtr(-a) = t exp(q(t) - a**2 / 2) with t = 1 / (1 + 0.27 a): q is a Chebyshev fit of degree 8 over 0 <= a <= 14.5,
# where float32 ends, with an error of 6.5e-8. So the lower tail keeps its digits, unlike in (1 + erf) / 2.
_SLOPE = np.float32(0.27)
_Q = np.array(
    [-0.24089353, 1.16528084, -2.11684783, 1.76762764, -0.915362286, 0.505604311, 0.362826528, 1.00723601, -2.22861889],
    np.float32,
)
_BLOCK = 1 << 15
_MANY = 1 << 13


def normal_cdf(x):
    """P(N < x) for the standard normal N, in a new array; for many float32 numbers three times as fast as SciPy's."""
    if x.dtype != np.float32 or x.size < _MANY:
        return scipy_special().ndtr(x)
    flat, out = x.reshape(-1), np.empty(x.size, np.float32)
    size = min(_BLOCK, x.size)
    scratch = np.empty((2, size), np.float32)
    for start in range(0, x.size, size):
        part = flat[start : start + size]
        _fill_cdf(part, out[start : start + size], *scratch[:, : part.size])
    return out.reshape(x.shape)


def _fill_cdf(x, out, t, power):
    """ndtr(-|x|) by the fit, then reflected where x is positive."""
    np.abs(x, out=power)
    np.minimum(power, np.float32(15), out=power)  # the result is 0 from there on, and infinity stays out
    np.multiply(power, _SLOPE, out=t)
    t += np.float32(1)
    np.reciprocal(t, out=t)
    np.multiply(power, power, out=power)
    power *= np.float32(-0.5)
    np.multiply(t, _Q[0], out=out)
    for coefficient in _Q[1:-1]:
        out += coefficient
        out *= t
    out += _Q[-1]
    out += power
    np.exp(out, out=out)
    out *= t
    np.subtract(x > 0, out, out=out)  # |1 - p| is 1 - p, |0 - p| is p: cheaper than a choice
    np.abs(out, out=out)
