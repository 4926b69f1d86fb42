"""FITPACK: its evaluations, and those of its fits whose knots follow from the data by a formula.

A smoothing spline of FITPACK is none of these: it places knots where the residuals are large, and searches its
smoothing factor until the residuals are near `s`, to a thousandth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.interpolate
from scipy.interpolate import _dfitpack

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.operands import array, frozen
from pullback.scipy.rules.interpolate.pieces import DOUBLINGS, picked
from pullback.scipy.rules.interpolate.refusals import SMOOTHING, refused
from pullback.scipy.rules.interpolate.splines import basis, interval, least_squares, recursion

if TYPE_CHECKING:
    from pullback.core.tensor import Tensor

NOT_PERIODIC = "periodic least squares, and periodic interpolation of even degree, have no rule"


def _values(tensor: Tensor) -> np.ndarray[Any, Any]:
    return frozen(tensor, "splrep")[()]


def _refused(name: str) -> UnsupportedError:
    return refused(
        name,
        SMOOTHING,
        "Give s=0 for interpolation or knots for least squares, or take make_smoothing_spline(x, y, lam=...)",
    )


def _spline_at(t: AnyArray, c: AnyArray, k: int, x: AnyArray, nu: int) -> AnyArray:
    i = interval(t, k, x)
    return recursion(t, [picked(c, i - k + j)[:, None] for j in range(k + 1)], k, x, i, nu)[:, 0]


@scipy_rule("scipy.interpolate._dfitpack.splev")
def splev(t: ArrayLike, c: ArrayLike, k: int, x: ArrayLike, ext: int = 0) -> tuple[AnyArray, int]:
    """The spline at points, and 1 if one is outside where that is an error."""
    return splder(t, c, k, x, 0, ext)


@scipy_rule("scipy.interpolate._dfitpack.splder")
def splder(t: ArrayLike, c: ArrayLike, k: int, x: ArrayLike, nu: int = 1, ext: int = 0) -> tuple[AnyArray, int]:
    """Its derivative of order nu."""
    t, c, x = map(array, (t, c, x))
    low, high = t[k], t[t.shape[0] - k - 1]
    outside = (x < low) | (x > high)
    if ext == 2 and np.any(outside):
        return x, 1
    at = np.clip(x, low, high) if ext == 3 else x
    found = _spline_at(t, c, k, at, nu)
    return np.where(outside, 0, found) if ext == 1 else found, 0


@scipy_rule("scipy.interpolate._dfitpack.spalde")
def spalde(t: ArrayLike, c: ArrayLike, k1: int, x: ArrayLike) -> tuple[AnyArray, int]:
    """The spline and all its derivatives at one point."""
    t, c, x = array(t), array(c), array(x).reshape(1)
    if x[0] < t[k1 - 1] or x[0] > t[t.shape[0] - k1]:
        return c[:k1], 10
    return np.concatenate([_spline_at(t, c, k1 - 1, x, nu) for nu in range(k1)]), 0


def integrals(t: ArrayLike, k: int, a: ArrayLike, b: ArrayLike) -> AnyArray:
    """Those of the B-splines from a to b, as far as that is between the ends of the knots."""
    t = array(t)
    ends = np.clip(np.stack([array(a), array(b)]), t[k], t[t.shape[0] - k - 1]).astype(float)
    wider = np.concatenate([t[:1], t, t[-1:]])
    i = interval(wider, k + 1, ends)
    places = np.arange(t.shape[0] - k) == (i[:, None] - k - 1 + np.arange(k + 2))[..., None]
    below = np.sum(np.where(places, basis(wider, k + 1, ends, i)[..., None], 0), axis=1)
    sums = np.cumsum((below[1] - below[0])[::-1])[::-1][1:]
    return (t[k + 1 :] - t[: -k - 1]) / (k + 1) * sums


@scipy_rule("scipy.interpolate._dfitpack.splint")
def splint(t: ArrayLike, c: ArrayLike, k: int, a: ArrayLike, b: ArrayLike) -> tuple[AnyArray, AnyArray]:
    """The integral from a to b, and those of the B-splines."""
    t = array(t)
    found = integrals(t, k, a, b)
    return np.sum(array(c)[: t.shape[0] - k - 1] * found), np.concatenate([found, np.zeros(k + 1)])


@scipy_rule("scipy.interpolate._dfitpack.sproot")
def sproot(t: ArrayLike, c: ArrayLike, mest: int) -> tuple[AnyArray, int, int]:
    """The zeros of a cubic spline, by Newton's steps from FITPACK's."""
    t, c = array(t), array(c)
    z, m, ier = _dfitpack.sproot(frozen(t, "roots"), frozen(c, "roots"), mest)
    z = z[:m]
    for _ in range(DOUBLINGS):
        z = z - _spline_at(t, c, 3, z, 0) / _spline_at(t, c, 3, z, 1)
    return z, m, ier


@scipy_rule("scipy.interpolate._fitpack._insert")
def insert(per: bool, t: ArrayLike, c: ArrayLike, k: int, x: ArrayLike, m: int) -> tuple[AnyArray, AnyArray, int]:
    """Knots and coefficients with x inserted m times."""
    t, c = array(t), array(c)
    if per:
        raise refused("insert", "a periodic spline (per=True) has no rule", "Repeat its first and last pieces")
    if not t[k] <= x <= t[t.shape[0] - k - 1]:
        return t, c, 10
    for _ in range(m):
        i = int(interval(frozen(t, "insert"), k, frozen(x, "insert").reshape(1))[0])
        lows, highs = t[i - k + 1 : i + 1], t[i + 1 : i + k + 1]
        part = (x - lows) / (highs - lows)
        between = part * c[i - k + 1 : i + 1] + (1 - part) * c[i - k : i]
        n = t.shape[0] - k - 1
        c = np.concatenate([c[: i - k + 1], between, c[i:n], np.zeros(k + 1)])
        t = np.concatenate([t[: i + 1], array(x).reshape(1), t[i + 1 :]])
    return t, c, 0


def interpolating_knots(x: AnyArray, k: int, low: ArrayLike, high: ArrayLike) -> AnyArray:
    """FITPACK's knots for a spline that goes through all points: the points, or the middles between them for even k."""
    inner = x[k // 2 + 1 : -(k // 2) - 1] if k % 2 else ((x[1:] + x[:-1]) / 2)[k // 2 : -(k // 2)]
    return np.concatenate([np.stack([array(low)] * (k + 1)), inner, np.stack([array(high)] * (k + 1))])


def interpolation(x: ArrayLike, y: ArrayLike, k: int, t: ArrayLike) -> AnyArray:
    """The coefficients of the spline with knots t through the points."""
    return RULES["scipy.interpolate.make_interp_spline"](x, y, k=k, t=t).c


def _padded(c: AnyArray, k: int) -> AnyArray:
    return np.concatenate([c, np.zeros((k + 1, *c.shape[1:]))])


def _given_or_end(given: ArrayLike | None, x: ArrayLike, end: int) -> Any:
    return array(x)[end] if given is None else given


def _fit(
    x: ArrayLike,
    y: ArrayLike,
    w: ArrayLike | None,
    low: ArrayLike | None,
    high: ArrayLike | None,
    k: int,
    inner: ArrayLike | None,
) -> tuple[AnyArray, AnyArray]:
    """Knots and coefficients: through the points, or by least squares for knots inside."""
    x, y = array(x).astype(float), array(y).astype(float)
    low, high = _given_or_end(low, x, 0), _given_or_end(high, x, -1)
    if inner is None:
        t = interpolating_knots(x, k, low, high)
        return t, interpolation(x, y, k, t)
    t = np.concatenate([np.stack([array(low)] * (k + 1)), array(inner), np.stack([array(high)] * (k + 1))])
    weights = np.ones(x.shape) if w is None else array(w)
    return t, least_squares(x, y[:, None], t, k, weights)[0][:, 0]


@scipy_rule("scipy.interpolate.splrep")
def splrep(
    x: ArrayLike, y: ArrayLike, w: ArrayLike | None = None, xb: float | None = None, xe: float | None = None,
    k: int = 3, task: int = 0, s: float | None = None, t: ArrayLike | None = None, full_output: int = 0, per: int = 0,
    quiet: int = 1,
) -> tuple[Any, ...]:  # fmt: skip
    """Knots, coefficients and degree of a spline through the points, or by least squares for given knots."""
    given = plain((x, y, w, xb, xe, k, task, s, t, full_output, per, quiet), _values)
    found = scipy.interpolate.splrep(*given)  # which looks at all arguments
    if task == 1 or (t is None and (s if s is not None else w is not None)):
        raise _refused("splrep")
    if per:
        if t is not None or k % 2 == 0:
            raise refused("splrep", NOT_PERIODIC, "Take k=3 and no knots")
        y = array(y)
        closed = np.concatenate([y[:-1], y[:1]])
        spline = RULES["scipy.interpolate.make_interp_spline"](x, closed, k=k, bc_type="periodic")
        knots, c = spline.t, spline.c
    else:
        knots, c = _fit(x, y, w, xb, xe, k, t)
    tck = (knots, _padded(c, k), k)
    return (tck, *found[1:]) if full_output else tck


def _interpolating(name: str) -> Callable[..., Any]:
    @scipy_rule(f"scipy.interpolate.{name}")
    def rule(*args: object, s: AnyArray | float | None = 0, **kwargs: object) -> Any:
        """The spline that goes through the points; s = 0."""
        if s is None or s > 0:
            raise _refused(name)
        return clone(getattr(scipy.interpolate, name))(*args, s=s, **kwargs)

    return rule


make_splrep, make_splprep = map(_interpolating, ("make_splrep", "make_splprep"))


@scipy_rule("scipy.interpolate.splprep")
def splprep(
    x: ArrayLike, w: ArrayLike | None = None, u: ArrayLike | None = None, ub: float | None = None,
    ue: float | None = None, k: int = 3, task: int = 0, s: float | None = None, t: ArrayLike | None = None,
    full_output: int = 0, nest: int | None = None, per: int = 0, quiet: int = 1,
) -> tuple[Any, ...]:  # fmt: skip
    """Knots, coefficients and degree of a curve through points, and the parameter at each."""
    given = plain((x, w, u, ub, ue, k, task, s, t, full_output, nest, per, quiet), _values)
    found = scipy.interpolate.splprep(*given)  # which looks at all arguments
    if task != 0 or s is None or s > 0:
        raise _refused("splprep")
    x = array(x).astype(float)
    if per:
        x = np.concatenate([x[:, :-1], x[:, :1]], axis=1)
    if u is None:
        steps = np.cumsum(np.sqrt(np.sum(np.diff(x, axis=1) ** 2, axis=0)))
        u = np.concatenate([np.zeros(1), steps / steps[-1]])
        low, high = 0.0, 1.0
    else:
        u = array(u).astype(float)
        low, high = _given_or_end(ub, u, 0), _given_or_end(ue, u, -1)
    if per:
        if k % 2 == 0:
            raise refused("splprep", NOT_PERIODIC, "Take k=3")
        spline = RULES["scipy.interpolate.make_interp_spline"](u, x.T, k=k, bc_type="periodic")
        knots, c = spline.t, spline.c
    else:
        knots = interpolating_knots(u, k, low, high)
        c = interpolation(u, x.T, k, knots)
    made = [knots, list(c.T), k], u
    return (made, *found[1:]) if full_output else made


@scipy_rule("scipy.interpolate._dfitpack.fpcurf0")
def fpcurf0(
    x: ArrayLike,
    y: ArrayLike,
    k: int,
    w: ArrayLike | None = None,
    xb: float | None = None,
    xe: float | None = None,
    s: AnyArray | float | None = None,
) -> tuple[Any, ...]:
    """Return what a UnivariateSpline is made of; s = 0."""
    if s is None or s > 0:
        raise _refused("UnivariateSpline")
    bounds = {name: bound for name, bound in (("xb", xb), ("xe", xe)) if bound is not None}
    data = _dfitpack.fpcurf0(*plain((x, y, k), _values), w=plain(w, _values), s=s, **plain(bounds, _values))
    t, c = _fit(x, y, w, xb, xe, k, None)
    return (array(x), array(y), *data[2:7], t.shape[0], t, _padded(c, k), *data[10:])


@scipy_rule("scipy.interpolate._dfitpack.fpcurfm1")
def fpcurfm1(
    x: ArrayLike, y: ArrayLike, k: int, t: ArrayLike, w: ArrayLike | None = None, xb: float | None = None,
    xe: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return what a LSQUnivariateSpline is made of."""
    data = _dfitpack.fpcurfm1(
        *plain((x, y, k, t), _values), w=plain(w, _values), xb=plain(xb, _values), xe=plain(xe, _values)
    )
    x, y, t = map(array, (x, y, t))
    weights = np.ones(x.shape) if w is None else array(w)
    c, fp = least_squares(x, y[:, None], t, k, weights)
    return (x, y, *data[2:7], t.shape[0], t, _padded(c[:, 0], k), fp, *data[11:])


@scipy_rule("scipy.interpolate._dfitpack.fpchec")
def fpchec(x: ArrayLike, t: ArrayLike, k: int) -> int:
    """0 if data and knots fit."""
    return _dfitpack.fpchec(*plain((x, t, k), _values))


@scipy_rule("scipy.interpolate._dfitpack.fpcurf1")
def fpcurf1(*_: object) -> NoReturn:
    """set_smoothing_factor."""
    raise _refused("UnivariateSpline.set_smoothing_factor")
