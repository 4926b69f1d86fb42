"""The incomplete integrals of the gamma, beta and Student densities, differentiated in the parameters.

With p the density and s_k the derivatives of log p in a parameter a, the n-th derivative of p is p B_n(s_1, s_2, ...),
a complete Bell polynomial, and that of the integral is the integral of that. The whole integral is 1 for every a, so
the part below x and the part above x are each other's negative, and the one is taken in which B_1 has one sign:
nothing cancels in a first derivative.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from pullback.arrays.numpy.special.betas import beta_density
from pullback.arrays.numpy.special.gammas import gamma_density
from pullback.arrays.numpy.special.saddle_points import LARGE, stirling_rest
from pullback.core.numpy_types import AnyArray, Numeric
from pullback.scipy.rules.special.quadrature import gauss, integral


def of_arrays(orders: int) -> Callable[..., Any]:
    """Decorate the kernel of a function of real arrays of one shape, and of so many whole numbers after them."""

    def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(kernel)
        def run(*args: AnyArray) -> AnyArray:
            count = len(args) - orders
            arrays = [np.asarray(x) for x in args[:count]]
            dtype = np.result_type(*args[:count])
            if dtype.kind == "c":
                raise ValueError("not defined for complex arguments.")
            shape = np.broadcast_shapes(*(x.shape for x in arrays))
            flat = [np.broadcast_to(x, shape).astype(float).ravel() for x in arrays]
            with np.errstate(all="ignore"):
                result = kernel(*flat, *args[count:])
            return result.reshape(shape).astype(dtype if dtype.kind == "f" else float, copy=False)

        return run

    return decorate


def among(chosen: AnyArray, function: Callable[..., Any], *args: AnyArray, otherwise: float = np.nan) -> AnyArray:
    """The function on the chosen elements alone, and a constant elsewhere."""
    result = np.full(chosen.shape, otherwise)
    if chosen.any():
        result[chosen] = function(*(x[chosen] for x in args))
    return result


def bell(slopes: list[AnyArray]) -> Any:
    """B_n of the derivatives s_1 ... s_n of an exponent: the n-th derivative of its exponential, over it."""
    values: list[Any] = [1.0]
    for n in range(len(slopes)):
        values.append(sum(math.comb(n, k) * values[n - k] * slopes[k] for k in range(n + 1)))
    return values[-1]


# -- digamma ----------------------------------------------------------------------------------------------------------
_BERNOULLI = sp.bernoulli(24)[2::2]


@of_arrays(1)
def digamma_difference(x: AnyArray, d: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in x of digamma(x + d) - digamma(x), whose terms cancel for large x."""
    return sp.polygamma(n, x + d) - sp.polygamma(n, x) if n else _digamma_gap(x, d)


def _digamma_gap(x: AnyArray, d: AnyArray) -> AnyArray:
    plain = sp.psi(x + d) - sp.psi(x)
    sound = (x > 0) & (x + d > 0)
    y, e = np.where(sound, x, 1.0), np.where(sound, d, 0.0)
    total = np.zeros_like(y)
    for _ in range(12):
        total += e / (y * (y + e))
        y = y + 1
    growth = np.log1p(e / y)
    total += growth + 0.5 * e / (y * (y + e))
    for k in range(1, 11):
        total -= _BERNOULLI[k - 1] / (2 * k) * y ** (-2 * k) * np.expm1(-2 * k * growth)
    return np.where(sound, total, plain)


# -- gamma ------------------------------------------------------------------------------------------------------------
def _gamma_slopes(log_t: AnyArray, a: AnyArray, n: int) -> list[AnyArray]:
    return [log_t - sp.psi(a), *(-sp.polygamma(k, a) for k in range(1, n))]


@of_arrays(1)
def gamma_density_derivative(a: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in a of x**(a - 1) exp(-x) / Gamma(a)."""
    density = gamma_density(a, x)
    return np.where(density == 0, 0.0, density * bell(_gamma_slopes(np.log(x), a, n))) if n else density


@of_arrays(1)
def gammainc_derivative(a: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of the regularised incomplete gamma function P(a, x) in a."""
    if n == 0:
        return sp.gammainc(a, x)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    edge = np.where((a > 0) & (x >= 0) & ((x == 0) | (np.isposinf(x) != np.isposinf(a))), 0.0, np.nan)
    below = inside & (np.log(np.where(inside, x, 1.0)) <= sp.psi(np.where(inside, a, 1.0)))
    low = among(below, lambda a, x: _gamma_part(a, x, n, -1.0), a, x, otherwise=0.0)
    high = among(inside & ~below, lambda a, x: -_gamma_part(a, x, n, 1.0), a, x, otherwise=0.0)
    return np.where(inside, low + high, edge)


def _gamma_part(a: AnyArray, x: AnyArray, n: int, side: float) -> AnyArray:
    """The integral of density times B_n over t = x exp(side u), u > 0."""

    def exponent(u: AnyArray, a: AnyArray, x: AnyArray) -> AnyArray:
        return side * a * u - x * np.expm1(side * u)

    def weight(u: AnyArray, a: AnyArray, x: AnyArray) -> AnyArray:
        return bell(_gamma_slopes(np.log(x) + side * u, a, n))

    start = np.minimum(38 / a, 1e300) if side < 0 else np.log1p(38 / x)
    turn = np.zeros_like(x) if side < 0 else np.maximum(-np.log(x), 0.0)
    scale = x * gamma_density(a, x)
    return np.where(scale == 0, 0.0, scale * integral(exponent, weight, start, turn, a, x))


# -- beta -------------------------------------------------------------------------------------------------------------
def _beta_weight(log_t: AnyArray, log_rest: AnyArray, a: AnyArray, b: AnyArray, m: int, n: int) -> AnyArray:
    """The m-th derivative in a and n-th in b of t**a (1 - t)**b / B(a, b), over it."""

    def slope(i: int, j: int) -> AnyArray:
        if i + j == 1:
            return log_t + _digamma_gap(a, b) if i else log_rest + _digamma_gap(b, a)
        both = sp.polygamma(i + j - 1, a + b)
        return both if i and j else both - sp.polygamma(i + j - 1, a if i else b)

    @functools.cache
    def value(m: int, n: int) -> Any:
        if m == n == 0:
            return 1.0
        i, j = (1, 0) if m else (0, 1)
        return sum(
            math.comb(m - i, p) * math.comb(n - j, q) * value(m - i - p, n - j - q) * slope(p + i, q + j)
            for p in range(m - i + 1)
            for q in range(n - j + 1)
        )

    return value(m, n)


@of_arrays(2)
def beta_density_derivative(a: AnyArray, b: AnyArray, x: AnyArray, m: int, n: int) -> AnyArray:
    """The m-th derivative in a and n-th in b of x**(a - 1) (1 - x)**(b - 1) / B(a, b)."""
    density = beta_density(a, b, x)
    if m == n == 0:
        return density
    return np.where(density == 0, 0.0, density * _beta_weight(np.log(x), np.log1p(-x), a, b, m, n))


@of_arrays(2)
def betainc_derivative(a: AnyArray, b: AnyArray, x: AnyArray, m: int, n: int) -> AnyArray:
    """The m-th derivative in a and n-th in b of the regularised incomplete beta function I_x(a, b)."""
    if m == n == 0:
        return sp.betainc(a, b, x)
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    edge = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0.0, np.nan)
    safe = [np.where(inside, y, 0.5) for y in (a, b, x)]
    if m >= n:
        below = np.log(safe[2]) <= -_digamma_gap(safe[0], safe[1])
    else:
        below = np.log1p(-safe[2]) >= -_digamma_gap(safe[1], safe[0])
    low = among(inside & below, lambda a, b, x: _beta_part(a, b, x, 1 - x, m, n), a, b, x, otherwise=0.0)
    high = among(inside & ~below, lambda a, b, x: -_beta_part(b, a, 1 - x, x, n, m), a, b, x, otherwise=0.0)
    return np.where(inside, low + high, edge)


def _beta_part(a: AnyArray, b: AnyArray, x: AnyArray, rest: AnyArray, m: int, n: int) -> AnyArray:
    """The integral below x, over t / (1 - t) = x / (1 - x) exp(-u)."""

    def log_fall(u: AnyArray, x: AnyArray, rest: AnyArray) -> AnyArray:
        near = x * -np.expm1(-u) < 0.5
        return np.where(near, np.log1p(x * np.expm1(-u)), np.log(rest + x * np.exp(-u)))  # (1 - x) / (1 - t)

    def exponent(u: AnyArray, a: AnyArray, b: AnyArray, x: AnyArray, rest: AnyArray) -> AnyArray:
        return -a * u - (a + b) * log_fall(u, x, rest)

    def weight(u: AnyArray, a: AnyArray, b: AnyArray, x: AnyArray, rest: AnyArray) -> AnyArray:
        fall = log_fall(u, x, rest)
        return _beta_weight(np.log(x) - u - fall, np.log(rest) - fall, a, b, m, n)

    start, turn = 38 / a, np.maximum(np.log(x) - np.log(rest), 0.0)
    flipped = x > 0.5
    density = np.where(flipped, beta_density(b, a, rest), beta_density(a, b, x))
    scale = density * x * rest
    return np.where(scale == 0, 0.0, scale * integral(exponent, weight, start, turn, a, b, x, rest))


# -- Student's t ------------------------------------------------------------------------------------------------------
def _t_slopes(squares: AnyArray, df: AnyArray, n: int, logarithm: Numeric = 0.0) -> list[AnyArray]:
    """The derivatives in df of the logarithm of the density at t, t**2 = squares; `logarithm` is that of t**2."""
    ratio = squares / df
    share = np.where(ratio < 1, ratio / (1 + ratio), 1 / (1 + 1 / np.maximum(ratio, 1)))
    # log1p(q) - q / (1 + q), whose terms cancel for small q
    near = ratio < 0.1
    q = np.where(near, ratio, 0.0)
    series: Any = 0.0
    for k in range(18, 1, -1):
        series = series * -q + (1 - 1 / k)
    log = np.where(np.isinf(squares), logarithm - np.log(df), np.log1p(ratio))
    bend = np.where(near, q * q * series, log - share)
    slopes = [_half_step(df) + 0.5 * (share / df - bend)]
    for k in range(2, n + 1):
        gammas = (sp.polygamma(k - 1, (df + 1) / 2) - sp.polygamma(k - 1, df / 2)) / 2**k
        sign = (-1) ** (k - 1) * math.factorial(k - 1)
        logs = [sign * ((df + squares) ** -float(k) - df ** -float(k))]
        before = np.log1p(ratio) if k == 1 else -sign / (k - 1) * ((df + squares) ** (1.0 - k) - df ** (1.0 - k))
        slopes.append(gammas - 0.5 * sign / df**k - (df + 1) / 2 * logs[0] - k / 2 * before)
    return slopes


def _half_step(df: AnyArray) -> AnyArray:
    """(digamma((df + 1) / 2) - digamma(df / 2) - 1 / df) / 2, about 1 / (4 df**2)."""
    x = df / 2
    plain = (sp.psi(x + 0.5) - sp.psi(x) - 0.5 / x) / 2
    # psi(x + 1/2) - psi(x) = 1 / (2 x) + sum of (4**k - 1) B_2k / (k 4**k) x**(-2 k) / 2 ... , by duplication
    y = np.maximum(x, 12.0)
    total = 0.0
    for k in range(12, 0, -1):
        total = (total + (4.0**k - 1) * _BERNOULLI[k - 1] / (2 * k) / 4.0**k * 2) / (y * y)
    return np.where(x > 12, total / 2, plain)


def t_density(df: AnyArray, t: AnyArray) -> AnyArray:
    """The density of Student's t."""
    x = np.maximum(df / 2, LARGE)
    growth = np.exp(x * np.log1p(0.5 / x) - 0.5 + stirling_rest(x + 0.5) - stirling_rest(x)) * np.sqrt(x)
    ratio = np.where(df / 2 > LARGE, growth, np.exp(sp.gammaln((df + 1) / 2) - sp.gammaln(df / 2)))
    return np.exp(-0.5 * (df + 1) * np.log1p(t * t / df)) / np.sqrt(math.pi * df) * ratio


@of_arrays(1)
def t_density_derivative(df: AnyArray, t: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in df of the density of Student's t."""
    density = t_density(df, t)
    return np.where(density == 0, 0.0, density * bell(_t_slopes(t * t, df, n))) if n else density


@of_arrays(1)
def stdtr_derivative(df: AnyArray, t: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in df of the distribution function of Student's t."""
    if n == 0:
        return sp.stdtr(df, t)
    size = np.abs(t)
    inside = (df > 0) & np.isfinite(df) & np.isfinite(t) & (t != 0)
    near = inside & (size < 1.5)
    low = among(near, lambda df, t: _t_middle(df, t, n), df, size, otherwise=0.0)
    few = inside & ~near & (df < 10) & (df < 0.005 * size * size)
    high = among(inside & ~near & ~few, lambda df, t: -_t_tail(df, t, n), df, size, otherwise=0.0)
    high += among(few, lambda df, t: -_t_far_tail(df, t, n), df, size, otherwise=0.0)
    edge = np.where((df > 0) & ~np.isnan(t), 0.0, np.nan)
    return np.where(inside, np.sign(t) * (low + high), edge)


def _t_middle(df: AnyArray, t: AnyArray, n: int) -> AnyArray:
    """The integral from 0 to t, of moderate size; s = r sinh(w) where the density is as wide as r."""
    nodes, weights = gauss(64)
    width = np.sqrt(np.minimum(df, 1.0))
    end = np.arcsinh(t / width)
    w = end[:, None] * nodes
    s = width[:, None] * np.sinh(w)
    columns = df[:, None]
    values = t_density(columns, s) * bell(_t_slopes(s * s, columns, n)) * width[:, None] * np.cosh(w)
    return end * (values @ weights)


def _t_far_tail(df: AnyArray, t: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in df of the integral beyond t where df is small beside t**2.

    With a = df / 2, x = df / (df + t**2) the integral is exp(g) S / 2, where g = a log x + log(Gamma(a + 1/2) /
    (Gamma(a + 1) sqrt(pi))) and S = 1 + sum of (1/2)_k / k! a / (a + k) x**k.
    """
    a, away, share = df / 2, df + t * t, df / t / t
    logarithm = np.log(df) - 2 * np.log(t) - np.log1p(share)
    slopes = []
    for j in range(1, n + 1):
        sign = (-1) ** (j - 1) * math.factorial(j - 1)
        log = logarithm if j == 1 else -sign / (j - 1) * (df ** (1.0 - j) - away ** (1.0 - j))
        gammas = sp.polygamma(j - 1, a + 0.5) - sp.polygamma(j - 1, a + 1)
        slopes.append(a * sign * (df ** -float(j) - away ** -float(j)) + j / 2 * log + gammas / 2**j)
    # Taylor coefficients in df of each term of S, from those of 1 / (df + t**2) and of a / (a + k).
    total = [np.ones_like(df)] + [np.zeros_like(df)] * n
    power: list[Any] = list(total)
    x = [share / (1 + share)] + [(-1) ** (i - 1) * away ** -float(i) / (1 + share) for i in range(1, n + 1)]
    binomial = 1.0
    for k in range(1, 9):
        binomial *= (k - 0.5) / k
        power = [sum(power[i] * x[m - i] for i in range(m + 1)) for m in range(n + 1)]
        factor = [df / (df + 2 * k)] + [(-1) ** (i - 1) * 2 * k * (df + 2 * k) ** -(i + 1.0) for i in range(1, n + 1)]
        term = [sum(power[i] * factor[m - i] for i in range(m + 1)) for m in range(n + 1)]
        total = [c + binomial * d for c, d in zip(total, term, strict=True)]
    bells = [bell(slopes[:j]) / math.factorial(j) for j in range(n + 1)]
    size = np.exp(a * logarithm + sp.gammaln(a + 0.5) - sp.gammaln(a + 1)) / math.sqrt(math.pi)
    return size / 2 * math.factorial(n) * sum(bells[j] * total[n - j] for j in range(n + 1))


def _t_tail(df: AnyArray, t: AnyArray, n: int) -> AnyArray:
    """The integral beyond t, over s = t exp(u)."""

    def exponent(u: AnyArray, df: AnyArray, t: AnyArray) -> AnyArray:
        q = t * t / df
        share = q / (1 + q)
        far = u > 300  # where exp(2 u) overflows, or soon will
        log = np.where(far, np.log(share) + 2 * u, np.log1p(share * np.expm1(np.where(far, 0.0, 2 * u))))
        return u - 0.5 * (df + 1) * log

    def weight(u: AnyArray, df: AnyArray, t: AnyArray) -> AnyArray:
        return bell(_t_slopes((t * np.exp(u)) ** 2, df, n, 2 * (np.log(t) + u)))

    scale = t * t_density(df, t)
    start, turn = 38 / (df * (1 + 0 * t)), np.maximum(0.5 * np.log(df) - np.log(t), 0.0)
    start = np.minimum(start, 38 / (df + 1) * (1 + df / t**2))
    return np.where(scale == 0, 0.0, scale * integral(exponent, weight, start, turn, df, t))
