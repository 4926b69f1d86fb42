"""NumPy's functions of polynomials' coefficients, highest power first; `np.poly1d` of Tensors is made of these."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Iterable
from types import FrameType
from typing import Any

import numpy as np

from pullback.core.array_type import check
from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Axes
from pullback.interop.operands import array, astype, floating, frozen, is_hidden, needs_grad, tensor_of
from pullback.interop.registry import rule


def coefficients(p: ArrayLike | np.poly1d) -> AnyArray:
    """The coefficients of a vector, a number or a poly1d."""
    return np.atleast_1d(array(p.coeffs if isinstance(p, np.poly1d) else p))


def _like(given: Iterable[object], result: AnyArray) -> AnyArray | np.poly1d:
    """The result, as a poly1d if one of the arguments is one."""
    return np.poly1d(result) if any(isinstance(p, np.poly1d) for p in given) else result


@rule("polyval")
def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """np.polyval, by Horner's scheme."""
    result: Any = 0
    if not isinstance(x, np.poly1d):
        x = array(x)
        result = np.zeros_like(x)
    for coefficient in coefficients(p):
        result = result * x + coefficient
    return result


@rule("polyadd")
def polyadd(a1: ArrayLike, a2: ArrayLike) -> AnyArray | np.poly1d:
    """np.polyadd."""
    p, q = _as_long(coefficients(a1), coefficients(a2))
    return _like((a1, a2), p + q)


@rule("polysub")
def polysub(a1: ArrayLike, a2: ArrayLike) -> AnyArray | np.poly1d:
    """np.polysub."""
    p, q = _as_long(coefficients(a1), coefficients(a2))
    return _like((a1, a2), p - q)


def _as_long(p: AnyArray, q: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Both with as many coefficients, the first of which are 0."""
    missing = len(p) - len(q)
    zeros = np.zeros(abs(missing), (q if missing > 0 else p).dtype)
    if missing > 0:
        q = np.concatenate([zeros, q])
    elif missing < 0:
        p = np.concatenate([zeros, p])
    return p, q


@rule("polymul")
def polymul(a1: ArrayLike, a2: ArrayLike) -> AnyArray | np.poly1d:
    """np.polymul: leading coefficients that are 0 are left out of the result, and keep their part in the gradient."""
    p, q = coefficients(a1), coefficients(a2)
    lead = [_leading_zeros(c) for c in (p, q)]
    return _like((a1, a2), np.convolve(p, q)[sum(lead) :])


def _leading_zeros(c: AnyArray) -> int:
    """How many to leave out; the same for all samples, of which none may have a leading 0 then."""
    if is_hidden(c):
        if len(c) > 1:
            check(functools.partial(_no_zero, "polymul", "the leading coefficient"), c[0])
        return 0
    return min(len(c) - len(np.trim_zeros(frozen(c, "polymul"), "f")), len(c) - 1)


def _no_zero(name: str, which: str, coefficient: AnyArray) -> None:
    if np.any(np.isclose(coefficient, 0, rtol=1e-14)):
        raise UnsupportedError(
            f"np.{name}: {which} is 0 in a sample of vmap, so the shape of the result would differ between samples."
        )


@rule("polydiv")
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[AnyArray | np.poly1d, AnyArray | np.poly1d]:
    """np.polydiv: quotient and remainder."""
    p, q = coefficients(u) + 0.0, coefficients(v) + 0.0
    dtype = np.result_type(p, q)
    quotient, r, n = [], astype(p, dtype), len(q)
    for k in range(len(p) - n + 1):
        d = r[k] / q[0]
        quotient.append(d)
        r = np.concatenate([r[:k], r[k : k + n] - d * q, r[k + n :]])
    if is_hidden(r):  # what was divided away is 0 in all samples
        r = r[min(len(quotient), len(r) - 1) :]
        if len(r) > 1:
            check(functools.partial(_no_zero, "polydiv", "the leading coefficient of the remainder"), r[0])
    while len(r) > 1 and not is_hidden(r) and np.allclose(frozen(r[0], "polydiv"), 0, rtol=1e-14):
        r = r[1:]
    whole = np.stack(quotient) if quotient else tensor_of(np.zeros(1, dtype))
    return _like((u, v), whole), _like((u, v), r)


@rule("polyder")
def polyder(p: ArrayLike, m: int = 1) -> AnyArray | np.poly1d:
    """np.polyder."""
    if (m := int(m)) < 0:
        raise ValueError("np.polyder: the order of the derivative must not be negative (see polyint).")
    c = coefficients(p) if m else array(p)
    for _ in range(min(m, len(c))):
        c = c[:-1] * np.arange(len(c) - 1, 0, -1)
    return _like((p,), c)


@rule("polyint")
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> AnyArray | np.poly1d:
    """np.polyint; differentiable in the constants too."""
    if (m := int(m)) < 0:
        raise ValueError("np.polyint: the order of the integral must not be negative (see polyder).")
    constants = np.zeros(m) if k is None else np.atleast_1d(array(k))
    if len(constants) == 1 and m > 1:
        constants = np.broadcast_to(constants, (m,))
    if len(constants) < m:
        raise ValueError(f"np.polyint: k must be a number or a vector of {m} constants, got {len(constants)}.")
    c = coefficients(p) if m else array(p)
    for i in range(m):
        c = np.concatenate([c / np.arange(len(c), 0, -1), constants[i : i + 1]])
    return _like((p,), c)


@rule("poly")
def poly(seq_of_zeros: ArrayLike) -> AnyArray | float:
    """np.poly: the coefficients of the polynomial with these roots, or of a matrix's characteristic polynomial."""
    zeros: AnyArray = np.atleast_1d(array(seq_of_zeros))
    real = False
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        real = zeros.dtype.kind != "c"
        zeros = np.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError(f"np.poly: expected a vector or a square matrix, got shape {tuple(zeros.shape)}.")
    zeros = floating(zeros)
    result: AnyArray = np.ones(1, zeros.dtype)
    for zero in zeros:
        result = np.convolve(result, np.stack([np.ones((), zeros.dtype), -zero]))
    if is_hidden(zeros):
        return np.real(result) if real else result
    known = np.sort(np.asarray(frozen(zeros, "poly"), complex))
    if zeros.dtype.kind == "c" and np.all(known == np.sort(known.conj())):  # pairs of conjugates
        result = np.real(result)
    return result if len(zeros) else 1.0


@rule("roots")
def roots(p: ArrayLike) -> AnyArray:
    """np.roots: the eigenvalues of the companion matrix, differentiable where they are simple."""
    p = np.atleast_1d(array(p))
    if p.ndim != 1:
        raise ValueError(f"np.roots: expected a vector, got shape {tuple(p.shape)}.")
    p = floating(p)
    if is_hidden(p):
        return _hidden_roots(p)
    plain = frozen(p, "roots")
    known = np.roots(plain)
    if not needs_grad(p):
        return tensor_of(known)
    if not plain[0]:
        raise UnsupportedError(
            "np.roots: the leading coefficient is 0, where a root is infinite; leave this coefficient out."
        )
    gaps = np.abs(known[:, None] - known) + np.where(np.eye(len(known)), np.inf, 0)
    if (gaps < 1e-7 * (1 + np.abs(known))).any():
        raise UnsupportedError(
            f"np.roots: {known[gaps.min(1).argmin()]:.6g} is a multiple root, and such a root has no derivative."
        )
    if not len(known):
        return tensor_of(known)
    found: AnyArray = np.linalg.eigvals(_companion(p))
    distance = np.abs(frozen(found, "roots")[:, None] - known)
    roots_: AnyArray = np.take(found, distance.argmin(0))  # in NumPy's order, which has the root 0 last
    return roots_


def _companion(p: AnyArray) -> AnyArray:
    """The matrix whose eigenvalues are the roots."""
    return np.concatenate([(-p[1:] / p[0])[None], np.eye(len(p) - 2, len(p) - 1, dtype=p.dtype)])


def _hidden_roots(p: AnyArray) -> AnyArray:
    """The roots for many samples at once, complex, where all have as many."""
    if len(p) < 2:
        return tensor_of(np.zeros(0))
    check(functools.partial(_no_zero, "roots", "the leading coefficient"), p[0])
    check(functools.partial(_no_zero, "roots", "the last coefficient"), p[-1])  # NumPy puts the root 0 last
    found = np.linalg.eigvals(_companion(p))
    if needs_grad(p):
        check(_examine_gaps, found)
    return found


def _examine_gaps(roots: np.ndarray[Any, Any]) -> None:
    gaps = np.abs(roots[..., :, None] - roots[..., None, :]) + np.where(np.eye(roots.shape[-1]), np.inf, 0)
    if (gaps < 1e-7 * (1 + np.abs(roots[..., None]))).any():
        raise UnsupportedError("np.roots: a sample of vmap has a multiple root, and such a root has no derivative.")


@rule("polyfit")
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """np.polyfit: least squares, by np.linalg.lstsq; differentiable in the places, the values and the weights."""
    count = int(deg) + 1
    x, y = array(x) + 0.0, array(y) + 0.0
    if deg < 0:
        raise ValueError(f"np.polyfit: deg must be at least 0, got {deg}.")
    if x.ndim != 1 or not x.size:
        raise TypeError(f"np.polyfit: x must be a vector that is not empty, got shape {tuple(x.shape)}.")
    if y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise TypeError(f"np.polyfit: y must have {x.shape[0]} values or rows of them, got shape {tuple(y.shape)}.")
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = np.vander(x, count), y
    if w is not None:
        w = array(w) + 0.0
        if w.shape != x.shape:
            raise TypeError(f"np.polyfit: w must be a vector as long as x, got shape {tuple(w.shape)}.")
        left, right = left * w[:, None], right * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    sides: Any = right
    c, residuals, rank, values = np.linalg.lstsq(left, sides, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, values, rcond
    if is_hidden(rank):
        check(functools.partial(_examine_rank, count), rank)
    elif rank != count:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=4)
    if not cov:
        return c
    base = np.linalg.inv(left.T @ left) / np.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        factor: Any = 1
    elif len(x) <= count:
        raise ValueError("np.polyfit: cov needs more points than coefficients.")
    else:
        factor = residuals / (len(x) - count)
    return c, base * factor if y.ndim == 1 else base[:, :, None] * factor


def _examine_rank(count: int, rank: Any) -> None:
    if np.any(rank != count):
        warnings.warn("Polyfit may be poorly conditioned in a sample of vmap", np.exceptions.RankWarning, stacklevel=4)


def _makes_poly1d(frame: FrameType | None) -> bool:
    for _ in range(12):  # through the dispatch of one call
        if frame is None or frame.f_code is np.poly1d.__init__.__code__:
            break
        frame = frame.f_back
    else:
        return False
    return frame is not None


@rule("trim_zeros")
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axes = None) -> AnyArray:
    """np.trim_zeros."""
    filt = array(filt)
    if sorted(trim.lower()) not in (["b"], ["f"], ["b", "f"]):
        raise ValueError(f"np.trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}.")
    axes = range(filt.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, filt.ndim)
    places = np.argwhere(frozen(filt, "trim_zeros"))
    if needs_grad(filt) and (not len(places) or places[0, 0]) and _makes_poly1d(sys._getframe()):
        raise UnsupportedError(
            "np.poly1d drops leading coefficients that are 0, so their gradients, which are not 0, would be lost. "
            "Write np.polyval(coefficients, x), np.polymul, np.polyder, ... with the array of coefficients itself."
        )
    if not len(places):
        return filt[tuple(slice(0, 0) if i in axes else slice(None) for i in range(filt.ndim))]
    first = places.min(0) if "f" in trim.lower() else [None] * filt.ndim
    last = places.max(0) + 1 if "b" in trim.lower() else [None] * filt.ndim
    return filt[tuple(slice(first[i], last[i]) if i in axes else slice(None) for i in range(filt.ndim))]
