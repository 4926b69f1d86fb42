"""Densities at an end of the support where they are a power of the distance from it, and mostly 0.

SciPy computes exp(power log(x) + ...), of which the slope is 0 * inf at 0. Here it is x^power exp(...) there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special as sp
import scipy.stats

from pullback.core.numpy_types import AnyArray
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.operands import frozen
from pullback.scipy.rules.special.distributions import beta_density
from pullback.scipy.rules.special.powers import power_at_zero, where_not

if TYPE_CHECKING:
    from pullback.scipy.rules.stats.types import Distribution


def _of_scipy(kind: str) -> Callable[..., Any]:
    return clone(getattr(scipy.stats._continuous_distns, kind)._pdf)


def _begins_with(
    kind: str, power: Callable[..., Any], logarithm: Callable[..., Any], bend: Callable[..., Any] | None = None
) -> None:
    """Enter the density of a class, x^power times the exponential of the logarithm where x is 0.

    `bend` gives c and s of a logarithm whose series in x^c begins with s x^c: (c, s).
    """
    of_scipy = _of_scipy(kind)

    @scipy_rule(f"scipy.stats._continuous_distns.{kind}._pdf")
    def _pdf(self: Distribution, x: AnyArray | float, *shapes: AnyArray) -> AnyArray:
        zero, value = power_at_zero(x, power(*shapes))
        if zero is False or not np.any(frozen(zero, "any")):  # of others the logarithm need not be defined
            return of_scipy(self, x, *shapes)
        c, s = (1.0, 0.0) if bend is None else bend(*shapes)
        analytic = np.equal(c, np.floor(c))
        at_zero = value * np.exp(logarithm(np.where(zero & analytic, x, 0.0), *shapes))
        if not np.all(frozen(analytic, "all")):  # of x^c the derivatives may be infinite, and not of x^power x^c
            inner = np.where(zero & ~analytic, x, 0.0)
            at_zero = at_zero + s * inner ** (power(*shapes) + c) * np.exp(logarithm(0.0, *shapes))
        return np.where(zero, at_zero, of_scipy(self, np.where(zero, 0.5, x), *shapes))


def _f(x: AnyArray | float, dfn: AnyArray, dfd: AnyArray) -> AnyArray:
    m, n = dfn / 2, dfd / 2
    return m * np.log(dfn) + n * np.log(dfd) - (m + n) * np.log(dfd + dfn * x) - sp.betaln(m, n)


def _exponentiated_weibull(x: AnyArray | float, a: AnyArray, c: AnyArray) -> AnyArray:
    return np.log(a) + np.log(c) + (a - 1) * np.log(sp.exprel(-(x**c))) - x**c


def _argus(x: AnyArray | float, chi: AnyArray) -> AnyArray:
    tail = np.log(sp.gammainc(1.5, chi**2 / 2) / 2)
    return 3 * np.log(chi) - 0.5 * math.log(2 * math.pi) - tail + 0.5 * np.log1p(-(x**2)) - chi**2 * (1 - x**2) / 2


def _burr(x: AnyArray | float, c: AnyArray, d: AnyArray) -> AnyArray:
    return np.log(c * d) - (d + 1) * np.log1p(x**c)


def _nakagami(x: AnyArray | float, nu: AnyArray) -> AnyArray:
    return math.log(2) + nu * np.log(nu) - sp.gammaln(nu) - nu * x**2


_begins_with("argus_gen", lambda chi: 1.0, _argus)
_begins_with("burr_gen", lambda c, d: c * d - 1, _burr, lambda c, d: (c, -d - 1))
_begins_with("burr12_gen", lambda c, d: c - 1, _burr, lambda c, d: (c, -d - 1))
_begins_with("chi_gen", lambda k: k - 1, lambda x, k: (1 - k / 2) * math.log(2) - sp.gammaln(k / 2) - x**2 / 2)
_begins_with("chi2_gen", lambda k: k / 2 - 1, lambda x, k: -k / 2 * math.log(2) - sp.gammaln(k / 2) - x / 2)
_begins_with(
    "exponpow_gen",
    lambda b: b - 1,
    lambda x, b: 1 + np.log(b) + x**b - np.exp(x**b),
    lambda b: (b, 0.0),  # the term in x^(2 b) adds none to the derivatives of x^(b - 1) that are finite
)
_begins_with("exponweib_gen", lambda a, c: a * c - 1, _exponentiated_weibull, lambda a, c: (c, -(a + 1) / 2))
_begins_with("f_gen", lambda dfn, dfd: dfn / 2 - 1, _f)
_begins_with("gamma_gen", lambda a: a - 1, lambda x, a: -x - sp.gammaln(a))
_begins_with(
    "gengamma_gen", lambda a, c: a * c - 1, lambda x, a, c: np.log(c) - x**c - sp.gammaln(a), lambda a, c: (c, -1.0)
)
_begins_with("nakagami_gen", lambda nu: 2 * nu - 1, _nakagami)
_begins_with("rice_gen", lambda b: 1.0, lambda x, b: np.log(sp.i0(x * b)) - (x**2 + b**2) / 2)


@scipy_rule("scipy.stats._continuous_distns.rdist_gen._pdf")
def r_distributed(self: Distribution, x: AnyArray | float, c: AnyArray | float) -> AnyArray:
    """The density of a beta distribution between -1 and 1."""
    return beta_density((x + 1) / 2, c / 2, c / 2) / 2


_PARETO = _of_scipy("genpareto_gen")


@scipy_rule("scipy.stats._continuous_distns.genpareto_gen._pdf")
def generalized_pareto(self: Distribution, x: AnyArray | float, c: AnyArray | float) -> AnyArray:
    """(1 + c x)^(-1 - 1/c), which ends where the base is 0."""
    ended, value = power_at_zero(1 + c * x, -1 - 1 / np.where(np.equal(c, 0), 1.0, c))
    return value * _PARETO(self, where_not(ended, x, 0.0), c)


_GEOMETRIC = "scipy.stats._discrete_distns.geom_gen"


@scipy_rule(f"{_GEOMETRIC}._sf")
def geometric_tail(self: Distribution, x: AnyArray | float, p: AnyArray | float) -> AnyArray:
    """(1 - p)^k."""
    sure, power = power_at_zero(1 - p, np.floor(x))
    return power * np.exp(np.floor(x) * np.log1p(-where_not(sure, p, 0.0)))


@scipy_rule(f"{_GEOMETRIC}._cdf")
def geometric_distribution(self: Distribution, x: AnyArray | float, p: AnyArray | float) -> AnyArray:
    """1 - (1 - p)^k."""
    sure, power = power_at_zero(1 - p, np.floor(x))
    return np.where(sure, 1 - power, -np.expm1(np.floor(x) * np.log1p(-where_not(sure, p, 0.0))))
