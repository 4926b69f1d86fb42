"""Densities that scipy.stats computes in compiled code; distribution functions by integrals of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special as sp
import scipy.stats

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.operands import frozen
from pullback.scipy.rules.special.quadrature import gauss

if TYPE_CHECKING:
    from pullback.scipy.rules.stats.types import Distribution


@scipy_rule("scipy.stats._stats.geninvgauss_logpdf")
def generalized_inverse_gaussian(x: AnyArray | float, p: AnyArray | float, b: AnyArray | float) -> AnyArray:
    """(p - 1) log x - b (x + 1/x) / 2 - log(2 K_p(b)), x > 0."""
    return (p - 1) * np.log(x) - b * (x + 1 / x) / 2 - math.log(2) - np.log(sp.kve(p, b)) + b


@scipy_rule("scipy.stats._stats.genhyperbolic_logpdf")
def generalized_hyperbolic(
    x: AnyArray | float, p: AnyArray | float, a: AnyArray | float, b: AnyArray | float
) -> AnyArray:
    """p log g - (p - 1/2) log(a / r) + b x + log K_(p-1/2)(a r) / K_p(g) - log(2 pi) / 2.

    With g = sqrt(a^2 - b^2) and r = sqrt(1 + x^2).
    """
    g, r = np.sqrt((a - b) * (a + b)), np.sqrt(1 + x**2)
    bessels = np.log(sp.kve(p - 0.5, a * r)) - a * r - np.log(sp.kve(p, g)) + g
    return p * np.log(g) - (p - 0.5) * np.log(a / r) + b * x + bessels - 0.5 * math.log(2 * math.pi)


@scipy_rule("scipy.stats._stats.genhyperbolic_pdf")
def generalized_hyperbolic_density(
    x: AnyArray | float, p: AnyArray | float, a: AnyArray | float, b: AnyArray | float
) -> AnyArray:
    """The exponential of its logarithm."""
    return np.exp(generalized_hyperbolic(x, p, a, b))


@scipy_rule("scipy.stats._stats.von_mises_cdf")
def von_mises_distribution(kappa: ArrayLike, x: AnyArray | float) -> AnyArray:
    """SciPy's value, with the derivatives of the tail beyond x."""
    given = [frozen(v, "scipy.stats.vonmises.cdf") for v in (kappa, x)]
    value = genuine("scipy.stats._stats.von_mises_cdf")(*given)
    near = given[1] - 2 * math.pi * np.round(given[1] / (2 * math.pi))
    side = np.where(near < 0, -1.0, 1.0)
    start = np.broadcast_to(side * (x + (near - given[1])), value.shape)
    far = np.broadcast_to(9 / np.sqrt(np.maximum(given[0], 1.0)), value.shape)  # nine standard deviations
    length = np.where(math.pi - start < far, math.pi - start, far)
    nodes, weights = gauss(64)
    kappa = np.broadcast_to(kappa, value.shape)[..., None]
    density = np.exp(kappa * sp.cosm1(start[..., None] + length[..., None] * nodes)) / (2 * math.pi * sp.i0e(kappa))
    found = -side * length * (density @ weights)
    return found + (value - frozen(found, "scipy.stats.vonmises.cdf"))


def _by_integral(kind: str) -> None:
    """SciPy gives C code to the quadrature there; in general it gives the density."""

    @scipy_rule(f"scipy.stats._continuous_distns.{kind}._cdf")
    def _cdf(self: Distribution, x: AnyArray | float, *shapes: object) -> AnyArray:
        return clone(scipy.stats.rv_continuous._cdf)(self, x, *shapes)

    @scipy_rule(f"scipy.stats._continuous_distns.{kind}._sf")
    def _sf(self: Distribution, x: AnyArray | float, *shapes: object) -> AnyArray:
        return 1 - _cdf(self, x, *shapes)


_by_integral("geninvgauss_gen")
_by_integral("genhyperbolic_gen")


@scipy_rule("scipy.stats._distn_infrastructure.rv_continuous._entropy")
def entropy(self: Distribution, *shapes: object) -> AnyArray:
    """SciPy's integral, but where the density ends in the midst of it, at a number that moves with the shapes."""
    closed = _CLOSED.get(self.name)
    return clone(scipy.stats.rv_continuous._entropy)(self, *shapes) if closed is None else closed(*shapes)


def _pearson3_entropy(skew: AnyArray) -> AnyArray:
    """That of a gamma distribution of shape 4 / skew^2, shrunk by 2 / |skew|."""
    shape = 4 / skew**2
    return shape + sp.gammaln(shape) + (1 - shape) * sp.psi(shape) - np.log(2 / np.abs(skew))


def _kappa4_entropy(h: AnyArray, k: AnyArray) -> AnyArray:
    """1 - h + (k - 1) L: the integral of log Q'(u), of the quantiles Q, where L is that of log((1 - u^h) / h)."""
    limit = np.equal(h, 0)
    size = np.abs(np.where(limit, 1.0, h))
    known = np.where(h < 0, size, 0.0) - sp.psi(1 + 1 / size) - np.log(size)
    return 1 - h + (k - 1) * (np.where(limit, 0.0, known) - np.euler_gamma)


_CLOSED: dict[str, Callable[..., Any]] = {"kappa4": _kappa4_entropy, "pearson3": _pearson3_entropy}


@scipy_rule("scipy.stats._distn_infrastructure.rv_continuous._mom1_sc")
def moment(self: Distribution, order: int, *shapes: object) -> AnyArray:
    """SciPy's integral of powers of quantiles, with the derivatives of the integral over the density."""
    given = [frozen(v, "moment") for v in (order, *shapes)]
    value = scipy.stats.rv_continuous._mom1_sc(self, *given)
    found = clone(scipy.stats.rv_continuous._mom0_sc)(self, order, *shapes)
    return found + (value - frozen(found, "moment"))


@scipy_rule("scipy.stats._distn_infrastructure.rv_continuous._mom_integ0")
def moment_of_density(self: Distribution, x: AnyArray | float, order: int, *shapes: object) -> AnyArray:
    """x^order p."""
    return _of_density(lambda density: x**order * density, self.pdf(x, *shapes))


@scipy_rule("scipy.stats._distn_infrastructure.entr")
def entropy_of_density(density: ArrayLike) -> AnyArray:
    """-p log p."""
    return _of_density(sp.entr, density)


def _of_density(function: Callable[[Any], Any], density: ArrayLike) -> AnyArray:
    """The value of a function; 0, with the slope 0, where the density is too small for a number."""
    tiny = np.asarray(np.equal(density, 0))
    return np.where(tiny, 0.0, function(np.where(tiny, 1.0, density)))


@scipy_rule(
    "scipy.optimize._bracket._bracket_minimum",
    "scipy.optimize._bracket._bracket_root",
    "scipy.optimize._chandrupatla._chandrupatla",
    "scipy.optimize._chandrupatla._chandrupatla_minimize",
)
def search(*_: object, **__: object) -> None:
    """Refusal: of what a random variable's methods search, the steps have derivatives, and not the answer."""
    raise UnsupportedError(
        "SciPy has no formula for this quantile or mode of a random variable, and searches it; what it finds has no "
        "derivative here. The quantiles of distributions such as scipy.stats.gamma have one: gamma.ppf(q, a)."
    )
