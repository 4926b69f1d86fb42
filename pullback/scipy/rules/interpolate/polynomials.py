"""Polynomials and rational functions through points.

SciPy takes the value of a node where a point is one, which has no slope: here the formula is one that holds at nodes.
`np.poly1d` drops coefficients that are 0 at its front, and their gradients with them: here they stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import factorial

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.operands import array, floating, moveaxis
from pullback.scipy.rules.interpolate.pieces import picked

if TYPE_CHECKING:
    from scipy.interpolate import AAA, BarycentricInterpolator, FloaterHormannInterpolator


def rational(x: AnyArray, nodes: AnyArray, weights: AnyArray, y: AnyArray) -> AnyArray:
    """sum of w_j y_j / (x - x_j) over sum of w_j / (x - x_j), at the points x (n,); y has the shape (m, r).

    With i the nearest node it is y_i + (x - x_i) sum' c_j (y_j - y_i) / (w_i + (x - x_i) sum' c_j), where the sums
    leave out i and c_j = w_j / (x - x_j): all derivatives hold at x = x_i too.
    """
    infinite = np.isinf(x)
    x = np.where(infinite, 0, x)
    away = x[:, None] - nodes
    i = np.argmin(np.abs(away), axis=1)
    others = np.arange(nodes.shape[0]) != i[:, None]
    c = np.where(others, weights / np.where(others, away, 1), 0)
    gap, own, total = x - picked(nodes, i), picked(y, i), np.sum(c, axis=1)
    found = own + (gap / (picked(weights, i) + gap * total))[:, None] * (c @ y - total[:, None] * own)
    if not np.any(infinite):
        return found
    return np.where(infinite[:, None], np.sum(weights[:, None] * y, axis=0) / np.sum(weights), found)


@scipy_rule("scipy.interpolate._polyint.BarycentricInterpolator._evaluate")
def evaluate(self: BarycentricInterpolator, x: ArrayLike) -> AnyArray:
    """The polynomial at the points x, of shape (n,)."""
    return rational(array(x), array(self.xi), array(self.wi), array(self.yi))


@scipy_rule("scipy.interpolate._bary_rational._BarycentricRational.__call__")
def call(self: AAA | FloaterHormannInterpolator, z: ArrayLike) -> AnyArray:
    """The rational function at the points z."""
    z, y = array(z), array(self._support_values)
    found = rational(z.ravel(), array(self._support_points), array(self.weights), y.reshape(y.shape[0], -1))
    found = found.reshape(z.shape + self._shape)
    return moveaxis(found, 0, self._axis) if z.ndim else found


@scipy_rule("scipy.interpolate._pade.poly1d")
def polynomial(coefficients: ArrayLike) -> np.poly1d:
    """np.poly1d of all of these coefficients."""
    made: Any = np.poly1d([1.0])
    made._coeffs = array(coefficients)
    return made


@scipy_rule("scipy.interpolate.lagrange")
def lagrange(x: ArrayLike, w: ArrayLike) -> np.poly1d:
    """The polynomial through the points."""
    x, w = array(x), array(w)
    total: AnyArray | float = 0
    for j in range(len(x)):
        basis = w[j].reshape(1)
        for k in range(len(x)):
            if k != j:
                basis = np.convolve(basis, np.stack([np.ones_like(x[k]), -x[k]])) / (x[j] - x[k])
        total = total + basis
    return polynomial(total)


@scipy_rule("scipy.interpolate.approximate_taylor_polynomial")
def approximate_taylor_polynomial(
    f: Callable[..., Any], x: AnyArray | float, degree: int, scale: AnyArray | float, order: int | None = None
) -> np.poly1d:
    """The Taylor polynomial at x of the polynomial through values of f around it."""
    count = (degree if order is None else order) + 1
    points = scale * np.cos(np.linspace(0, np.pi, num=count, endpoint=False)) + x
    derivatives = RULES["scipy.interpolate.KroghInterpolator"](points, floating(array(f(points))))
    return polynomial((derivatives.derivatives(x, der=degree + 1) / factorial(np.arange(degree + 1)))[::-1])
