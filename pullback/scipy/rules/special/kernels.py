"""Kernels of the operators in declarations.yaml: SciPy's functions, by their names, and derivatives of ours."""

# ruff: noqa: F401 - kernels are found here by their names
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.special as sp

from pullback.arrays.numpy.special.bessels import iv, jv, kv, yv
from pullback.arrays.numpy.special.gammas import polygamma
from pullback.core.numpy_types import AnyArray, Numeric
from pullback.scipy.rules.special.bessels import (
    iv_derivative,
    ive_derivative,
    jv_derivative,
    kv_derivative,
    kve_derivative,
    yv_derivative,
)
from pullback.scipy.rules.special.carlson import carlson, hyperu_derivative
from pullback.scipy.rules.special.integrals import (
    beta_density_derivative,
    betainc_derivative,
    digamma_difference,
    gamma_density_derivative,
    gammainc_derivative,
    stdtr_derivative,
    t_density_derivative,
)
from pullback.scipy.rules.special.mixtures import (
    chndtr_density,
    chndtr_derivative,
    kolmogorov_derivative,
    ncfdtr_part,
    nctdtr_derivative,
)
from pullback.scipy.rules.special.moments import exp_moment, log1p_moment
from pullback.scipy.rules.special.series import (
    gegenbauer_derivative,
    genlaguerre_derivative,
    hyp0f1_derivative,
    hyp1f1_derivative,
    hyp2f1_derivative,
    jacobi_derivative,
    wright_bessel_derivative,
    zeta_derivative,
)
from pullback.scipy.rules.special.waves import dawsn_derivative, voigt_derivative, wofz_derivative

# Of these the slopes hold for complex arguments too.
_COMPLEX = frozenset({
    "airy", "dawsn", "erfi", "exp1", "expi", "gamma", "hankel1", "hankel2", "loggamma", "psi", "rgamma", "wofz",
    "wrightomega", "hyp0f1", "hyp1f1", "hyp2f1", "fresnel", "eval_jacobi", "lambertw", "spherical_jn", "spherical_yn",
    "spherical_in", "spherical_kn",
})  # fmt: skip


def _of_reals(name: str) -> Callable[..., Any]:
    function = getattr(sp, name)

    def kernel(*args: object) -> AnyArray:
        if any(getattr(x, "dtype", np.dtype(float)).kind == "c" or type(x) is complex for x in args):
            raise ValueError("complex arguments have no derivative here.")
        return function(*args)

    kernel.__name__ = name
    return kernel


def _missing(name: str) -> Callable[..., Any]:
    def kernel(*args: object) -> None:
        raise NotImplementedError(f"the installed SciPy has no scipy.special.{name}.")

    return kernel


_NEWER = frozenset({"log_wright_bessel", "sph_harm_y", "sph_legendre_p"})  # than the oldest SciPy that will do


def __getattr__(name: str) -> Any:
    if not hasattr(sp, name):
        if name in _NEWER:
            return _missing(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(sp, name) if name in _COMPLEX else _of_reals(name)


def polygamma_of(z: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of digamma: of complex numbers by the recurrence and the asymptotic series."""
    if np.asarray(z).dtype.kind != "c":
        return polygamma(n, z)
    if n == 0:
        return sp.psi(z)
    z = np.asarray(z, complex)
    total = np.zeros_like(z)
    steps = np.maximum(np.ceil(20 + n - z.real), 0)
    sign, factorial = (-1) ** (n + 1), float(sp.gamma(n + 1))
    for k in range(int(np.max(steps, initial=0))):
        total = np.where(k < steps, total + (z + k) ** -(n + 1.0), total)
    y = z + steps
    series = sp.gamma(n) * y**-n + factorial / 2 * y ** -(n + 1.0)
    for k, b in enumerate(sp.bernoulli(24)[2::2], 1):
        series = series + b * sp.gamma(2 * k + n) / sp.gamma(2 * k + 1) * y ** -(2.0 * k + n)
    return sign * (factorial * total + series)


def hankel1_derivative(v: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of H1_v(x) in v, x > 0."""
    return jv_derivative(v, x, n) + 1j * yv_derivative(v, x, n) if n else sp.hankel1(v, x)


def hankel2_derivative(v: AnyArray, x: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of H2_v(x) in v, x > 0."""
    return jv_derivative(v, x, n) - 1j * yv_derivative(v, x, n) if n else sp.hankel2(v, x)


def spherical_legendre(n: AnyArray, m: AnyArray, theta: AnyArray) -> AnyArray:
    """sph_legendre_p, without the dimension for derivatives that it gives besides."""
    return sp.sph_legendre_p(n, m, theta)[0]


def smirnov_slope(n: Numeric, d: AnyArray) -> AnyArray:
    """The slope of the one-sided Kolmogorov-Smirnov survival function."""
    return sp._ufuncs._smirnovp(n, d)


def scaled_exp1(x: AnyArray) -> AnyArray:
    """x exp(x) exp1(x)."""
    return sp._ufuncs._scaled_exp1(x)


def landau_pdf(x: AnyArray) -> AnyArray:
    """The density of the standard Landau distribution."""
    return sp._ufuncs._landau_pdf(x, 0.0, 1.0)


def landau_cdf(x: AnyArray) -> AnyArray:
    """Its distribution function."""
    return sp._ufuncs._landau_cdf(x, 0.0, 1.0)


def landau_sf(x: AnyArray) -> AnyArray:
    """1 minus the distribution function."""
    return sp._ufuncs._landau_sf(x, 0.0, 1.0)


def cosine_cdf(x: AnyArray) -> AnyArray:
    """The distribution function of the cosine distribution."""
    return sp._ufuncs._cosine_cdf(x)


def riemann_zeta(x: AnyArray) -> AnyArray:
    """Riemann's zeta function of real numbers."""
    return _of_reals("zeta")(x)


def hurwitz_zeta(x: AnyArray, q: AnyArray) -> AnyArray:
    """Hurwitz's zeta function."""
    return _of_reals("zeta")(x, q)
