"""Averages, quantiles and covariances, composed of operators."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core.array_type import check
from pullback.core.numpy_types import AnyArray, ArrayLike, Axes, DTypeLike, Mask, NoValue, Out
from pullback.core.tensor import Tensor
from pullback.interop.adapters.reductions import root, spread_among
from pullback.interop.operands import (
    along,
    array,
    astype,
    axes_of,
    cast,
    deliver,
    floating,
    frozen,
    in_order,
    index_values,
    is_hidden,
    laid_out,
    moveaxis,
    needs_grad,
    ops,
    refuse,
    tensor_of,
)
from pullback.interop.registry import rule


@rule("average")
def average(
    a: ArrayLike, axis: Axes = None, weights: ArrayLike | None = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """np.average; differentiable in the weights too."""
    a = floating(array(a))
    if weights is None:
        mean = np.mean(a, axis, keepdims=bool(keepdims))
        return (mean, np.full(mean.shape, a.size / max(mean.size, 1), a.dtype)) if returned else mean
    axes = axes_of(axis, a.ndim)
    w = array(weights)
    if w.shape != a.shape:
        if axis is None:
            raise TypeError("np.average: axis must be given when the shapes of a and weights differ.")
        if w.shape != tuple(a.shape[i] for i in axes):
            raise ValueError(
                f"np.average: weights have shape {tuple(w.shape)}, a has {tuple(a.shape)} and axis is {axis}."
            )
        order = sorted(range(len(axes)), key=axes.__getitem__)
        w = np.reshape(np.transpose(w, order), [a.shape[i] if i in axes else 1 for i in range(a.ndim)])
    w = np.broadcast_to(astype(w, np.result_type(a, w)), a.shape)
    scale = np.sum(w, axes, keepdims=bool(keepdims))
    result = np.sum(a * w, axes, keepdims=bool(keepdims)) / scale
    return (result, scale) if returned else result


@rule("nanvar")
def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    ddof: Any = 0,
    keepdims: bool | NoValue = False,
    *,
    where: Mask = True,
    mean: Any = None,
    correction: Any = None,
) -> AnyArray:
    """np.nanvar."""
    a = floating(array(a)) if dtype is None else cast(array(a), dtype, "nanvar", "unsafe")
    known = ~np.isnan(a)
    if where is not True and where is not np._NoValue:
        known = known & index_values(where, "nanvar")
    ddof = ddof if _unset(correction) else correction
    axes = axes_of(axis, a.ndim) if a.ndim or axis not in (0, -1) else ()
    result = spread_among(a, known, axes, ddof, None if _unset(mean) else mean, warn=True)
    return deliver("nanvar", result if _asked(keepdims) else np.squeeze(result, axes), out)


def _unset(x: object) -> bool:
    return x is None or x is np._NoValue


@rule("nanstd")
def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool | NoValue = False,
    *,
    where: Mask = True,
    mean: ArrayLike | NoValue | None = None,
    correction: float | NoValue | None = None,
) -> AnyArray:
    """np.nanstd."""
    variance = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return deliver("nanstd", root(variance), out)


def _rows(a: AnyArray, axis: Axes) -> tuple[AnyArray, tuple[int, ...]]:
    """(`a` with the dimensions of `axis` gathered into one, the last; which these were)."""
    axes = axes_of(axis, a.ndim)
    if axis is None:
        return np.reshape(a, (-1,)), axes
    kept = [i for i in range(a.ndim) if i not in axes]
    return np.reshape(np.transpose(a, (*kept, *axes)), (*(a.shape[i] for i in kept), -1)), axes


def _with_axes(result: AnyArray, axes: Sequence[int], ndim: int, lead: int = 0) -> AnyArray:
    """`result` with dimensions of length 1 where `axes` were; `lead` dimensions stand before all others."""
    kept = iter(result.shape[lead:])
    return np.reshape(result, (*result.shape[:lead], *(1 if i in axes else next(kept) for i in range(ndim))))


@rule("median")
def median(
    a: ArrayLike, axis: Axes = None, out: Out = None, overwrite_input: bool = False, keepdims: bool = False
) -> AnyArray:
    """np.median; the gradient goes to the middle element, or half to each of the two."""
    a = floating(array(a))
    rows, axes = _rows(a, axis)
    s, n = np.sort(rows), rows.shape[-1]
    if n == 0:
        raise ValueError("np.median: an empty input has no median.")
    middle = np.mean(s[..., (n - 1) // 2 : n // 2 + 1], -1)
    result = np.where(np.isnan(s[..., -1]), s[..., -1], middle)  # nan is sorted last, and spreads
    return deliver("median", _with_axes(result, axes, a.ndim) if keepdims else result, out)


@rule("nanmedian")
def nanmedian(
    a: ArrayLike, axis: Axes = None, out: Out = None, overwrite_input: bool = False, keepdims: bool | NoValue = False
) -> AnyArray:
    """np.nanmedian."""
    a = floating(array(a))
    rows, axes = _rows(a, axis)
    s = np.sort(rows)
    place = _last_place(rows) / 2 if is_hidden(rows) else np.nanmedian(_ranks(rows), -1, keepdims=True)
    known = np.nan_to_num(place)
    middle = (_at(s, np.floor(known).astype(int)) + _at(s, np.ceil(known).astype(int))) / 2
    result = np.where(np.isnan(place), s.dtype.type(np.nan), middle)[..., 0]
    return deliver("nanmedian", _with_axes(result, axes, a.ndim) if _asked(keepdims) else result, out)


def _ranks(rows: AnyArray) -> AnyArray:
    """For each element the place where it will stand when they are sorted; nan for nan."""
    plain = frozen(rows, "sort")
    ranks = np.argsort(np.argsort(plain, kind="stable"), kind="stable").astype(float)
    return np.where(np.isnan(plain), np.nan, ranks) if plain.dtype.kind == "f" else ranks


def _last_place(rows: AnyArray) -> AnyArray:
    """The place of the last element that is not nan, once they are sorted; nan where all are."""
    count = np.sum(~np.isnan(rows), -1, keepdims=True)
    return np.where(count > 0, count - 1.0, np.nan)


def _at(s: AnyArray, index: Any) -> AnyArray:
    """The elements of the last dimension at these places: the same ones of every row, or those of each."""
    return s[..., index] if index.ndim == 1 else np.take_along_axis(s, index, -1)


def _asked(keepdims: bool | NoValue) -> bool:
    """True if keepdims was given, and is true. NumPy's default is an object of its own, not False."""
    return keepdims is not np._NoValue and bool(keepdims)


def _quantile_rule(name: str, scale: Any) -> None:
    """Enter the rule of np.quantile, np.percentile, np.nanquantile or np.nanpercentile."""

    @rule(name)
    def quantile(
        a: ArrayLike,
        q: ArrayLike,
        axis: Axes = None,
        out: Out = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool | NoValue = False,
        *,
        weights: ArrayLike | None = None,
    ) -> AnyArray:
        a = array(a)
        q = np.array(q, a.dtype) if type(q) in (int, float) and a.dtype.kind == "f" else floating(array(q))
        if name.startswith("nan") and q.ndim > 1 and weights is None and 1 < len(axes_of(axis, a.ndim)) < a.ndim:
            raise refuse(
                name,
                "q",
                f"it has {q.ndim} dimensions, and with several axes NumPy mixes up the dimensions of the result; write "
                f"np.{name}(a, q.ravel(), axis), and reshape its first dimension to q.shape",
            )
        found = _quantile(name, a, q / q.dtype.type(scale), axis, method, _asked(keepdims), weights)
        found = in_order(found, "C")
        if name.startswith("nan") and weights is None and q.ndim:  # which NumPy computes row by row, and then turns
            found = laid_out(found, (*range(q.ndim, found.ndim), *range(q.ndim)))
        return deliver(name, found, out)


for _name, _scale in (("quantile", 1), ("percentile", 100), ("nanquantile", 1), ("nanpercentile", 100)):
    _quantile_rule(_name, _scale)

# By the methods that interpolate: by how much the place of a quantile moves with it, less the number of elements.
_SLOPES = {
    "linear": -1, "interpolated_inverted_cdf": 0, "hazen": 0, "weibull": 1, "median_unbiased": 1 / 3,
    "normal_unbiased": 1 / 4,
}  # fmt: skip
_OF_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


def _quantile(
    name: str, a: AnyArray, q: Any, axis: Axes, method: str, keepdims: bool, weights: ArrayLike | None
) -> AnyArray:
    """Differentiable in `a`, and in `q` where elements are interpolated; steps in the weights.

    NumPy is asked for the quantile of the elements' ranks: it says between which places the result lies.
    """
    ask, of_known = getattr(np, name.replace("percentile", "quantile")), name.startswith("nan")
    rows, axes = _rows(a if method in _OF_ELEMENTS else floating(a), axis)
    hidden = is_hidden(q, weights) or (
        (of_known or weights is not None) and is_hidden(rows)
    )  # then NumPy cannot be asked
    count: Any = rows.shape[-1]
    plain = q.detach() if is_hidden(q) else frozen(q, name)
    if hidden:
        place, count = _linear_place(name, rows, plain, method, weights)
    elif weights is not None:
        place = ask(_ranks(rows), plain, -1, method=method, weights=_along(name, frozen(array(weights), name), a, axis))
    elif of_known:
        ranks = _ranks(rows)
        place, count = ask(ranks, plain, -1, method=method), np.sum(~np.isnan(ranks), -1, keepdims=True)
    else:
        place = ask(np.arange(count, dtype=float), plain, -1, method=method)
    if not hidden:
        place = moveaxis(place.reshape(q.size, *place.shape[q.ndim :]), 0, -1)
    known = np.nan_to_num(place)
    rows = tensor_of(rows) if hidden and not isinstance(rows, Tensor) else rows  # which takes the places as an index
    s, low = np.sort(rows), np.floor(known).astype(int)
    if method in _OF_ELEMENTS:
        result = _at(s, low)
    else:
        part, free = (known - low).astype(q.dtype), np.zeros((), bool)
        if needs_grad(q) and method in _SLOPES and weights is None:
            free = (known > 0) & (known < count - 1)
            part = part + np.where(free, (np.ravel(q) - plain.ravel()) * (count + _SLOPES[method]), 0)
        near, high = known - low < 0.5, np.where((known == low) & ~free, low, low + 1)
        below, above = _at(s, low), _at(s, high)
        # From the nearer end, so that part = 1 gives the upper element exactly.
        if hidden:
            end = _at(s, np.where(near, low, high))
        else:
            end = below if near.all() else _at(s, np.where(near, low, high)) if near.any() else above
        result = end + (above - below) * (part - ~near)
    if s.dtype.kind in "fc":  # nan is sorted last, and spreads
        result = np.where(np.isnan(place) if of_known else np.isnan(s[..., -1:]), s.dtype.type(np.nan), result)
    result = np.reshape(moveaxis(result, -1, 0), (*q.shape, *rows.shape[:-1]))
    return _with_axes(result, axes, a.ndim, q.ndim) if keepdims else result


def _linear_place(name: str, rows: AnyArray, q: AnyArray, method: str, weights: object) -> tuple[Any, Any]:
    """(between which places the quantiles of many samples lie, of how many elements)."""
    if weights is not None:
        raise refuse(name, "weights", "they decide where the quantiles lie, which cannot be seen under vmap")
    if method != "linear":
        raise refuse(
            name,
            "method",
            f"got {method!r}; the values of q, or which elements are nan, cannot be seen under vmap, where only "
            "'linear' has a rule",
        )
    check(_examine_quantiles, q)
    last = _last_place(rows) if name.startswith("nan") else rows.shape[-1] - 1
    return np.ravel(q) * last, last + 1


def _examine_quantiles(q: AnyArray) -> None:
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")


def _along(name: str, w: AnyArray, a: AnyArray, axis: Axes) -> AnyArray:
    """The weights of the elements of `_rows(a, axis)`."""
    axes = axes_of(axis, a.ndim)
    if w.shape != a.shape:
        if axis is None or w.shape != tuple(a.shape[i] for i in axes):
            raise ValueError(f"np.{name}: weights have shape {w.shape}, a has {tuple(a.shape)} and axis is {axis}.")
        w = w.transpose(np.argsort(axes)).reshape([n if i in axes else 1 for i, n in enumerate(a.shape)])
    rows, _ = _rows(np.broadcast_to(w, a.shape), axis)
    return rows


@rule("cov")
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike = None,
) -> AnyArray:
    """np.cov; differentiable in the weights that are no counts too."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("np.cov: ddof must be integer.")
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = np.concatenate([x, _variables(y, rowvar, dtype)])
    ddof = int(bias == 0) if ddof is None else ddof
    counts = None if fweights is None else _weights_of("fweights", index_values(fweights, "cov"), x.shape[1])
    if counts is not None:
        check(_examine_counts, counts)
    free, w = x.shape[1] - ddof, counts
    if aweights is not None:
        aweights = _weights_of("aweights", array(aweights), x.shape[1])
        w = aweights if counts is None else counts * aweights
    if w is not None:
        total = np.sum(w)
        free = total - ddof * (np.sum(w * aweights) / total if aweights is not None else 1)
    check(functools.partial(_examine_freedom, x.shape[1]), array(free))
    x = x - np.average(x, 1, w, keepdims=True)
    found: AnyArray = np.squeeze(np.matmul(x if w is None else x * w, np.conjugate(np.transpose(x))) / free)
    return found


def _weights_of(argument: str, w: AnyArray, count: int) -> AnyArray:
    if w.shape != (count,):
        raise RuntimeError(f"np.cov: {argument} must be a vector of {count}, one for each observation.")
    check(functools.partial(_examine_sign, argument), w)
    return astype(w, float)


def _examine_sign(argument: str, w: AnyArray) -> None:
    if np.any(w < 0):
        raise ValueError(f"np.cov: {argument} cannot be negative.")


def _examine_counts(counts: AnyArray) -> None:
    if np.any(counts != np.around(counts)):
        raise TypeError("np.cov: fweights must be integer.")


def _examine_freedom(observations: int, free: AnyArray) -> None:
    if np.any(free <= 0):
        raise refuse("cov", "ddof", f"{observations} observations leave no degrees of freedom")


def _variables(m: ArrayLike, rowvar: bool, dtype: DTypeLike) -> AnyArray:
    """The observations as a matrix with one variable in each row."""
    m = array(m)
    m = cast(m, np.result_type(m.dtype, np.float64) if dtype is None else dtype, "cov", "unsafe")
    if m.ndim > 2:
        raise ValueError(f"np.cov: expected at most 2 dimensions, got shape {tuple(m.shape)}.")
    m = np.atleast_2d(m)
    return m if rowvar or m.shape[0] == 1 else m.T


@rule("corrcoef")
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike = None) -> AnyArray:
    """np.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = ops.sqrt(ops.real(ops.diagonal(c)))
    r = c / spread[:, None] / spread[None, :]
    return ops.clamp(r, -1, 1) if r.dtype.kind == "f" else r


@rule("trapezoid", "trapz")
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1) -> AnyArray:
    """np.trapezoid."""
    y = array(y)
    at = normalize_axis_index(axis, y.ndim)  # x may have more dimensions, in which a negative axis is another one
    if x is not None:
        x = array(x)
        if x.ndim == 1:
            x = np.reshape(x, [-1 if i == at else 1 for i in range(y.ndim)])
        of_x = normalize_axis_index(axis, x.ndim)
        dx = x[along(x.ndim, of_x, slice(1, None))] - x[along(x.ndim, of_x, slice(-1))]
    later, earlier = y[along(y.ndim, at, slice(1, None))], y[along(y.ndim, at, slice(-1))]
    return ops.sum((later + earlier) * dx / 2.0, axis)
