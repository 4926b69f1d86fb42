"""Noncentral distributions, differentiated: sums over Poisson weights of central ones, and for t an integral."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special as sp

from pullback.core.numpy_types import AnyArray
from pullback.scipy.rules.special.formulas import beta_density_derivative_slope
from pullback.scipy.rules.special.integrals import (
    among,
    beta_density_derivative,
    betainc_derivative,
    gamma_density_derivative,
    gammainc_derivative,
    of_arrays,
)
from pullback.scipy.rules.special.quadrature import gauss


def _weights(half: AnyArray) -> tuple[AnyArray, AnyArray]:
    """(the first index, the weights) of the Poisson distribution of mean `half`, as far as they count."""
    finite = np.where(np.isfinite(half), half, 0.0)  # where there is no mean the sum is nan
    spread = 10 * np.sqrt(finite.max(initial=0.0)) + 40
    first = np.maximum(np.floor(finite - spread), 0.0)
    count = int(2 * spread) + 1
    j = first[:, None] + np.arange(count)
    return j, np.exp(sp.xlogy(j, half[:, None]) - half[:, None] - sp.gammaln(j + 1))


def _mixed(nc: AnyArray, central: Callable[..., Any], *args: AnyArray) -> AnyArray:
    j, weights = _weights(nc / 2)
    columns = [np.broadcast_to(x[:, None], j.shape).ravel() for x in args]
    values = central(j.ravel(), *columns).reshape(j.shape)
    return np.sum(weights * values, axis=1)


@of_arrays(1)
def chndtr_derivative(x: AnyArray, df: AnyArray, nc: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in df of the noncentral chi-square distribution's function."""
    if n == 0:
        return sp.chndtr(x, df, nc)
    return 0.5**n * _mixed(nc, lambda j, x, df: gammainc_derivative(df / 2 + j, x / 2, n), x, df)


@of_arrays(1)
def chndtr_density(x: AnyArray, df: AnyArray, nc: AnyArray, n: int) -> AnyArray:
    """The n-th derivative in df of the noncentral chi-square distribution's density."""
    return 0.5 ** (n + 1) * _mixed(nc, lambda j, x, df: gamma_density_derivative(df / 2 + j, x / 2, n), x, df)


_OWN = SimpleNamespace(scipy_special=SimpleNamespace(beta_density_derivative=beta_density_derivative))


def _beta_density_slope(a: AnyArray, b: AnyArray, w: AnyArray, m: int, n: int) -> AnyArray:
    return beta_density_derivative_slope(a, b, w, m, n, ops=_OWN)


@of_arrays(3)
def ncfdtr_part(dfn: AnyArray, dfd: AnyArray, nc: AnyArray, r: AnyArray, m: int, n: int, density: int) -> AnyArray:
    """A derivative of betainc(dfn / 2 + j, dfd / 2, w), its density or that one's slope, by Poisson weights.

    w = r / (1 + r). Where it is near 1, all is computed from 1 - w, which keeps its digits: betainc less 1, of which
    only differences are asked for.
    """
    kind = (betainc_derivative, beta_density_derivative, _beta_density_slope)[density]
    sign = 1.0 if density == 1 else -1.0

    def central(j: AnyArray, a: AnyArray, b: AnyArray, r: AnyArray) -> AnyArray:
        upper = r > 1
        low = among(~upper, lambda a, b, r: kind(a, b, r / (1 + r), m, n), a / 2 + j, b / 2, r)
        high = among(upper, lambda a, b, r: sign * kind(b, a, 1 / (1 + r), n, m), a / 2 + j, b / 2, r)
        return np.where(upper, high, low)

    return _mixed(nc, central, dfn, dfd, r)


@of_arrays(3)
def nctdtr_derivative(df: AnyArray, nc: AnyArray, t: AnyArray, i: int, j: int, k: int) -> AnyArray:
    """The derivative of the noncentral t distribution's function: i times in df, j in nc and k in t.

    F = integral over s of Phi(t s - nc) h(s; df), with s**2 df chi-square with df degrees of freedom: only h moves
    with df. Phi^(j + k) is a Hermite polynomial times the normal density.
    """
    if i == j == k == 0:
        return sp.nctdtr(df, nc, t)
    nodes, weights = gauss(160)
    total = np.zeros_like(t)
    for start, end, width in _panels(df, nc, t, k, j + k > 0):
        turn = np.arcsinh(np.abs(end - start) / width)[:, None] * nodes
        u = start[:, None] + (np.sign(end - start) * width)[:, None] * np.sinh(turn)
        scale = (width * np.arcsinh(np.abs(end - start) / width))[:, None] * np.cosh(turn)
        s, d = np.exp(u), df[:, None]
        height = d * (u - np.expm1(2 * u) / 2)
        norm = (d / 2) * np.log(d / 2) - d / 2 - sp.gammaln(d / 2) + math.log(2)
        moving: Any = 1.0
        if i:
            slopes = [
                u - s * s / 2 + 0.5 * np.log(d / 2) + 0.5 - 0.5 * sp.psi(d / 2),
                *(
                    0.5 * (-1) ** (q - 2) * math.factorial(q - 2) / d ** (q - 1.0) - 0.5**q * sp.polygamma(q - 1, d / 2)
                    for q in range(2, i + 1)
                ),
            ]
            values = [1.0]
            for n in range(i):
                values.append(sum(math.comb(n, q) * values[n - q] * slopes[q] for q in range(n + 1)))
            moving = values[-1]
        y = t[:, None] * s - nc[:, None]
        if j + k == 0:
            # the weight of h is 1 whatever df is, so either side of Phi will do; the larger one would hide the smaller
            side = np.where(t > nc, -1.0, 1.0)[:, None]
            inner = side * sp.ndtr(side * y)
        else:
            p = j + k - 1
            inner = (-1) ** p * sp.eval_hermitenorm(p, y) * np.exp(-y * y / 2) / math.sqrt(2 * math.pi)
        values_at = inner * moving * (-1.0) ** j * s**k * np.exp(height + norm) * scale
        total += values_at @ weights
    return total


def _panels(df: AnyArray, nc: AnyArray, t: AnyArray, k: int, peaked: bool) -> list[tuple[AnyArray, AnyArray, AnyArray]]:
    """(start, end, width) of parts of the integral in u = log s; each is sampled most closely at its start.

    log h is df (u - exp(2 u) / 2): its top is at 0, about 1 / sqrt(2 df) wide, and to the left it falls as df u.
    With s**k and the normal density of t s - nc, the product has one top, where (df + t**2) s**2 - nc t s = df + k;
    the second derivative of its logarithm there is -(df + t**2) s**2 - df - k. With Phi in place of the density it has
    that top where it is far from nc = t, and otherwise a step: at s = nc / t, 1 / |nc| wide, where that is positive.
    """
    both, count = nc * t, df + k
    root = np.hypot(both, 2 * np.sqrt(count) * np.hypot(np.sqrt(df), t))
    u = np.log(np.where(both > 0, (both + root) / (2 * (df + t * t)), 2 * count / (root - np.minimum(both, 0.0))))
    width = 1 / np.sqrt((df + t * t) * np.exp(2 * u) + count)
    fallen = 0.5 * np.log1p(100 / df) + 1  # where h is negligible
    low, high = u - 45 / count - 10 * width, u + np.minimum(10 * width, np.maximum(fallen - u, 1.0))
    if peaked:
        return [(u, low, width), (u, high, width)]
    low = np.minimum(low, np.where(df < 14, -np.minimum(42 / df, 3.0) - 42 / df, -14 / np.sqrt(2 * df) - 0.3))
    high = np.maximum(high, np.minimum(fallen, 12 / np.sqrt(2 * df) + 0.2))
    size = np.maximum(np.abs(nc), 1.0)
    with np.errstate(divide="ignore"):
        step = np.clip(np.where(both > 0, 1.0, -1.0) * np.log(size) - np.log(np.abs(t)), low, high)
    centers = np.stack([u, step, np.zeros_like(u)])
    wide = 1 / np.sqrt(1 + 2 * df)
    widths = np.stack([width, np.minimum(np.where(both > 0, 1 / size, 1.0), wide), wide])
    order = np.argsort(centers, axis=0)
    centers, widths = np.take_along_axis(centers, order, 0), np.take_along_axis(widths, order, 0)
    ends = np.concatenate([low[None], (centers[1:] + centers[:-1]) / 2, high[None]])
    return [(c, end, w) for i, (c, w) in enumerate(zip(centers, widths, strict=True)) for end in (ends[i], ends[i + 1])]


@of_arrays(1)
def kolmogorov_derivative(y: AnyArray | float, n: int) -> AnyArray:
    """The n-th derivative of Kolmogorov's survival function: of its series, or for small y of the transformed one."""
    if n == 0:
        return sp.kolmogorov(y)
    small = y < 1.0
    z = np.where(small, 1.0, y)
    large_y = sum(2 * (-1) ** (k - 1) * _gaussian(z, 2.0 * k * k, n) for k in range(1, 12))
    x = np.where(small & (y > 0.03), y, 1.0)
    small_y = -sum(math.sqrt(2 * math.pi) * _reciprocal(x, (2 * k - 1) ** 2 * math.pi**2 / 8, n) for k in range(1, 12))
    return np.where(small, np.where(y > 0.03, small_y, 0.0), large_y)


def _gaussian(y: AnyArray, c: float, n: int) -> AnyArray:
    """The n-th derivative of exp(-c y**2)."""
    root = math.sqrt(2 * c)
    return (-root) ** n * sp.eval_hermitenorm(n, root * y) * np.exp(-c * y * y)


def _reciprocal(y: AnyArray, c: float, n: int) -> AnyArray:
    """The n-th derivative of exp(-c / y**2) / y, as exp(-c / y**2) times a polynomial in 1 / y."""
    powers = {1: 1.0}  # exponent of 1 / y -> factor
    for _ in range(n):
        made: dict[int, float] = {}
        for p, factor in powers.items():
            made[p + 1] = made.get(p + 1, 0.0) - p * factor
            made[p + 3] = made.get(p + 3, 0.0) + 2 * c * factor
        powers = made
    return np.exp(-c / (y * y)) * sum(factor * y ** -float(p) for p, factor in powers.items())
