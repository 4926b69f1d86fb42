"""FITPACK's surfaces: tensor products of B-splines on a rectangle, to whose border a point outside is moved."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import _dfitpack

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.operands import array, frozen
from pullback.scipy.rules.interpolate.fitpack import integrals, interpolating_knots, interpolation
from pullback.scipy.rules.interpolate.refusals import SMOOTHING, refused
from pullback.scipy.rules.interpolate.splines import basis, interval


def _weights(t: AnyArray, k: int, points: AnyArray, nu: int) -> tuple[AnyArray, AnyArray]:
    """B-splines, or derivatives, that are not zero at the points, and their numbers: both of shape (r, k + 1)."""
    t, points = array(t), np.atleast_1d(array(points)).astype(float)
    at = np.clip(points, t[k], t[t.shape[0] - k - 1])
    i = interval(t, k, at)
    return basis(t, k, at, i, nu), i[:, None] - k + np.arange(k + 1)


def _square(tx: AnyArray, ty: AnyArray, c: AnyArray, kx: int, ky: int) -> AnyArray:
    return array(c).reshape(array(tx).shape[0] - kx - 1, array(ty).shape[0] - ky - 1)


@scipy_rule("scipy.interpolate._dfitpack.parder")
def parder(
    tx: AnyArray, ty: AnyArray, c: AnyArray, kx: int, ky: int, nux: int, nuy: int, x: AnyArray, y: AnyArray
) -> tuple[AnyArray, int]:
    """A partial derivative on the grid of x and y."""
    if not (0 <= nux < kx and 0 <= nuy < ky) and (nux or nuy):
        return x, 10
    (wx, ix), (wy, iy) = _weights(tx, kx, x, nux), _weights(ty, ky, y, nuy)
    near = _square(tx, ty, c, kx, ky)[ix[:, :, None, None], iy]  # (mx, kx + 1, my, ky + 1)
    return np.sum(np.sum(near * wy, axis=3) * wx[:, :, None], axis=1), 0


@scipy_rule("scipy.interpolate._dfitpack.bispev")
def bispev(tx: AnyArray, ty: AnyArray, c: AnyArray, kx: int, ky: int, x: AnyArray, y: AnyArray) -> tuple[AnyArray, int]:
    """The surface on the grid of x and y."""
    return parder(tx, ty, c, kx, ky, 0, 0, x, y)


@scipy_rule("scipy.interpolate._dfitpack.pardeu")
def pardeu(
    tx: AnyArray, ty: AnyArray, c: AnyArray, kx: int, ky: int, nux: int, nuy: int, x: AnyArray, y: AnyArray
) -> tuple[AnyArray, int]:
    """A partial derivative at points."""
    if not (0 <= nux < kx and 0 <= nuy < ky) and (nux or nuy):
        return x, 10
    (wx, ix), (wy, iy) = _weights(tx, kx, x, nux), _weights(ty, ky, y, nuy)
    near = _square(tx, ty, c, kx, ky)[ix[:, :, None], iy[:, None]]
    return np.sum(np.sum(near * wy[:, None], axis=2) * wx, axis=1), 0


@scipy_rule("scipy.interpolate._dfitpack.bispeu")
def bispeu(tx: AnyArray, ty: AnyArray, c: AnyArray, kx: int, ky: int, x: AnyArray, y: AnyArray) -> tuple[AnyArray, int]:
    """The surface at points."""
    return pardeu(tx, ty, c, kx, ky, 0, 0, x, y)


def _slopes(c: AnyArray, t: AnyArray, k: int) -> tuple[AnyArray, AnyArray]:
    """Knots and coefficients of the derivative along the first axis."""
    widths = t[k + 1 : -1] - t[1 : -k - 1]
    return t[1:-1], k * (c[1:] - c[:-1]) / widths[:, None]


@scipy_rule("scipy.interpolate._dfitpack.pardtc")
def pardtc(tx: AnyArray, ty: AnyArray, c: AnyArray, kx: int, ky: int, nux: int, nuy: int) -> tuple[AnyArray, int]:
    """The coefficients of a partial derivative, and zeros up to as many as there were."""
    tx, ty, count = array(tx), array(ty), array(c).shape[0]
    found = _square(tx, ty, c, kx, ky)
    for order in range(nux):
        tx, found = _slopes(found, tx, kx - order)
    found = found.T
    for order in range(nuy):
        ty, found = _slopes(found, ty, ky - order)
    flat = found.T.ravel()
    return np.concatenate([flat, np.zeros(count - flat.shape[0])]), 0


@scipy_rule("scipy.interpolate._dfitpack.dblint")
def dblint(
    tx: AnyArray, ty: AnyArray, c: AnyArray, kx: int, ky: int, xb: AnyArray, xe: AnyArray, yb: AnyArray, ye: AnyArray
) -> AnyArray:
    """The integral over a rectangle."""
    return integrals(tx, kx, xb, xe) @ _square(tx, ty, c, kx, ky) @ integrals(ty, ky, yb, ye)


@scipy_rule("scipy.interpolate._dfitpack.regrid_smth")
def regrid_smth(
    x: AnyArray, y: AnyArray, z: ArrayLike, xb: float | None, xe: float | None, yb: float | None, ye: float | None,
    kx: int, ky: int, s: float, maxit: int,
) -> tuple[Any, ...]:  # fmt: skip
    """Knots and coefficients of a surface through the values on a grid; s = 0."""
    if s is None or s > 0:
        raise refused("RectBivariateSpline", SMOOTHING, "Give s=0")
    x, y = array(x).astype(float), array(y).astype(float)
    given = [plain(a, lambda a: frozen(a, "spline")[()]) for a in (x, y, z, xb, xe, yb, ye)]
    *_, fp, ier = _dfitpack.regrid_smth(*given, kx, ky, s, maxit)
    found, knots = array(z).reshape(x.shape[0], y.shape[0]), []
    for points, k, low, high in ((x, kx, xb, xe), (y, ky, yb, ye)):
        low, high = points[0] if low is None else low, points[-1] if high is None else high
        t = interpolating_knots(points, k, low, high)
        found = interpolation(points, found, k, t).T
        knots.append(t)
    tx, ty = knots
    return tx.shape[0], tx, ty.shape[0], ty, found.ravel(), fp, ier
