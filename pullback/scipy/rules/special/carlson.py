"""Carlson's elliptic integrals and Tricomi's function: integrals over t > 0, differentiated under the sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from pullback.core.numpy_types import AnyArray
from pullback.scipy.rules.special.integrals import bell, of_arrays
from pullback.scipy.rules.special.quadrature import gauss

_NEGLIGIBLE = 42.0
_GRID = np.sinh(np.linspace(-7.0, 7.0, 241))  # to 548 on either side
_BLOCK = 1 << 11


def over_logarithms(logarithm: Callable[..., Any], weight: Callable[..., Any], *args: AnyArray) -> AnyArray:
    """The integral over all real w of weight(w, *args) exp(logarithm(w, *args)); the logarithm has one peak."""
    result = np.empty(args[0].shape)
    for first in range(0, len(result), _BLOCK):
        columns = [x[first : first + _BLOCK, None] for x in args]
        result[first : first + _BLOCK] = _over_logarithms(logarithm, weight, columns)
    return result


def _over_logarithms(logarithm: Callable[..., Any], weight: Callable[..., Any], columns: list[AnyArray]) -> AnyArray:
    heights = logarithm(_GRID, *columns)
    heights = np.where(np.isnan(heights), -np.inf, heights)
    best = np.argmax(heights, axis=1)
    middle, top = _GRID[best][:, None], np.max(heights, axis=1)[:, None]
    nodes, weights = gauss(160)
    total = np.zeros(len(top))
    for sign in (-1.0, 1.0):
        end = np.ones_like(middle)
        for _ in range(60):
            short = logarithm(middle + sign * end, *columns) - top > -_NEGLIGIBLE
            if not short.any():
                break
            end = np.where(short, 2 * end, end)
        inner = 0 * end
        for _ in range(4):
            half = (inner + end) / 2
            far = logarithm(middle + sign * half, *columns) - top < -_NEGLIGIBLE
            inner, end = np.where(far, inner, half), np.where(far, half, end)
        u = np.arcsinh(end) * nodes
        w = middle + sign * np.sinh(u)
        values = weight(w, *columns) * np.exp(logarithm(w, *columns) - top) * np.cosh(u) * np.arcsinh(end)
        total += np.where(np.isnan(values), 0.0, values) @ weights
    return total * np.exp(top[:, 0])


@of_arrays(5)
def carlson(
    x: AnyArray,
    y: AnyArray | float,
    z: AnyArray | float,
    p: AnyArray | float,
    i: int,
    j: int,
    k: int,
    m: int,
    power: int,
) -> AnyArray:
    """The integral over t > 0 of t**power (t+x)**(-1/2-i) (t+y)**(-1/2-j) (t+z)**(-1/2-k) (t+p)**-m."""
    if np.any((x < 0) | (y < 0) | (z < 0) | ((p <= 0) & (m > 0))):
        raise ValueError("the derivative is known only for arguments that are not negative, and a last one above 0.")

    def logarithm(w: AnyArray, x: AnyArray, y: AnyArray, z: AnyArray, p: AnyArray) -> AnyArray:
        t = np.exp(w)
        return (
            (power + 1) * w
            - (0.5 + i) * np.logaddexp(w, np.log(x))
            - (0.5 + j) * np.logaddexp(w, np.log(y))
            - (0.5 + k) * np.logaddexp(w, np.log(z))
            - m * np.log(t + p)
        ) + 0 * t

    # 0 / 0 and infinite integrals, where a factor is singular at 0
    slow = (power + 1.0) - (0.5 + i) * (x == 0) - (0.5 + j) * (y == 0) - (0.5 + k) * (z == 0)
    sound = (slow > 0) & np.isfinite(x + y + z + p)
    safe = [np.where(sound, c, 1.0) for c in (x, y, z, p)]
    value = over_logarithms(logarithm, lambda w, *_: 1.0, *safe)
    return np.where(sound, value, np.where(slow <= 0, np.inf, 0.0))


@of_arrays(2)
def hyperu_derivative(a: AnyArray, b: AnyArray, x: AnyArray, m: int, n: int) -> AnyArray:
    """The derivative of Tricomi's function U(a, b, x), m times in a and n in b."""
    if m == n == 0:
        return sp.hyperu(a, b, x)
    if np.any(a <= 0):
        raise ValueError("the derivative of hyperu in a and b is known only for a > 0.")

    def logarithm(w: AnyArray, a: AnyArray, b: AnyArray, x: AnyArray) -> AnyArray:
        return a * w + (b - a - 1) * np.logaddexp(w, 0.0) - x * np.exp(w)

    def weight(w: AnyArray, a: AnyArray, b: AnyArray, x: AnyArray) -> AnyArray:
        above = np.logaddexp(w, 0.0)
        slopes = [w - above - sp.psi(a), *(-sp.polygamma(k, a) for k in range(1, m))]
        return (bell(slopes) if m else 1.0) * above**n

    return over_logarithms(logarithm, weight, a, b, x) * sp.rgamma(a)
