"""Smooth functions that scipy.stats writes by |x| or sign(x): their slopes at 0, which abs loses.

The slope of abs at 0 is 0, between those of its two sides. What is smooth in x has the derivatives that it has on one
side, so that |x| is written here as x from 0 on. The values are SciPy's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.special as sp

from pullback.core.numpy_types import AnyArray
from pullback.interop.adopt.rules import scipy_rule

if TYPE_CHECKING:
    from pullback.scipy.rules.stats.types import Distribution


def _size(x: AnyArray | float, smooth: AnyArray | bool = True) -> AnyArray:
    """|x|, with the slope 1 at 0 where `smooth`."""
    return np.where((x >= 0) & smooth, x, np.abs(x))


@scipy_rule(
    "scipy.stats._continuous_distns.logistic_gen._logpdf", "scipy.stats._new_distributions.Logistic._logpdf_formula"
)
def logistic(self: Distribution, x: AnyArray | float, **_: object) -> AnyArray:
    """-|x| - 2 log(1 + exp(-|x|))."""
    y = -_size(x)
    return y - 2 * sp.log1p(np.exp(y))


@scipy_rule("scipy.stats._continuous_distns.genlogistic_gen._logpdf")
def generalized_logistic(self: Distribution, x: AnyArray | float, c: AnyArray | float) -> AnyArray:
    """log c - |x| - (c + 1) log(1 + exp(-|x|)), and (c - 1) x where x < 0."""
    size = _size(x)
    return np.log(c) + (-(c - 1) * np.less(x, 0) - 1) * size - (c + 1) * sp.log1p(np.exp(-size))


@scipy_rule("scipy.stats._continuous_distns.cauchy_gen._logpdf")
def cauchy(self: Distribution, x: AnyArray | float) -> AnyArray:
    """-log(pi (1 + x^2)), of x and of 1 / x, so that no square overflows."""
    near = np.abs(x) < 1
    far = np.abs(np.where(near, 1.0, x))
    inner = np.where(near, x, 0.0)
    return -math.log(math.pi) - np.where(near, np.log1p(inner**2), 2 * np.log(far) + np.log1p((1 / far) ** 2))


@scipy_rule("scipy.stats._continuous_distns.gennorm_gen._logpdf")
def generalized_normal(self: Distribution, x: AnyArray | float, beta: AnyArray | float) -> AnyArray:
    """log(beta / (2 Gamma(1 / beta))) - |x|^beta, which has a kink unless beta > 1."""
    return np.log(0.5 * beta) - sp.gammaln(1 / beta) - _size(x, beta > 1) ** beta


@scipy_rule("scipy.stats._continuous_distns.gennorm_gen._cdf")
def generalized_normal_distribution(self: Distribution, x: AnyArray | float, beta: AnyArray | float) -> AnyArray:
    """1/2 + sign(x) P(1 / beta, |x|^beta) / 2; its series x (1 - |x|^beta / (beta + 1)) near 0.

    There |x|^beta has no slope that is a number, or too small a one.
    """
    near = np.abs(x) ** beta < 1e-12
    far, inner = np.where(near, 1.0, x), np.where(near, x, 0.0)
    side = 0.5 * np.sign(far)
    tail = (0.5 + side) - side * sp.gammaincc(1 / beta, np.abs(far) ** beta)
    bend = np.where(inner < 0, -1.0, 1.0) * _size(inner, beta > 1) ** (beta + 1) / (beta + 1)
    return np.where(near, 0.5 + 0.5 * (inner - bend) / sp.gamma(1 + 1 / beta), tail)


@scipy_rule("scipy.stats._continuous_distns.dgamma_gen._pdf")
def double_gamma(self: Distribution, x: AnyArray | float, a: AnyArray | float) -> AnyArray:
    """|x|^(a - 1) exp(-|x|) / (2 Gamma(a)), which has a kink unless a > 2."""
    size = _size(x, a > 2)
    return 1 / (2 * sp.gamma(a)) * size ** (a - 1) * np.exp(-size)


@scipy_rule("scipy.stats._continuous_distns.dweibull_gen._pdf")
def double_weibull(self: Distribution, x: AnyArray | float, c: AnyArray | float) -> AnyArray:
    """c / 2 |x|^(c - 1) exp(-|x|^c), which has a kink unless c > 2."""
    size = _size(x, c > 2)
    return c / 2 * size ** (c - 1) * np.exp(-(size**c))


@scipy_rule("scipy.stats._continuous_distns.dweibull_gen._cdf")
def double_weibull_distribution(self: Distribution, x: AnyArray | float, c: AnyArray | float) -> AnyArray:
    """1/2 exp(-|x|^c) on the left, and what that lacks to 1 on the right."""
    half = 0.5 * np.exp(-(_size(x) ** c))
    return np.where(x >= 0, 1 - half, half)


@scipy_rule("scipy.stats._continuous_distns.dweibull_gen._sf")
def double_weibull_tail(self: Distribution, x: AnyArray | float, c: AnyArray | float) -> AnyArray:
    """1/2 exp(-|x|^c) on the right, and what that lacks to 1 on the left."""
    return double_weibull_distribution(self, -x, c)
