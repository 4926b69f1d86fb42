"""scipy.signal's linear filters: sums over the last inputs, and recursions over the last outputs.

With initial conditions zi, A y = B x + zi: what a filter in SciPy's form keeps is added to its first steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core.errors import OperatorError
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays, Numeric
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.ways import runs_with
from pullback.interop.operands import array, floating, moveaxis
from pullback.scipy.rules.signal.operators import moving_sum, recursion


@scipy_rule("scipy.signal.lfilter")
def lfilter(b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None) -> Arrays:
    """A rational filter along one axis: differentiable in b, a, x and zi."""
    b, a, x = _with_a_dimension(b), _with_a_dimension(a), _with_a_dimension(x)
    if b.ndim != 1 or a.ndim != 1 or not b.size or not a.size:
        raise ValueError(f"b and a must be vectors with elements, got shapes {tuple(b.shape)} and {tuple(a.shape)}.")
    axis = normalize_axis_index(axis, x.ndim)
    last = axis == x.ndim - 1
    x = x if last else moveaxis(x, axis, -1)
    if zi is None:
        y, _ = _filtered(b, a, x, None)
        return y if last else moveaxis(y, -1, axis)
    zi = floating(array(zi))
    if zi.ndim != x.ndim:
        raise ValueError(f"zi must have as many dimensions as x, got {zi.ndim} and {x.ndim}.")
    zi = moveaxis(zi, axis, -1)
    order = max(b.size, a.size) - 1
    if zi.shape[-1] != order:
        raise ValueError(f"zi must have {order} elements along the axis, got {zi.shape[-1]}.")
    y, zf = _filtered(b, a, x, np.broadcast_to(zi, (*x.shape[:-1], order)))
    return moveaxis(y, -1, axis), moveaxis(zf, -1, axis)


def _with_a_dimension(x: ArrayLike) -> AnyArray:
    x = floating(array(x))
    return x if x.ndim else np.atleast_1d(x)


def _filtered(b: AnyArray, a: AnyArray, x: AnyArray, zi: AnyArray | None) -> tuple[AnyArray, AnyArray | None]:
    """(y, what the filter keeps after the last step, if zi is given) along the last dimension."""
    order = max(b.size, a.size) - 1
    if zi is None:
        driven = moving_sum(x, b) if b.size > 1 else x * b  # a product is recorded faster
        return recursion(driven, a) if a.size > 1 else driven / a[0], None
    if order == 0:
        return x * (b[0] / a[0]), zi
    n = x.shape[-1]
    x, padding = _ended(x, order), [(0, 0)] * (x.ndim - 1)
    # zi belongs to coefficients divided by a[0], as what is kept afterwards does.
    driven = moving_sum(x, b) / a[0] + np.pad(zi, [*padding, (0, n)])
    a = a / a[0]
    y = recursion(driven[..., :n], a)
    left = driven - moving_sum(_ended(y, order), a)
    return y, left[..., n:]


def _ended(x: AnyArray, zeros: int) -> AnyArray:
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, zeros)])


@scipy_rule("scipy.signal.sosfilt")
def sosfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None) -> Arrays:
    """A cascade of filters of second order: differentiable in sos, x and zi."""
    sos, x = floating(array(sos)), floating(array(x))
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(f"sos array must be shape (n_sections, 6), got {tuple(sos.shape)}.")
    axis = normalize_axis_index(axis, x.ndim)
    x = moveaxis(x, axis, -1)
    kept: list[Any] = []
    if zi is not None:
        zi = moveaxis(floating(array(zi)), axis + 1, -1)
        if tuple(zi.shape) != (sos.shape[0], *x.shape[:-1], 2):
            raise ValueError(f"invalid zi shape: with its axis last it must be {(sos.shape[0], *x.shape[:-1], 2)}.")
    for i in range(sos.shape[0]):
        x, zf = _filtered(sos[i, :3], sos[i, 3:], x, None if zi is None else zi[i])
        kept.append(zf)
    y = moveaxis(x, -1, axis)
    return y if zi is None else (y, moveaxis(np.stack(kept), -1, axis + 1))


@scipy_rule("scipy.signal.upfirdn")
def upfirdn(
    h: ArrayLike,
    x: ArrayLike,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: Any = 0,
) -> AnyArray:
    """Zeros put between the samples, a filter, and every `down`-th of what comes out."""
    h, x = floating(array(h)), floating(array(x))
    if h.ndim != 1 or not h.size:
        raise ValueError(f"h must be 1-D with non-zero length, got shape {tuple(h.shape)}.")
    up, down = int(up), int(down)
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    axis = normalize_axis_index(axis, x.ndim)
    x = moveaxis(x, axis, -1)
    whole = (x.shape[-1] - 1) * up + h.size  # how much comes out, before some of it is left out
    more = 0 if mode == "constant" and type(cval) is int and cval == 0 else -(-h.size // up)  # seen at each end
    x = _continued(x, more, mode.lower(), cval) if more else x
    n = x.shape[-1]
    if up > 1:
        spread = np.pad(x[..., None], [(0, 0)] * x.ndim + [(0, up - 1)])
        x = spread.reshape((*x.shape[:-1], n * up))[..., : (n - 1) * up + 1]
    y = moving_sum(_ended(x, h.size - 1), h)[..., more * up : more * up + whole : down]
    return moveaxis(y, -1, axis)


_PADS: dict[str, dict[str, Any]] = {
    **{mode: {"mode": mode} for mode in ("edge", "reflect", "symmetric", "wrap")},
    "antireflect": {"mode": "reflect", "reflect_type": "odd"},
    "antisymmetric": {"mode": "symmetric"},
}


def _continued(x: AnyArray, more: int, mode: str, cval: Numeric) -> AnyArray:
    """`x` with so many numbers more at each end of its last dimension, as SciPy continues a signal."""
    ends, n = [(0, 0)] * (x.ndim - 1) + [(more, more)], x.shape[-1]
    if mode == "constant":
        return np.pad(x - cval, ends) + cval
    if mode in ("line", "smooth") and n > 1:
        first, last = x[..., :1], x[..., -1:]
        slopes = [(last - first) / (n - 1)] * 2 if mode == "line" else [x[..., 1:2] - first, last - x[..., -2:-1]]
        away = np.arange(1.0, more + 1)
        return np.concatenate([first - slopes[0] * away[::-1], x, last + slopes[1] * away], -1)
    if mode not in _PADS:
        raise OperatorError(f"scipy.signal.upfirdn: mode {mode!r} has no rule; extend x yourself (np.pad).")
    padded = np.pad(x, ends, **_PADS[mode])
    if mode == "antisymmetric":
        return padded * (1.0 - 2.0 * (np.arange(-more, n + more) // n % 2))
    return padded


def _normalised(b: AnyArray, a: AnyArray, *more: object, **named: object) -> tuple[tuple[Any, ...], dict[str, object]]:
    """The coefficients divided by a[0], which SciPy's Python leaves out where that is 1."""
    b, a = (floating(np.atleast_1d(array(x))) for x in (b, a))
    return (b / a[0], a / a[0], *more), named


runs_with("scipy.signal.lfiltic", _normalised)
runs_with("scipy.signal.lfilter_zi", _normalised)
