"""scipy.special's functions that are Python, or objects, around compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Axes, Out
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.ways import on_arrays
from pullback.interop.operands import array, axes_of, floating, needs_grad, ops, values
from pullback.scipy.rules.special import operators as special


def _whole(name: str, argument: str, x: ArrayLike) -> AnyArray:
    """The whole numbers of an argument that is not differentiated, as an array of integers."""
    given = values(x, name)
    if np.any(given != np.trunc(given)):
        raise ValueError(f"scipy.special.{name}: {argument} must be a whole number beside tensors, got {given}.")
    return given.astype(int)


def _refuse(name: str, what: str) -> UnsupportedError:
    return UnsupportedError(f"scipy.special.{name}: {what} is not supported on tensors that are differentiated.")


@scipy_rule("scipy.special.zeta")
def zeta(x: ArrayLike, q: ArrayLike | None = None, out: Out = None) -> AnyArray:
    """Riemann's zeta function, or with q Hurwitz's."""
    if out is not None:
        raise _refuse("zeta", "out=")
    return special.riemann_zeta(array(x)) if q is None else special.hurwitz_zeta(array(x), array(q))


# The ufuncs that these functions call, where `adopt()` is not in force.
scipy_rule("scipy.special._zeta")(special.hurwitz_zeta)
scipy_rule("scipy.special._riemann_zeta")(special.riemann_zeta)


@scipy_rule("scipy.special.polygamma")
def polygamma(n: ArrayLike, x: ArrayLike) -> AnyArray:
    """The n-th derivative of digamma."""
    n, x = _whole("polygamma", "n", n), array(x)
    if n.ndim == 0:
        return ops.polygamma(int(n), x)
    sign = (-1.0) ** (n + 1)
    higher = sign * np.asarray(special.gamma(n + 1.0)) * special.hurwitz_zeta(np.maximum(n, 1) + 1.0, x)
    return np.where(n == 0, special.psi(x), higher)


@scipy_rule("scipy.special.lambertw", "scipy.special._lambertw")
def lambertw(z: ArrayLike, k: ArrayLike = 0, tol: float = 1e-8) -> AnyArray:
    """A branch of Lambert's W."""
    k = _whole("lambertw", "k", k)
    if k.ndim:
        raise _refuse("lambertw", "an array of branches k")
    return special.lambert_w(array(z), int(k), float(tol))


@scipy_rule("scipy.special.logsumexp")
def logsumexp(
    a: ArrayLike, axis: Axes = None, b: ArrayLike | None = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(exp(a))): one operator; SciPy's own Python where there are weights, signs or complex numbers."""
    x = floating(array(a))
    if b is None and not return_sign and x.dtype.kind == "f" and x.size and (axes := axes_of(axis, x.ndim)):
        found = ops.logsumexp(x, axes, bool(keepdims))
        return found if found.ndim else found[()]  # a number
    genuine = on_arrays("scipy.special.logsumexp")
    if b is None or not x.size or not needs_grad(b := array(b)):
        return genuine(a, axis, b, keepdims, return_sign)
    found, sign = genuine(x, axis, b, True, True) if return_sign else (genuine(x, axis, b, True), 1.0)
    # SciPy leaves out the terms of weight 0, and with them their slopes. They are 0, and added here.
    left_out = (b == 0) & np.isfinite(found)
    beside = np.where(left_out, x - found, 0.0)
    if found.dtype.kind == "f":
        beside = np.minimum(beside, math.log(np.finfo(found.dtype).max))  # so that 0 times exp(beside) is 0
    more = np.where(left_out, b, 0.0) * np.exp(beside)
    found = found + np.log1p(np.sum(sign * more, axis=axis, keepdims=True))
    results = [y if keepdims else np.squeeze(y, axis)[()] for y in (found, sign)[: 1 + return_sign]]
    return tuple(results) if return_sign else results[0]


def _spherical(name: str, operator: Callable[..., Any], last: float, rest: float) -> None:
    """Enter a spherical Bessel function: f_n' = (n f_{n-1} last + (n + 1) f_{n+1} rest) / (2 n + 1)."""

    @scipy_rule(f"scipy.special.{name}")
    def rule(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> AnyArray:
        n, z = _whole(name, "n", n), array(z)
        if not derivative:
            return operator(n, z)
        below = np.where(n == 0, 0.0, last * n) * operator(np.maximum(n - 1, 0), z)
        return (below + rest * (n + 1) * operator(n + 1, z)) / (2 * n + 1)


_spherical("spherical_jn", special.spherical_j, 1.0, -1.0)
_spherical("spherical_yn", special.spherical_y, 1.0, -1.0)
_spherical("spherical_in", special.spherical_i, 1.0, 1.0)
_spherical("spherical_kn", special.spherical_k, -1.0, -1.0)


@scipy_rule("scipy.special.comb")
def comb(N: ArrayLike, k: ArrayLike, *, exact: bool = False, repetition: bool = False) -> AnyArray:
    """Binomial coefficients of real numbers; 0 where SciPy says so."""
    if exact:
        raise _refuse("comb", "exact=True, which is of whole numbers,")
    N, k = array(N), array(k)
    if repetition:
        N = N + k - 1
    known = np.asarray(values(np.greater_equal(N, k) & np.greater_equal(k, 0) & np.greater_equal(N, 0), "comb"))
    return np.where(known, special.binom(N, k), 0.0)


@scipy_rule("scipy.special.perm")
def perm(N: ArrayLike, k: ArrayLike, exact: bool = False) -> AnyArray:
    """N! / (N - k)! of real numbers; 0 where SciPy says so."""
    if exact:
        raise _refuse("perm", "exact=True, which is of whole numbers,")
    N, k = array(N), array(k)
    known = np.asarray(values(np.greater_equal(N, k) & np.greater_equal(k, 0) & np.greater_equal(N, 0), "perm"))
    return np.where(known, special.poch(N - k + 1, k), 0.0)


@scipy_rule("scipy.special.factorial")
def factorial(n: ArrayLike, exact: bool = False, extend: str = "zero") -> AnyArray:
    """Gamma(n + 1); 0 for negative n unless extend="complex"."""
    if exact:
        raise _refuse("factorial", "exact=True, which is of whole numbers,")
    n = array(n)
    if extend == "complex":
        return special.gamma(n + 1)
    if extend != "zero":
        raise ValueError(f"argument `extend` must be either 'zero' or 'complex', received: {extend}")
    negative = np.asarray(values(np.less(n, 0), "factorial"))
    return np.where(negative, 0.0, special.gamma(np.where(negative, 0.0, n) + 1))


@scipy_rule("scipy.special.multigammaln")
def multigammaln(a: Any, d: AnyArray | float) -> AnyArray:
    """The logarithm of the multivariate gamma function."""
    d = _whole("multigammaln", "d", d)
    a = array(a)
    if np.any(np.asarray(a.detach() if needs_grad(a) else a) <= 0.5 * (d - 1)):
        raise ValueError(f"condition a ({a}) > 0.5 * (d-1) ({0.5 * (d - 1)}) not met")
    return ops.mvlgamma(a, int(d))


@scipy_rule("scipy.special.diric")
def diric(x: ArrayLike, n: ArrayLike) -> AnyArray:
    """sin(n x / 2) / (n sin(x / 2)), a Chebyshev polynomial of cos(x / 2)."""
    given = values(n, "diric")
    sound = (given > 0) & (given == np.trunc(given))
    n = np.where(sound, given, 1.0)
    kernel = ops.special_chebyshev_polynomial_u(np.cos(array(x) / 2), n - 1) / n
    return np.where(sound, kernel, np.nan)


@scipy_rule("scipy.special.sinc")
def sinc(x: ArrayLike) -> AnyArray:
    """sin(pi x) / (pi x)."""
    return np.sinc(array(x))


@scipy_rule("scipy.special.softplus")
def softplus(x: ArrayLike, **kwargs: object) -> AnyArray:
    """log(1 + exp(x))."""
    if kwargs:
        raise _refuse("softplus", f"{next(iter(kwargs))}=")
    return np.logaddexp(0, array(x))


@scipy_rule("scipy.special.eval_sh_jacobi")
def eval_sh_jacobi(n: float, p: AnyArray | float, q: AnyArray | float, x: AnyArray | float) -> AnyArray:
    """Shifted Jacobi polynomials."""
    p, q, x = array(p), array(q), array(x)
    return special.eval_jacobi(n, p - q, q - 1, 2 * x - 1) / special.binom(2 * n + p - 1, n)


def _alone(name: str, diff_n: int) -> None:
    if diff_n:
        raise _refuse(name, "diff_n, whose gradient would be a derivative of the next order,")


@scipy_rule("scipy.special.sph_harm_y")
def sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, *, diff_n: int = 0) -> AnyArray:
    """Spherical harmonics."""
    _alone("sph_harm_y", diff_n)
    n, m = _whole("sph_harm_y", "n", n), _whole("sph_harm_y", "m", m)
    return special.spherical_harmonic(n, m, array(theta), array(phi))


@scipy_rule("scipy.special.sph_legendre_p")
def sph_legendre_p(n: ArrayLike, m: ArrayLike, theta: ArrayLike, *, diff_n: int = 0) -> AnyArray:
    """Spherical Legendre functions; SciPy's first dimension is that of derivatives."""
    _alone("sph_legendre_p", diff_n)
    n, m = _whole("sph_legendre_p", "n", n), _whole("sph_legendre_p", "m", m)
    return special.spherical_legendre(n, m, array(theta))[None]


@scipy_rule("scipy.special.legendre_p")
def legendre_p(n: ArrayLike, z: ArrayLike, *, diff_n: int = 0) -> AnyArray:
    """Legendre polynomials; SciPy's first dimension is that of derivatives."""
    _alone("legendre_p", diff_n)
    return ops.special_legendre_polynomial_p(array(z), _whole("legendre_p", "n", n))[None]
