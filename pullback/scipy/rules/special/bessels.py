"""Bessel functions differentiated in their order: integrals whose integrand depends on the order by exp(-v t) alone.

Sommerfeld's integrals (DLMF 10.9(ii), 10.32(ii)) along contours through the saddle point, on which nothing cancels.
Real arguments; the order may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from pullback.core.numpy_types import AnyArray
from pullback.scipy.rules.special.integrals import among, of_arrays
from pullback.scipy.rules.special.quadrature import gauss, integral

_HANKEL_TERMS = 30
_BLOCK = 1 << 20  # elements of a block of integrands


def leibniz(n: int, turn: Callable[[int], Any], function: Callable[[int], Any]) -> AnyArray:
    """The n-th derivative of a product."""
    return sum(math.comb(n, k) * turn(n - k) * function(k) for k in range(n + 1))


def sin_pi(u: AnyArray, k: int) -> AnyArray:
    """The k-th derivative of sin(pi u)."""
    r = np.remainder(u, 2.0)
    return math.pi**k * (sp.sindg, sp.cosdg, lambda x: -sp.sindg(x), lambda x: -sp.cosdg(x))[k % 4](180 * r)


def _cos_pi(u: AnyArray, k: int) -> AnyArray:
    return sin_pi(u, k + 1) / math.pi


# -- K ----------------------------------------------------------------------------------------------------------------
@of_arrays(2)
def kve_derivative(v: AnyArray, x: AnyArray, n: int, m: int) -> AnyArray:
    """The derivative of exp(x) K_v(x), n times in v and m times in x."""
    if m == n == 0:
        return sp.kve(v, x)
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    value = among(inside, lambda v, x: _kve(np.abs(v), x, n, m), v, x)
    sign = np.where((v < 0) & (n % 2 == 1), -1.0, 1.0)
    edge = np.where(np.isposinf(x), 0.0, np.where((x == 0) & (n % 2 == 0), (-1.0) ** m * np.inf, np.nan))
    return np.where(inside, sign * value, edge)


def _kve(v: AnyArray, x: AnyArray, n: int, m: int) -> AnyArray:
    """The integral of exp(-x (cosh(t) - 1)) (1 - cosh(t))**m t**n cosh(v t), sinh(v t) for odd n, over t > 0."""
    middle = np.arcsinh(v / x)
    height = v * middle - 2 * x * np.sinh(middle / 2) ** 2

    def side(sign: float) -> AnyArray:
        def exponent(u: AnyArray, v: AnyArray, x: AnyArray, t: AnyArray) -> AnyArray:
            return sign * v * u - 2 * x * np.sinh(t + sign * u / 2) * np.sinh(sign * u / 2)

        def weight(u: AnyArray, v: AnyArray, x: AnyArray, t: AnyArray) -> AnyArray:
            t = t + sign * u
            mirrored = np.exp(-2 * v * t)
            both = 0.5 * (1 - mirrored if n % 2 else 1 + mirrored)
            return (-2 * np.sinh(t / 2) ** 2) ** m * t**n * both

        start = np.minimum(9 * (v * v + x * x) ** -0.25, 4.0)
        turn = np.maximum(np.log(2 / x) - middle, 0.0) if sign > 0 else np.zeros_like(x)
        return integral(exponent, weight, start, turn, v, x, middle, limit=None if sign > 0 else middle)

    return np.exp(height) * (side(1.0) + side(-1.0))


@of_arrays(1)
def kv_derivative(v: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of K_v(x) in v."""
    return np.exp(-x) * kve_derivative(v, x, n, 0) if n else sp.kv(v, x)


# -- I ----------------------------------------------------------------------------------------------------------------
@of_arrays(2)
def ive_derivative(v: AnyArray, x: AnyArray, n: int, m: int) -> AnyArray:
    """The derivative of exp(-|x|) I_v(x), n times in v and m times in x."""
    if m == n == 0:
        return sp.ive(v, x)
    flat = (x == 0) & (n == 0) & ((v >= 0) | (np.trunc(v) == v))
    size = np.where(x == 0, 1e-200, np.abs(x))
    whole = np.trunc(v) == v
    known = np.isfinite(size) & np.isfinite(v) & ((x >= 0) | (whole & (n == 0)))
    falling = known & (v < 0) & ~(whole & (n == 0))
    value = among(known & ~falling, lambda v, x: _ive(np.abs(v), x, n, m), v, size)
    value = np.where(falling, among(falling, lambda v, x: _ive_of_negative(-v, x, n, m), v, size), value)
    parity = np.where((x < 0) & ((np.abs(v) + m) % 2 == 1), -1.0, 1.0)
    return np.where(np.isinf(x), 0.0, np.where(flat, _ive_at_zero(np.abs(v), m), parity * value))


def _ive_at_zero(v: AnyArray, m: int) -> AnyArray:
    """The m-th derivative of exp(-|x|) I_v(x), v >= 0, at 0 by its series in x; 0 where its two sides are opposite."""
    above = np.arange(m + 1)[:, None]  # the power of (x / 2), less v
    rest = m - v - above
    terms = 0.5 ** (v + above) * sp.rgamma(above / 2 + 1) * sp.rgamma(v + above / 2 + 1) * sp.rgamma(rest + 1)
    value = math.factorial(m) * np.sum(np.where((above % 2 == 0) & (rest >= 0) & (rest % 2 == 0), terms, 0.0), 0)
    infinite = (np.trunc(v) != v) & (v < m)  # x^(v - m)
    return np.where(infinite, np.inf * sp.gammasgn(v - m + 1), value)


def _ive_of_negative(u: AnyArray, x: AnyArray, n: int, m: int) -> AnyArray:
    """By I_{-u} = I_u + 2 / pi sin(pi u) K_u; exp(-x) K_u = exp(-2 x) (exp(x) K_u)."""
    rest = leibniz(
        n,
        lambda k: sin_pi(u, k),
        lambda k: leibniz(m, lambda j: (-2.0) ** j * np.exp(-2 * x), lambda j: kve_derivative(u, x, k, j)),
    )
    own = _ive(u, x, n, m) if m or n else sp.ive(u, x)
    return (-1) ** n * (own + 2 / math.pi * rest)


def _ive(v: AnyArray, x: AnyArray, n: int, m: int) -> AnyArray:
    flat = v < 1e-3
    value = among(~flat, lambda v, x: _ive_along_descent(v, x, n, m), v, x)
    return np.where(flat, among(flat, lambda v, x: _ive_of_small_order(v, x, n, m), v, x), value)


def _ive_of_small_order(v: AnyArray, x: AnyArray, n: int, m: int) -> AnyArray:
    """By Schlaefli's integral (DLMF 10.32.4), of which no part is much larger than the whole."""
    nodes, weights = gauss(128)
    width = np.minimum(math.pi, 13 / np.sqrt(x))[:, None]
    w, a = width * nodes, v[:, None]
    turned = (np.cos, lambda y: -np.sin(y), lambda y: -np.cos(y), np.sin)[n % 4](a * w) * w**n
    bend = -2 * np.sin(w / 2) ** 2
    around = (width * turned * bend**m * np.exp(x[:, None] * bend)) @ weights

    def falling(k: int) -> AnyArray:
        def exponent(t: AnyArray, v: AnyArray, x: AnyArray) -> AnyArray:
            return -2 * x * np.sinh(t / 2) ** 2 - v * t

        def weight(t: AnyArray, v: AnyArray, x: AnyArray) -> AnyArray:
            return (-t) ** k * (-np.cosh(t) - 1) ** m

        turn = np.maximum(np.log(2 / x), 0.0)
        return np.exp(-2 * x) * integral(exponent, weight, np.minimum(9 / np.sqrt(x), 4.0), turn, v, x)

    return (around - leibniz(n, lambda k: sin_pi(v, k), falling)) / math.pi


def _ive_along_descent(v: AnyArray, x: AnyArray, n: int, m: int) -> AnyArray:
    """The integral along the line of steepest descent, t = s + i w with sinh(s) = v w / (x sin(w)), |w| < pi."""
    start = np.arcsinh(v / x)
    height = 2 * x * np.sinh(start / 2) ** 2 - v * start

    def values(w: AnyArray, rest: AnyArray, v: AnyArray, x: AnyArray, start: AnyArray) -> AnyArray:
        """The integrand at w = pi - rest, over exp(height)."""
        sine = np.where(w < 1.5, np.sin(w), np.sin(rest))
        s = np.arcsinh(v / x * w / sine)
        slope = v / x * (sine - w * np.cos(w)) / sine**2 / np.cosh(s)
        near = w < 1e-3  # sin(w) - w cos(w) cancels
        slope = np.where(near, v / x * w / 3 / np.cosh(s), slope)
        # x (cosh(s) cos(w) - cosh(start)) - v (s - start)
        rise = 2 * np.sinh((s + start) / 2) * np.sinh((s - start) / 2) * np.cos(w) - 2 * np.sin(w / 2) ** 2 * np.cosh(
            start
        )
        t = s + 1j * w
        weight = (-t) ** n * (2 * np.sinh(t / 2) ** 2) ** m * (1 - 1j * slope)
        with np.errstate(all="ignore"):
            value = np.exp(x * rise - v * (s - start)) * weight.real
        return np.where(np.isfinite(value), value, 0.0)

    nodes, weights = gauss(128)
    width = np.minimum(math.pi / 2, 10 * (v * v + x * x) ** -0.25 * 1.3)[:, None]
    columns: tuple[AnyArray, ...] = v[:, None], x[:, None], start[:, None]
    w = width * nodes
    total = (values(w, math.pi - w, *columns) * width) @ weights
    wide = width[:, 0] == math.pi / 2
    if wide.any():
        columns = tuple(c[wide] for c in columns)
        # towards pi the line runs off to infinity, within a distance of v / x
        end = np.log(1e4 + 100 / np.maximum(columns[0], 1e-30))
        rest = math.pi / 2 * np.exp(-end * nodes)
        total[wide] += (values(math.pi - rest, rest, *columns) * rest * end) @ weights
    return np.exp(height) * total / math.pi


@of_arrays(1)
def iv_derivative(v: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of I_v(x) in v."""
    return np.exp(np.abs(x)) * ive_derivative(v, x, n, 0) if n else sp.iv(v, x)


# -- J and Y ----------------------------------------------------------------------------------------------------------
@of_arrays(1)
def jv_derivative(v: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of J_v(x) in v, x > 0."""
    return _cylinder(v, x, n)[0] if n else sp.jv(v, x)


@of_arrays(1)
def yv_derivative(v: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of Y_v(x) in v, x > 0."""
    return _cylinder(v, x, n)[1] if n else sp.yv(v, x)


def _cylinder(v: AnyArray, x: AnyArray, n: int) -> tuple[AnyArray, AnyArray]:
    """The n-th derivatives of J and Y in the order; J_{-u} = cos(pi u) J_u - sin(pi u) Y_u, Y_{-u} likewise."""
    inside = (x > 0) & np.isfinite(x) & np.isfinite(v)
    edge = np.where(np.isposinf(x), 0.0, np.nan)
    far = inside & (x > 25) & (v * v < x / 2)
    J, Y = np.where((x == 0) & (v > 0), 0.0, edge), edge.copy()
    if far.any():
        J[far], Y[far] = _far(v[far], x[far], n)
    near = inside & ~far & (v >= 0)
    if near.any():
        J[near], Y[near] = _near(v[near], x[near], n)
    left = inside & ~far & (v < 0)
    if left.any():
        u, z = -v[left], x[left]
        parts = [_near(u, z, k) for k in range(n + 1)]

        def turned(turn: Callable[..., Any], i: int) -> AnyArray:
            return leibniz(n, lambda k: turn(u, k), lambda k: parts[k][i])

        J[left] = (-1) ** n * (turned(_cos_pi, 0) - turned(sin_pi, 1))
        Y[left] = (-1) ** n * (turned(sin_pi, 0) + turned(_cos_pi, 1))
    return J, Y


def _far(v: AnyArray, x: AnyArray, n: int) -> tuple[AnyArray, AnyArray]:
    """By Hankel's expansion, as a power series in a change of the order (DLMF 10.17.5)."""
    term = np.zeros((n + 1, len(v)), complex)
    term[0] = 1.0
    total = term.copy()
    for k in range(1, _HANKEL_TERMS):
        factor = [4 * v * v - (2 * k - 1) ** 2, 8 * v, 4 * np.ones_like(v)]
        term = np.stack([sum(term[j - i] * factor[i] for i in range(min(j, 2) + 1)) for j in range(n + 1)])
        term = term * 1j / (8 * k * x)
        total += term
    phase = np.exp(1j * (x - math.pi / 4)) * np.exp(-0.5j * math.pi * v) * np.sqrt(2 / (math.pi * x))
    value = sum(total[n - j] * (-0.5j * math.pi) ** j / math.factorial(j) for j in range(n + 1))
    value = math.factorial(n) * value * phase
    return value.real, value.imag


def _near(v: AnyArray, x: AnyArray, n: int) -> tuple[AnyArray, AnyArray]:
    """By Schlaefli's integrals, of which that for J goes through the saddle point where v > x; v >= 0."""
    shift = np.where(v > x, np.arccosh(np.maximum(v / x, 1.0)), 0.0)
    waves_j, waves_y = np.empty_like(x), np.empty_like(x)
    order = np.argsort(np.maximum(v, x))
    first = 0
    while first < len(x):  # elements that need about as many nodes together
        size = float(np.maximum(v, x)[order[first]])
        count = 64 * 2 ** max(0, math.ceil(math.log2((96 + 0.7 * 2 * size) / 64)))
        last = first + max(1, min(len(x) - first, _BLOCK // count))
        while float(np.maximum(v, x)[order[last - 1]]) > 2 * max(size, 1.0):
            last = first + max(1, (last - first) // 2)
        part = order[first:last]
        nodes, weights = _many(count)
        w = math.pi * nodes
        a, z, s = (c[part][:, None] for c in (v, x, shift))
        t = s + 1j * w
        waves_j[part] = ((-t) ** n * np.exp(z * np.sinh(t) - a * t)).real @ weights
        turn = np.exp(1j * (z * np.sin(w) - a * w)) * (-1j * w) ** n
        waves_y[part] = turn.imag @ weights
        first = last

    def falling(from_shift: AnyArray, k: int) -> AnyArray:
        """The integral of (-t)**k exp(-x sinh(t) - v t) over t > from_shift."""

        def exponent(u: AnyArray, v: AnyArray, x: AnyArray, s: AnyArray) -> AnyArray:
            return -2 * x * np.cosh(s + u / 2) * np.sinh(u / 2) - v * u

        def weight(u: AnyArray, v: AnyArray, x: AnyArray, s: AnyArray) -> AnyArray:
            return (-(s + u)) ** k

        start = 38 / (v + x * np.cosh(from_shift))
        turn = np.maximum(np.log(2 / x) - from_shift, 0.0)
        height = np.exp(-x * np.sinh(from_shift) - v * from_shift)
        start = np.minimum(start, turn + 6)
        return height * integral(exponent, weight, start, turn, v, x, from_shift)

    J = waves_j - leibniz(n, lambda k: sin_pi(v, k), lambda k: falling(shift, k)) / math.pi
    rest = leibniz(n, lambda k: _cos_pi(v, k), lambda k: falling(np.zeros_like(x), k))
    return J, waves_y - (_rising(v, x, shift, n) + rest) / math.pi


def _many(count: int) -> tuple[AnyArray, AnyArray]:
    """Gauss's rule with many nodes, on panels of 64."""
    nodes, weights = gauss(64)
    panels = count // 64
    return ((np.arange(panels)[:, None] + nodes) / panels).ravel(), np.tile(weights / panels, panels)


def _rising(v: AnyArray, x: AnyArray, middle: AnyArray, n: int) -> AnyArray:
    """The integral of t**n exp(v t - x sinh(t)) over t > 0, from its largest place to both sides."""

    def side(sign: float) -> AnyArray:
        def exponent(u: AnyArray, v: AnyArray, x: AnyArray, t: AnyArray) -> AnyArray:
            return sign * v * u - 2 * x * np.cosh(t + sign * u / 2) * np.sinh(sign * u / 2)

        def weight(u: AnyArray, v: AnyArray, x: AnyArray, t: AnyArray) -> AnyArray:
            return (t + sign * u) ** n

        fall = np.abs(x * np.cosh(middle) - v)
        start = np.minimum(9 * (v * v + x * x) ** (-1 / 6), 38 / np.maximum(fall, 1e-3))
        turn = np.maximum(np.log(2 / x) - middle, 0.0) if sign > 0 else np.zeros_like(x)
        return integral(exponent, weight, start, turn, v, x, middle, limit=None if sign > 0 else middle)

    return np.exp(v * middle - x * np.sinh(middle)) * (side(1.0) + side(-1.0))
