"""The gamma function's logarithm, its derivatives, its incomplete integrals, and Hurwitz's zeta function."""

import math

import numpy as np
import scipy.special as scipy_special

from pullback.arrays.numpy.special.reals import in_double, of_reals

__all__ = ["digamma", "digamma_derivative", "gamma_density", "igamma", "igammac", "lgamma", "polygamma", "zeta"]

lgamma = of_reals(scipy_special.gammaln)
digamma = of_reals(scipy_special.psi)
igamma = of_reals(scipy_special.gammainc)
igammac = of_reals(scipy_special.gammaincc)
zeta = of_reals(scipy_special.zeta)

# log Gamma(a) - (a - 1/2) log a + a - log(2 pi)/2 = sum c_k / a**(2 k + 1), to 1e-16 from a = 10 on.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_LARGE = 10.0


def polygamma(n, self):
    """The n-th derivative of digamma: (-1)**(n + 1) n! zeta(n + 1, self)."""
    if n < 0:
        raise ValueError(f"n must be at least 0, but it is {n}.")
    if n == 0:
        return digamma(self)
    factorial = math.factorial(n) if n <= 170 else math.inf
    return zeta(float(n + 1), self) * float((-1) ** (n + 1) * factorial)


def digamma_derivative(self, n):
    """polygamma with the tensor first, as its method has it."""
    return polygamma(n, self)


def gamma_density(a, x):
    """x**(a - 1) exp(-x) / Gamma(a), the density of the gamma distribution and the slope of igamma.

    For large a by the saddle point (Loader, Fast and accurate computation of binomial probabilities, 2000): the
    exponent is a difference of numbers near a log(a), which would cost their digits. Far below a moderate a the power
    itself is exact.
    """
    (a, first), (x, second) = in_double(a), in_double(x)
    a, x = np.broadcast_arrays(a, x)
    small = (a < _LARGE) | ((a < 100) & (x < a / 2))
    with np.errstate(all="ignore"):
        by_powers = _by_powers(np.where(small, a, 1), x)
        by_saddle = _by_saddle_point(np.where(small, _LARGE, a), x)
    density = np.where(small, by_powers, by_saddle)
    density = np.where(x < 0, math.nan, np.where(np.isposinf(x), 0, density))
    return density.astype(np.result_type(first, second), copy=False)


def _by_powers(a, x):
    x = np.minimum(x, 2000.0)  # where it is 0, before the power overflows
    half = np.exp(-x / 2)
    scale = scipy_special.rgamma(a)
    return np.where(scale == 0, 0, x ** (a - 1) * half * scale * half)


def _by_saddle_point(a, x):
    series = 0.0
    for c in reversed(_STIRLING):
        series = series / (a * a) + c
    density = np.exp(-series / a - a * _excess(x, a)) * np.sqrt(a / (2 * math.pi))
    return np.where(x == 0, 0, density / x)


def _excess(x, a):
    """x / a - 1 - log(x / a), without cancellation near x = a."""
    t = (x - a) / a
    near = np.abs(t) < 0.3
    s = np.where(near, t, 0) / (2 + np.where(near, t, 0))
    series = 0.0
    for k in range(25, 1, -2):
        series = series * (s * s) + 1 / k
    return np.where(near, s * t - 2 * s**3 * series, t - np.log(x / a))
