"""Differences, interpolation, convolution and polynomials, composed of operators."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.lib.stride_tricks import sliding_window_view

from pullback.core.array_type import check
from pullback.core.numpy_types import AnyArray, ArrayLike, Axes, NoValue
from pullback.core.tensor import Tensor
from pullback.interop.adapters.indexing import take
from pullback.interop.operands import along, array, astype, axes_of, cast, frozen, is_hidden, only, ops, refuse, values
from pullback.interop.registry import rule


@rule("diff")
def diff(
    a: Any,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | NoValue | None = None,
    append: ArrayLike | NoValue | None = None,
) -> Any:
    """np.diff."""
    if n == 0:
        return a  # as it is, without what stands before and after
    if n < 0:
        raise ValueError(f"np.diff: n must be at least 0, got {n}.")
    a = array(a)
    if a.ndim == 0:
        raise ValueError("np.diff: expected at least one dimension.")
    axis = normalize_axis_index(axis, a.ndim)
    ends = [None if e is None or e is np._NoValue else _slab(array(e), a, axis) for e in (prepend, append)]
    parts = [p for p in (ends[0], a, ends[1]) if p is not None]
    a = np.concatenate(parts, axis) if len(parts) > 1 else a
    differ = operator.ne if a.dtype.kind == "b" else operator.sub
    for _ in range(min(n, max(a.shape[axis], 1))):  # nothing is left then
        a = differ(a[along(a.ndim, axis, slice(1, None))], a[along(a.ndim, axis, slice(-1))])
    return a


def _slab(e: AnyArray, a: AnyArray, axis: int) -> AnyArray:
    """A number before or after `a` along `axis`, as an array."""
    if e.ndim:
        return e
    shape = [*a.shape]
    shape[axis] = 1
    return np.broadcast_to(e, shape)


@rule("ediff1d")
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> AnyArray:
    """np.ediff1d."""
    ary = array(ary)
    parts = [diff(np.ravel(ary))]
    if to_begin is not None:
        parts.insert(0, np.ravel(cast(array(to_begin), ary.dtype, "ediff1d")))
    if to_end is not None:
        parts.append(np.ravel(cast(array(to_end), ary.dtype, "ediff1d")))
    return ops.cat(parts, 0) if len(parts) > 1 else parts[0]


# -- np.gradient ----------------------------------------------------------------------------------------------------


@rule("gradient")
def gradient(f: Any, *varargs: Any, axis: Axes = None, edge_order: int = 1) -> AnyArray:
    """np.gradient: second-order differences inside, first- or second-order ones at the ends."""
    only("gradient", "edge_order", edge_order, (1, 2))
    f = array(f)
    axes = axes_of(axis, f.ndim)
    if len(varargs) == 1 and array(varargs[0]).ndim == 0:
        varargs *= len(axes)
    if len(varargs) not in (0, len(axes)):
        raise TypeError(f"np.gradient: expected one spacing for each of {len(axes)} axes, got {len(varargs)}.")
    spacing = [array(h) for h in varargs]
    for i, h in zip(axes, spacing, strict=False):  # none, or one an axis
        if h.ndim and h.shape != (f.shape[i],):
            raise ValueError(f"np.gradient: {h.shape} coordinates for axis {i} of length {f.shape[i]}.")
    for i in axes:
        if (n := f.shape[i]) < edge_order + 1:
            raise ValueError(f"np.gradient: axis {i} has {n} elements, and at least {edge_order + 1} are needed.")
    results = ops.gradient(f, spacing=spacing or None, dim=list(axes), edge_order=edge_order)
    return results[0] if len(results) == 1 else results


# -- interpolation, convolution, polynomials ------------------------------------------------------------------------


@rule("interp")
def interp(x: ArrayLike, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> AnyArray:
    """np.interp: differentiable in x, in the values fp and in the places xp."""
    x, xp, fp = array(x), array(xp), array(fp)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ValueError(
            f"np.interp: xp and fp must be vectors of one length, got {tuple(xp.shape)} and {tuple(fp.shape)}."
        )
    if period is not None:
        period = np.abs(array(period))
        check(_no_zero, period)
        left = right = None
        x, xp = x % period, xp % period
        order = np.argsort(xp.detach() if is_hidden(xp) else frozen(xp, "interp"))
        xp, fp = take(xp, order), take(fp, order)
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    else:
        check(_increases, xp)
    left = fp[0] if left is None else left
    right = fp[-1] if right is None else right
    if xp.shape[0] > 1:
        places, sought = (xp, x) if is_hidden(xp, x) else (frozen(xp, "interp"), frozen(x, "interp"))
        i = np.clip(np.searchsorted(places, sought, side="right") - 1, 0, xp.shape[0] - 2)
        here, value = take(xp, i), take(fp, i)
        slope = (take(fp, i + 1) - value) / (take(xp, i + 1) - here)
        result = slope * (x - here) + value
        result = np.where(x == xp[-1], fp[-1], result)
    else:
        result = fp[0] + np.zeros_like(x)
    result = np.where(x < xp[0], left, result)
    result = np.where(x > xp[-1], right, result)
    return np.where(np.isnan(x), x, result)


def _increases(xp: AnyArray) -> None:
    if np.any(xp[..., 1:] < xp[..., :-1]):  # before these are the samples of vmap
        raise ValueError(
            "np.interp: xp must increase; otherwise NumPy's result means nothing. Sort the points: "
            "order = np.argsort(xp), then np.interp(x, xp[order], fp[order])."
        )


def _no_zero(period: Any) -> None:
    if not np.all(period):
        raise ValueError("np.interp: period must be a non-zero value.")


@rule("convolve")
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> AnyArray:
    """np.convolve."""
    a, v = array(a), array(v)
    if a.ndim == v.ndim == 1 and v.shape[0] > a.shape[0]:
        a, v = v, a
    return _slide("convolve", a, np.flip(v), mode)


@rule("correlate")
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> AnyArray:
    """np.correlate."""
    return _slide("correlate", array(a), np.conj(array(v)), mode)


def _slide(name: str, a: AnyArray, v: AnyArray, mode: str) -> AnyArray:
    """sum_j a[i + j] v[j], for every i at which they overlap (fully, or as `mode` says)."""
    modes = ("full", "same", "valid")
    if mode not in modes:
        raise refuse(name, "mode", f"{mode!r} is not among {modes}")
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ValueError(
            f"np.{name}: expected two vectors that are not empty, got {tuple(a.shape)} and {tuple(v.shape)}."
        )
    swapped = v.shape[0] > a.shape[0]
    if swapped:  # the longer one lies still; the result then runs backwards
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    after = count + m - 1 - n - before
    result: AnyArray
    zeros = [np.zeros(k, a.dtype) for k in (before, after)]
    padded = np.concatenate([zeros[0], a, zeros[1]]) if before or after else a
    rows = ops.unfold(padded, 0, m, 1) if isinstance(a, Tensor) else sliding_window_view(padded, m)
    if before or after:
        end = before + n - m + 1  # of the rows without zeros
        parts = [_in_part(rows[:before], v, before, n), ops.matmul(rows[before:end], v)]
        result = np.concatenate([*parts, _in_part(rows[end:], v, before - end, n)])
    else:
        result = ops.matmul(rows, v)
    return ops.flip(result, (0,)) if swapped else result


def _in_part(rows: AnyArray, v: AnyArray, first: int, count: int) -> AnyArray:
    """The sums of those products that are there: zeros around an array are none, also beside a NaN or an infinity."""
    places = np.add.outer(np.arange(rows.shape[0]), np.arange(v.shape[0])) - first
    sums: AnyArray = np.einsum("ij,ij->i", rows, np.where((places >= 0) & (places < count), v, np.zeros((), v.dtype)))
    return sums


@rule("vander")
def vander(x: ArrayLike, N: Any = None, increasing: bool = False) -> Any:
    """np.vander."""
    x = array(x)
    if x.ndim != 1:
        raise ValueError(f"np.vander: expected a vector, got shape {tuple(x.shape)}.")
    return ops.vander(x, N, increasing)


@rule("apply_along_axis")
def apply_along_axis(func1d: Any, axis: Axes, arr: ArrayLike, *args: object, **kwargs: object) -> AnyArray:
    """np.apply_along_axis: `func1d` on every slice along the axis, joined again."""
    arr = array(arr)
    (axis,) = axes_of(axis, arr.ndim)
    rows = ops.movedim(arr, axis, -1)
    outer = rows.shape[:-1]
    parts = [array(func1d(row, *args, **kwargs)) for row in ops.reshape(rows, (-1, rows.shape[-1]))]
    if not parts:
        raise ValueError(f"np.apply_along_axis: there is no slice along axis {axis} of shape {tuple(arr.shape)}.")
    made = ops.stack(parts)
    result = ops.reshape(made, (*outer, *made.shape[1:]))
    back = range(len(outer), result.ndim)
    return ops.movedim(result, tuple(back), tuple(range(axis, axis + len(back)))) if back else result


@rule("apply_over_axes")
def apply_over_axes(func: Any, a: ArrayLike, axes: Axes) -> AnyArray:
    """np.apply_over_axes."""
    result = array(a)
    for axis in np.atleast_1d(values(axes, "apply_over_axes")).tolist():
        (axis,) = axes_of(axis, array(a).ndim)
        part = func(result, axis)
        part = np.expand_dims(part, axis) if part.ndim < result.ndim else part
        if part.ndim != result.ndim:
            raise ValueError("np.apply_over_axes: the function does not return an array of the correct shape.")
        result = part
    return result


@rule("unwrap")
def unwrap(p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, *, period: Any = 2 * np.pi) -> AnyArray:
    """np.unwrap; differentiable in the period, by whose multiples it shifts."""
    p = array(p)
    steps = np.diff(p, axis=axis)
    dtype = np.result_type(steps, period)
    high, left = divmod(frozen(period, "unwrap"), 2) if dtype.kind in "iu" else (period / 2, 0)
    discont = period / 2 if discont is None else discont
    inside = np.mod(steps + high, period) - high
    if not left:  # steps of half a period go up as they were
        inside = np.where((inside == -high) & (steps > 0), high, inside)
    shift = np.where(np.abs(steps) < discont, 0, inside - steps)
    first = astype(p[along(p.ndim, axis, slice(1))], dtype)
    return np.concatenate([first, astype(p[along(p.ndim, axis, slice(1, None))] + np.cumsum(shift, axis), dtype)], axis)
