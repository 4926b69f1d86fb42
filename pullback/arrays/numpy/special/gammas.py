"""The gamma function's logarithm, its derivatives, its incomplete integrals, and Hurwitz's zeta function."""

import math

import numpy as np
import scipy.special as scipy_special

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.dtypes import in_common
from pullback.arrays.numpy.special.reals import in_double, of_reals
from pullback.arrays.numpy.special.saddle_points import LARGE, excess, stirling_rest

digamma = of_reals(scipy_special.psi)
igamma = of_reals(scipy_special.gammainc)
igammac = of_reals(scipy_special.gammaincc)
gammaincinv = of_reals(scipy_special.gammaincinv)
gammainccinv = of_reals(scipy_special.gammainccinv)
zeta = of_reals(scipy_special.zeta)


@of_reals
def lgamma(x):
    """log(|Gamma(x)|): SciPy's, but for subnormal numbers, where that is infinite, and for -inf, where it is -inf."""
    value = scipy_special.gammaln(x)
    infinite = np.isinf(value)
    if infinite.any():
        with np.errstate(divide="ignore"):
            value = np.where(infinite, np.where(np.abs(x) < 1, -np.log(np.abs(x)), math.inf), value)
    return value.astype(np.result_type(x), copy=False)


_TERMS = 9  # after which ten terms of the expansion have full precision
_BERNOULLI = scipy_special.bernoulli(20)[2::2]


def polygamma(n, self):
    """The n-th derivative of digamma: (-1)**(n + 1) n! zeta(n + 1, self)."""
    if n < 0:
        raise ValueError(f"n must be at least 0, but it is {n}.")
    if n == 0:
        return digamma(self)
    if n == 1:
        return trigamma(self)
    factorial = math.factorial(n) if n <= 170 else math.inf
    return zeta(float(n + 1), self) * float((-1) ** (n + 1) * factorial)


@loops("coefficients")
@of_reals
def trigamma(x):
    """zeta(2, x); for positive x, ten times as fast, the first terms of its sum and Euler's expansion of the others."""
    x, dtype = in_double(x)
    positive = x > 0
    y = np.where(positive, x, 1)
    total = np.zeros_like(y)
    with np.errstate(over="ignore", divide="ignore"):  # 1 / inf = 0 and 1 / 0 = inf are meant
        for _ in range(_TERMS):
            total += 1 / (y * y)
            y += 1
    reciprocal = 1 / y
    square, series = reciprocal * reciprocal, np.zeros_like(y)
    for bernoulli in reversed(_BERNOULLI):
        series += bernoulli
        series *= square
    total += reciprocal * (series + 1 + reciprocal / 2)
    if not positive.all():
        total = np.where(positive, total, scipy_special.zeta(2.0, x))
    return total.astype(dtype, copy=False)


def digamma_derivative(self, n):
    """polygamma with the tensor first, as its method has it."""
    return polygamma(n, self)


def gamma_density(a, x):
    """x**(a - 1) exp(-x) / Gamma(a), the density of the gamma distribution and the slope of igamma.

    For large a by the saddle point; far below a moderate a the power itself is exact.
    """
    (a, first), (x, second) = map(in_double, in_common(a, x))
    a, x = np.broadcast_arrays(a, x)
    small = (a < LARGE) | ((a < 100) & (x < a / 2))
    with np.errstate(all="ignore"):
        by_powers = _by_powers(np.where(small, a, 1), x)
        by_saddle = _by_saddle_point(np.where(small, LARGE, a), x)
    density = np.where(small, by_powers, by_saddle)
    density = np.where(x < 0, math.nan, np.where(np.isposinf(x) | np.isposinf(a), 0, density))
    return density.astype(np.result_type(first, second), copy=False)


def _by_powers(a, x):
    x = np.minimum(x, 2000.0)  # where it is 0, before the power overflows
    half = np.exp(-x / 2)
    scale = scipy_special.rgamma(a)
    return np.where(scale == 0, 0, x ** (a - 1) * half * scale * half)


def _by_saddle_point(a, x):
    density = np.exp(-stirling_rest(a) - a * excess(x, a)) * np.sqrt(a / (2 * math.pi))
    return np.where(x == 0, 0, density / x)
