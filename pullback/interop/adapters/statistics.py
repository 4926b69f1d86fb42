"""Averages, quantiles and covariances, composed of operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.interop.adapters.reductions import sum_, without_nan
from pullback.interop.operands import along, array, axes_of, cast, deliver, floating, only, ops, refuse, values
from pullback.interop.registry import rule


@rule("average")
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """np.average; differentiable in the weights too."""
    a = floating(array(a))
    axes = axes_of(axis, a.ndim)
    w = np.ones((), a.dtype) if weights is None else array(weights)
    if weights is not None and w.shape != a.shape:
        if axis is None:
            raise TypeError("np.average: axis must be given when the shapes of a and weights differ.")
        if w.shape != tuple(a.shape[i] for i in axes):
            raise ValueError(
                f"np.average: weights have shape {tuple(w.shape)}, a has {tuple(a.shape)} and axis is {axis}."
            )
        order = sorted(range(len(axes)), key=axes.__getitem__)
        w = np.reshape(np.transpose(w, order), [a.shape[i] if i in axes else 1 for i in range(a.ndim)])
    w = np.broadcast_to(w, a.shape)
    scale = np.sum(w, axes, keepdims=bool(keepdims))
    result = np.sum(a * w, axes, keepdims=bool(keepdims)) / scale
    return (result, scale) if returned else result


@rule("nanvar")
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """np.nanvar."""
    only("nanvar", "where", where, (True,), "put nan where it is False")
    only("nanvar", "mean", mean, (None,))
    a = floating(array(a)) if dtype is None else cast(array(a), dtype, "nanvar", "unsafe")
    known = ~np.isnan(a)
    axes = axes_of(axis, a.ndim)
    count = sum_(known, axes, dtype=a.real.dtype, keepdims=True)
    centre = sum_(without_nan(a, 0), axes, keepdims=True) / count
    off = ops.where(known, a - centre, 0)
    squares = ops.real(off * ops.conjugate(off)) if a.dtype.kind == "c" else off * off
    left = count - (ddof if correction is None else correction)
    result = sum_(squares, axes, keepdims=True) / ops.where(left > 0, left, np.nan)
    return deliver("nanvar", result if keepdims else ops.squeeze(result, axes), out)


@rule("nanstd")
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """np.nanstd."""
    variance = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return deliver("nanstd", ops.sqrt(variance), out)


def _sorted_along(a: Any, axis: Any) -> tuple[Any, ...]:
    """(`a` sorted along its last dimension, into which those of `axis` are gathered; how many there were)."""
    axes = axes_of(axis, a.ndim)
    kept = [i for i in range(a.ndim) if i not in axes]
    a = ops.permute(a, (*kept, *axes))
    return ops.sort(ops.reshape(a, (*a.shape[: len(kept)], -1)), -1)[0], axes


def _with_axes(result: Any, axes: Any, ndim: int, lead: Any = 0) -> Any:
    """`result` with dimensions of length 1 where `axes` were; `lead` dimensions stand before all others."""
    kept = iter(result.shape[lead:])
    return ops.reshape(result, (*result.shape[:lead], *(1 if i in axes else next(kept) for i in range(ndim))))


@rule("median")
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """np.median; the gradient goes to the middle element, or half to each of the two."""
    a = floating(array(a))
    s, axes = _sorted_along(a, axis)
    n = s.shape[-1]
    if n == 0:
        raise ValueError("np.median: an empty input has no median.")
    middle = ops.mean(s[..., (n - 1) // 2 : n // 2 + 1], -1)
    result = ops.where(np.isnan(s[..., -1]), s[..., -1], middle)  # nan is sorted last, and spreads
    return deliver("median", _with_axes(result, axes, a.ndim) if keepdims else result, out)


@rule("quantile")
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """np.quantile by linear interpolation; q is a constant."""
    return _quantile("quantile", a, values(q, "quantile"), axis, out, method, keepdims, weights)


@rule("percentile")
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """np.percentile by linear interpolation; q is a constant."""
    return _quantile("percentile", a, values(q, "percentile") / 100, axis, out, method, keepdims, weights)


def _quantile(name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any) -> Any:
    only(name, "method", method, ("linear",), "only 'linear' is differentiable here: omit it")
    only(name, "weights", weights, (None,))
    if np.any(q < 0) or np.any(q > 1):
        raise ValueError(f"np.{name}: quantiles must be in the range {'[0, 1]' if name == 'quantile' else '[0, 100]'}.")
    a = floating(array(a))
    s, axes = _sorted_along(a, axis)
    place = q.ravel() * (s.shape[-1] - 1)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, s.shape[-1] - 1)
    part = (place - low).astype(a.dtype)
    below, above = s[..., low], s[..., high]
    # From the nearer end, so that part = 1 gives `above` exactly.
    result = ops.where(part < 0.5, below + (above - below) * part, above - (above - below) * (1 - part))
    result = ops.where(np.isnan(s[..., -1:]), s[..., -1:], result)
    result = ops.reshape(ops.movedim(result, -1, 0), (*q.shape, *result.shape[:-1]))
    return deliver(name, _with_axes(result, axes, a.ndim, q.ndim) if keepdims else result, out)


@rule("cov")
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """np.cov, of observations that all weigh the same."""
    for argument, value in (("fweights", fweights), ("aweights", aweights)):
        only("cov", argument, value, (None,))
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = ops.cat([x, _variables(y, rowvar, dtype)], 0)
    free = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    if free <= 0:
        raise refuse("cov", "ddof", f"{x.shape[1]} observations leave no degrees of freedom")
    x = x - ops.mean(x, 1, True)
    return ops.squeeze(ops.matmul(x, ops.conjugate(ops.transpose(x, 0, 1))) / free)


def _variables(m: Any, rowvar: Any, dtype: Any) -> Any:
    """One variable a row."""
    m = floating(array(m)) if dtype is None else cast(array(m), dtype, "cov", "unsafe")
    if m.ndim > 2:
        raise ValueError(f"np.cov: expected at most 2 dimensions, got shape {tuple(m.shape)}.")
    m = np.atleast_2d(m)
    return m if rowvar or m.shape[0] == 1 else m.T


@rule("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """np.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = ops.sqrt(ops.real(ops.diagonal(c)))
    r = c / spread[:, None] / spread[None, :]
    return ops.clamp(r, -1, 1) if r.dtype.kind == "f" else r


@rule("trapezoid", "trapz")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """np.trapezoid."""
    y = array(y)
    axis = normalize_axis_index(axis, y.ndim)
    if x is not None:
        x = array(x)
        if x.ndim == 1:
            x = np.reshape(x, [-1 if i == axis else 1 for i in range(y.ndim)])
        dx = x[along(x.ndim, axis, slice(1, None))] - x[along(x.ndim, axis, slice(-1))]
    later, earlier = y[along(y.ndim, axis, slice(1, None))], y[along(y.ndim, axis, slice(-1))]
    return ops.sum((later + earlier) * dx / 2.0, axis)
