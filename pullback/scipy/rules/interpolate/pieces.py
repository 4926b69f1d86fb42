"""Piecewise polynomials: what SciPy's classes compute in compiled code, by NumPy's functions on our arrays.

The piece that a point is in is a whole number, constant between breakpoints; on it Horner's scheme is differentiable in
coefficients, breakpoints and point.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import perm
from typing import Any

import numpy as np
from scipy.interpolate import _cubic, _ppoly

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.tensor import Tensor
from pullback.interop.adopt.creation import buffer
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.operands import array, floating, frozen, is_hidden, moveaxis


def picked(a: AnyArray, i: AnyArray, axis: int = 0) -> AnyArray:
    """The parts of these numbers along an axis; samples of `vmap` may have numbers of their own."""
    if is_hidden(i) and not isinstance(a, Tensor):
        a = buffer(np.array(a))
    return a[i] if axis == 0 else a[:, i]


def _piece(x: AnyArray, points: AnyArray) -> AnyArray:
    """The number of the piece that each point is in, the first or last one if outside; x may fall."""
    last = x.shape[0] - 2
    if _falls(x):
        return np.clip(last - np.searchsorted(x[1:-1][::-1], points, "left"), 0, last)
    return np.searchsorted(x[1:-1], points, "right")


def _falls(x: AnyArray) -> bool:
    return bool(x[0] > x[-1])


def _outside(x: AnyArray, points: AnyArray) -> AnyArray:
    """Where a point is outside of all pieces, or no number."""
    low, high = (x[-1], x[0]) if _falls(x) else (x[0], x[-1])
    return ~((points >= low) & (points <= high))


def _local(c: AnyArray, step: AnyArray, nu: int) -> AnyArray:
    """The derivative of order nu of sum c[k - i] step^i, along the first axis of c."""
    degree = c.shape[0] - 1
    if nu > degree:
        return 0 * (c[0] * step)
    total = perm(degree, nu) * c[0]
    for i, power in enumerate(range(degree - 1, nu - 1, -1), 1):
        total = total * step + perm(power, nu) * c[i]
    return total


@scipy_rule("scipy.interpolate._cubic.prepare_input")
def prepare_input(x: ArrayLike, y: Any, axis: int, dydx: Any = None, **namespace: object) -> tuple[Any, ...]:
    """The checks of SciPy's; of many samples at once, which have no numbers to show, those of their shapes."""
    checked = clone(_cubic.prepare_input)
    if not is_hidden(y, dydx) or is_hidden(x):
        made: tuple[Any, ...] = checked(x, y, axis, dydx, **namespace)
        return made
    zeros = [None if given is None else np.zeros(np.shape(given), given.dtype) for given in (y, dydx)]
    x, dx, _, axis, _ = checked(x, zeros[0], axis, zeros[1], **namespace)
    y, dydx = (None if given is None else moveaxis(floating(given), axis, 0) for given in (y, dydx))
    return x, dx, y, axis, dydx


@scipy_rule("scipy.interpolate._ppoly.evaluate")
def evaluate(c: ArrayLike, x: ArrayLike, xp: ArrayLike, dx: int, extrapolate: bool, out: AnyArray) -> None:
    """Write into `out`, of shape (r, n), the polynomials c, of shape (k, m, n), or derivatives, at the r points."""
    if dx < 0:
        raise ValueError("Order of derivative cannot be negative")
    c, x, xp = map(array, (c, x, xp))
    i = _piece(x, xp)
    found = _local(picked(c, i, 1), (xp - picked(x, i))[:, None], dx)
    unknown = np.isnan(xp) if extrapolate else _outside(x, xp)
    out[...] = np.where(unknown[:, None], np.nan, found)


@scipy_rule("scipy.interpolate._ppoly.integrate")
def integrate(c: ArrayLike, x: ArrayLike, a: float, b: ArrayLike, extrapolate: bool, out: AnyArray) -> None:
    """Write into `out`, of shape (n,), the integrals of the polynomials from a to b, where a <= b."""
    c, x = array(c), array(x)
    ends = np.stack([array(a), array(b)]).astype(float)
    whole = _primitive(c, x)
    i = _piece(x, ends)
    found = _local(picked(whole, i, 1), (ends - picked(x, i))[:, None], 0)
    unknown = np.isnan(ends) if extrapolate else _outside(x, ends)
    out[...] = np.where(np.any(unknown), np.nan, found[1] - found[0])


def _primitive(c: AnyArray, x: AnyArray) -> AnyArray:
    """Coefficients of the continuous primitive that is 0 at x[0]."""
    powers = np.arange(c.shape[0], 0, -1)[:, None, None]
    higher = np.concatenate([c / powers, 0 * c[:1]])
    jumps = _local(higher, np.diff(x)[:, None], 0)
    below = np.cumsum(np.concatenate([0 * jumps[:1], jumps[:-1]]), axis=0)
    return np.concatenate([higher[:-1], below[None]])


@scipy_rule("scipy.interpolate._ppoly.fix_continuity")
def fix_continuity(c: AnyArray, x: AnyArray, order: int) -> None:
    """Change, in c, the coefficients of orders up to `order` of each piece but the first, to be continuous."""
    x = array(x)
    for piece in range(1, c.shape[1]):
        step = x[piece] - x[piece - 1]
        for nu in range(order, -1, -1):
            c[-1 - nu, piece] = _local(c[:, piece - 1], step, nu) / perm(nu, nu)


@scipy_rule("scipy.interpolate._ppoly.evaluate_bernstein")
def evaluate_bernstein(c: ArrayLike, x: ArrayLike, xp: ArrayLike, nu: int, extrapolate: bool, out: AnyArray) -> None:
    """The same as `evaluate` of polynomials in the basis of Bernstein's."""
    if nu < 0:
        raise NotImplementedError("Cannot do antiderivatives in the B-basis yet.")
    c, x, xp = map(array, (c, x, xp))
    i = _piece(x, xp)
    left = picked(x, i)
    width = (picked(x, i + 1) - left)[:, None]
    right, degree = (xp - left)[:, None] / width, c.shape[0] - 1
    d = [picked(c[j], i) for j in range(degree + 1)]
    for order in range(degree, degree - min(nu, degree), -1):  # coefficients of derivatives
        d = [order * (after - before) / width for before, after in pairwise(d)]
    while len(d) > 1:  # de Casteljau
        d = [(1 - right) * before + right * after for before, after in pairwise(d)]
    found = d[0] + 0 * right if nu <= degree else 0 * (d[0] * right)
    unknown = np.isnan(xp) if extrapolate else _outside(x, xp)
    out[...] = np.where(unknown[:, None], np.nan, found)


@scipy_rule("scipy.interpolate._ppoly.evaluate_nd")
def evaluate_nd(
    c: AnyArray,
    xs: Sequence[AnyArray],
    ks: Sequence[AnyArray],
    xp: AnyArray,
    dx: AnyArray,
    extrapolate: bool,
    out: AnyArray,
) -> None:
    """Write into `out`, of shape (r, n), polynomials of several variables; c has the shape (terms, pieces, n)."""
    if any(nu < 0 for nu in dx):
        raise ValueError("Order of derivative cannot be negative")
    xs, xp = [array(x) for x in xs], array(xp)
    coordinates = [xp[:, axis] for axis in range(len(xs))]
    pieces = [_piece(x, points) for x, points in zip(xs, coordinates, strict=True)]
    whole = array(c).reshape(*(int(k) for k in ks), *(x.shape[0] - 1 for x in xs), -1)
    found = whole[(slice(None),) * len(xs) + tuple(pieces)]
    unknown = np.any(np.isnan(xp), axis=1)
    for x, points, i, nu in zip(xs, coordinates, pieces, dx, strict=True):
        step = (points - picked(x, i)).reshape((1,) * (found.ndim - 3) + (-1, 1))
        found = _local(found, step, int(nu))
        unknown = unknown if extrapolate else unknown | _outside(x, points)
    out[...] = np.where(unknown[:, None], np.nan, found)


@scipy_rule("scipy.interpolate._ppoly.real_roots")
def real_roots(c: AnyArray, x: AnyArray, y: Any, report_discont: bool, extrapolate: bool) -> list[AnyArray]:
    """Where each polynomial is y, by Newton's steps from SciPy's roots; a jump across y stays at its breakpoint."""
    c, x = array(c), array(x)
    at_breaks = frozen(x, "roots")
    plain = _ppoly.real_roots(frozen(c, "roots"), at_breaks, float(frozen(y, "roots")), report_discont, extrapolate)
    return [_roots(c[:, :, n : n + 1], x, y, found, at_breaks) for n, found in enumerate(plain)]


def _roots(c: AnyArray, x: AnyArray, y: float, found: AnyArray, breaks: AnyArray) -> AnyArray:
    at = np.minimum(np.searchsorted(breaks, found), len(breaks) - 1)
    i = _piece(breaks, found)
    # Twice the derivatives are exact after each step.
    steps, pieces = found, c[:, i]
    away = frozen(_local(pieces, (found - x[i])[:, None], 0), "roots")[:, 0] - frozen(y, "roots")
    scale = np.abs(frozen(pieces, "roots")).max(axis=(0, 2), initial=1e-300)
    jumps = (breaks[at] == found) & (np.abs(away) > 1e-8 * scale)
    for _ in range(DOUBLINGS):
        step = (steps - x[i])[:, None]
        slope = np.where(jumps, 1, _local(pieces, step, 1)[:, 0])
        moved = (_local(pieces, step, 0)[:, 0] - y) / slope
        steps = np.where(np.isnan(found), np.nan, np.where(jumps, x[at], steps - moved))
    return steps


DOUBLINGS = 4  # Newton's steps from a root: 15 derivatives are exact
