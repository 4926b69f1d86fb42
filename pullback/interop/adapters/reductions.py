"""NumPy's reductions and running reductions: `axis`, `keepdims`, `initial` and `where` over `dim` and `keepdim`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core.errors import DtypeError, type_name
from pullback.core.numpy_types import AnyArray, ArrayLike, Axes, Axis, DTypeLike, Mask, NoValue, Numeric, Out
from pullback.core.tensor import Tensor
from pullback.core.types import DType
from pullback.interop.operands import (
    array,
    axes_of,
    cast,
    deliver,
    floating,
    index_values,
    ops,
)
from pullback.interop.registry import rule


def chosen(a: AnyArray, where: Mask, name: str, otherwise: Numeric) -> AnyArray:
    """`a`, with `otherwise` (the reduction's neutral element) where `where` is False."""
    if where is True:
        return a
    mask = index_values(where, name)
    if mask.dtype.kind not in "biufc":
        raise TypeError(f"np.{name}: where must be an array of truth values, got {type_name(where)}: write x > 0, say.")
    return ops.where(mask, a, otherwise)


def is_empty(axis: Axes) -> bool:
    """True if `axis` is (), which reduces along nothing in NumPy and along everything in PyTorch."""
    return isinstance(axis, (tuple, list)) and len(axis) == 0


def _wide(dtype: DTypeLike) -> DType:
    """The dtype in which NumPy adds and multiplies: that of small integers and bools is the platform's integer."""
    found: DType = np.add.reduce(np.empty(0, dtype)).dtype
    return found


def _start(initial: Numeric | None, dtype: DTypeLike) -> AnyArray:
    """`initial` in the dtype of the result, in which NumPy computes."""
    return initial.astype(dtype) if isinstance(initial, Tensor) else np.full((), initial, dtype)


@rule("sum")
def sum_(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.sum."""
    if isinstance(a, Tensor) and axis is None and dtype is None and out is None and initial is None and where is True:
        return ops.sum(a, None, bool(keepdims))  # the commonest call, at the end of every loss
    a = chosen(array(a), where, "sum", 0)
    result: AnyArray
    if is_empty(axis):
        result = np.copy(cast(a, _wide(a.dtype) if dtype is None else dtype, "sum", "unsafe"))
    else:
        result = ops.sum(a, axis, bool(keepdims), dtype=dtype)
    return deliver("sum", result if initial is None else result + _start(initial, result.dtype), out)


@rule("prod")
def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.prod."""
    a = chosen(array(a), where, "prod", 1)
    result = cast(a, _wide(a.dtype) if dtype is None else dtype, "prod", "unsafe")
    if (axis is None and not keepdims) or (axis in (0, -1) and not result.ndim):  # which NumPy lets pass
        result = ops.prod(result, dtype=dtype)
    else:
        for dim in sorted(axes_of(axis, result.ndim), reverse=True):
            result = ops.prod(result, dim, bool(keepdims), dtype=dtype)
    return deliver("prod", result if initial is None else result * _start(initial, result.dtype), out)


def _floats(a: ArrayLike, dtype: DTypeLike, name: str) -> AnyArray:
    """`a` in `dtype`, or as it is; integers as float64."""
    if dtype is None:
        return floating(array(a))
    if np.dtype(dtype).kind not in "fc":
        raise DtypeError(
            f"np.{name}: dtype={np.dtype(dtype)} would round, which has no derivative. Omit dtype, and round after it: "
            f"np.{name}(a).astype({np.dtype(dtype)})."
        )
    return cast(array(a), dtype, name, "unsafe")


@rule("mean")
def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Mask = True,
) -> AnyArray:
    """np.mean."""
    a = _floats(a, dtype, "mean")
    if where is not True:
        where = np.broadcast_to(index_values(where, "mean"), a.shape)
        axes = axes_of(axis, a.ndim) if a.ndim or axis not in (0, -1) else ()
        counted = np.sum(where, axes, keepdims=bool(keepdims), dtype=a.dtype)
        return deliver("mean", sum_(a, axes, keepdims=keepdims, where=where) / counted, out)
    return deliver("mean", np.copy(a) if is_empty(axis) else ops.mean(a, axis, bool(keepdims)), out)


def _spread(
    name: str,
    a: ArrayLike,
    axis: Axes,
    dtype: DTypeLike,
    ddof: Any,
    keepdims: bool | NoValue,
    where: Mask,
    mean: Any,
    correction: float | NoValue | None,
) -> AnyArray:
    """np.var or np.std."""
    if correction is not None and correction is not np._NoValue:
        if ddof:
            raise ValueError(f"np.{name}: ddof and correction can't be provided simultaneously.")
        ddof = correction
    keepdims = keepdims is not np._NoValue and bool(keepdims)
    a = _floats(a, dtype, name)
    dim = axes_of(axis, a.ndim)
    if dim and (where is True or where is np._NoValue) and (mean is None or mean is np._NoValue):
        reduce: Callable[..., AnyArray] = getattr(ops, name)
        return reduce(a, dim, correction=ddof, keepdim=keepdims)
    known = np.ones((), bool) if where is True or where is np._NoValue else index_values(where, name)
    result = spread_among(a, np.broadcast_to(known, a.shape), dim, ddof, None if mean is np._NoValue else mean)
    result = result if keepdims else np.squeeze(result, dim)
    return root(result) if name == "std" else result


def root(variance: AnyArray) -> AnyArray:
    """The standard deviation; where it is 0 its derivative is 0, as in the operator `std`."""
    return np.where(variance == 0, 0, np.sqrt(np.where(variance == 0, 1, variance)))


def spread_among(
    a: AnyArray, known: AnyArray, axes: Axes, ddof: float, mean: ArrayLike | None, warn: bool = False
) -> AnyArray:
    """The variance of the elements that are `known`, about a mean that may be given; dimensions are kept."""
    count = np.sum(known, axes, keepdims=True, dtype=a.real.dtype)
    centre = np.sum(np.where(known, a, 0), axes, keepdims=True) / count if mean is None else array(mean)
    off = np.where(known, a - centre, 0)
    squares = np.real(off * np.conjugate(off)) if a.dtype.kind == "c" else off * off
    left = count - ddof
    variance: AnyArray = np.sum(squares, axes, keepdims=True) / np.where(left > 0, left, np.nan if warn else 0)
    return variance


@rule("var")
def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Mask = True,
    mean: ArrayLike | NoValue | None = None,
    correction: float | NoValue | None = None,
) -> AnyArray:
    """np.var."""
    return deliver("var", _spread("var", a, axis, dtype, ddof, keepdims, where, mean, correction), out)


@rule("std")
def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Mask = True,
    mean: ArrayLike | NoValue | None = None,
    correction: float | NoValue | None = None,
) -> AnyArray:
    """np.std."""
    return deliver("std", _spread("std", a, axis, dtype, ddof, keepdims, where, mean, correction), out)


def extremum(
    name: str, a: ArrayLike, axis: Axes, out: Out, keepdims: bool, initial: Numeric | None, where: Mask
) -> AnyArray:
    """np.max or np.min."""
    a = array(a)
    initial = None if initial is None else _start(initial, a.dtype)
    if where is not True:
        if initial is None:
            raise ValueError(f"np.{name}: where= needs initial=, the value of a slice in which nothing is selected.")
        a = chosen(a, where, name, initial)
    reduce, pair = (ops.amax, ops.maximum) if name == "max" else (ops.amin, ops.minimum)
    if initial is not None and not a.size:  # nothing but `initial` is left
        return deliver(name, sum_(a, axis, a.dtype, keepdims=keepdims) + initial, out)
    result = np.copy(a) if is_empty(axis) else reduce(a, axis, bool(keepdims))
    return deliver(name, result if initial is None else pair(result, initial), out)


@rule("max", "amax")
def max_(
    a: ArrayLike,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.max; equal maxima share the gradient."""
    return extremum("max", a, axis, out, keepdims, initial, where)


@rule("min", "amin")
def min_(
    a: ArrayLike,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.min; equal minima share the gradient."""
    return extremum("min", a, axis, out, keepdims, initial, where)


@rule("ptp")
def ptp(a: ArrayLike, axis: Axes = None, out: Out = None, keepdims: bool = False) -> AnyArray:
    """np.ptp."""
    return deliver("ptp", max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims), out)


@rule("argmax")
def argmax(a: ArrayLike, axis: Axes = None, out: Out = None, *, keepdims: bool = False) -> AnyArray:
    """np.argmax."""
    return deliver("argmax", ops.argmax(array(a), axis, bool(keepdims)), out)


@rule("argmin")
def argmin(a: ArrayLike, axis: Axes = None, out: Out = None, *, keepdims: bool = False) -> AnyArray:
    """np.argmin."""
    return deliver("argmin", ops.argmin(array(a), axis, bool(keepdims)), out)


@rule("all")
def all_(a: ArrayLike, axis: Axes = None, out: Out = None, keepdims: bool = False, *, where: Mask = True) -> AnyArray:
    """np.all."""
    return deliver("all", _truth(ops.all, chosen(array(a), where, "all", True), axis, keepdims), out)


@rule("any")
def any_(a: ArrayLike, axis: Axes = None, out: Out = None, keepdims: bool = False, *, where: Mask = True) -> AnyArray:
    """np.any."""
    return deliver("any", _truth(ops.any, chosen(array(a), where, "any", False), axis, keepdims), out)


def _truth(reduce: Callable[..., AnyArray], a: AnyArray, axis: Axes, keepdims: bool) -> AnyArray:
    return ops.ne(a, 0) if is_empty(axis) else reduce(a, axis, bool(keepdims))


@rule("count_nonzero")
def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> AnyArray:
    """np.count_nonzero."""
    return sum_(ops.ne(array(a), 0), axis, keepdims=keepdims)


# -- ignoring nan ---------------------------------------------------------------------------------------------------


def without_nan(a: AnyArray, otherwise: float) -> AnyArray:
    """`a` with `otherwise` in place of nan."""
    return ops.where(ops.isnan(a), otherwise, a) if a.dtype.kind in "fc" else a


@rule("nansum")
def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.nansum."""
    return sum_(without_nan(array(a), 0), axis, dtype, out, keepdims, initial, where)


@rule("nanprod")
def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.nanprod."""
    return prod(without_nan(array(a), 1), axis, dtype, out, keepdims, initial, where)


@rule("nanmean")
def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Mask = True,
) -> AnyArray:
    """np.nanmean."""
    a = array(a)
    known = np.True_ if a.dtype.kind not in "fc" else ~np.isnan(a)
    return mean(without_nan(a, 0), axis, dtype, out, keepdims, where=_both(known, where))


def _both(known: AnyArray | np.bool_, where: Any) -> Any:
    return known if where is True else np.logical_and(known, where)


def _known_extremum(
    name: str, a: ArrayLike, axis: Axes, out: Out, keepdims: bool, initial: Numeric | None, where: Mask
) -> AnyArray:
    a = array(a)
    if a.dtype.kind not in "fc":
        return extremum(name, a, axis, out, keepdims, initial, where)
    lost = np.isnan(a)
    result = extremum(name, without_nan(a, -np.inf if name == "max" else np.inf), axis, None, keepdims, initial, where)
    if initial is None:
        result = ops.where(all_(lost, axis, keepdims=keepdims), np.nan, result)  # nothing but nan
    return deliver(f"nan{name}", result, out)


@rule("nanmax")
def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.nanmax."""
    return _known_extremum("max", a, axis, out, keepdims, initial, where)


@rule("nanmin")
def nanmin(
    a: ArrayLike,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Numeric | None = None,
    where: Mask = True,
) -> AnyArray:
    """np.nanmin."""
    return _known_extremum("min", a, axis, out, keepdims, initial, where)


# -- running --------------------------------------------------------------------------------------------------------


def _running(
    name: str, operator: Callable[..., AnyArray], a: ArrayLike, axis: Axis, dtype: DTypeLike, out: Out
) -> AnyArray:
    a = array(a)
    if axis is None or not a.ndim:
        normalize_axis_index(0 if axis is None else axis, max(a.ndim, 1))
        a, axis = ops.reshape(a, (-1,)), 0
    return deliver(name, operator(a, axis, dtype=dtype), out)


@rule("cumsum")
def cumsum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Out = None) -> AnyArray:
    """np.cumsum."""
    return _running("cumsum", ops.cumsum, a, axis, dtype, out)


@rule("cumprod")
def cumprod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Out = None) -> AnyArray:
    """np.cumprod."""
    return _running("cumprod", ops.cumprod, a, axis, dtype, out)


@rule("nancumsum")
def nancumsum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Out = None) -> AnyArray:
    """np.nancumsum."""
    return _running("nancumsum", ops.cumsum, without_nan(array(a), 0), axis, dtype, out)


@rule("nancumprod")
def nancumprod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Out = None) -> AnyArray:
    """np.nancumprod."""
    return _running("nancumprod", ops.cumprod, without_nan(array(a), 1), axis, dtype, out)


def _cumulative(
    name: str,
    operator: Callable[..., AnyArray],
    x: ArrayLike,
    axis: Axis,
    dtype: DTypeLike,
    out: Out,
    include_initial: bool,
    initial: Numeric | None,
) -> AnyArray:
    x = array(x)
    if not x.ndim:
        x = ops.reshape(x, (1,))
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"np.{name}: for arrays of {x.ndim} dimensions the argument 'axis' is required.")
        axis = 0
    result = operator(x, axis, dtype=dtype)
    if include_initial:
        shape = [*result.shape]
        shape[axis] = 1
        result = ops.cat([np.full(shape, initial, result.dtype), result], axis)
    return deliver(name, result, out)


@rule("cumulative_sum")
def cumulative_sum(
    x: ArrayLike, /, *, axis: Axis = None, dtype: DTypeLike = None, out: Out = None, include_initial: bool = False
) -> AnyArray:
    """np.cumulative_sum."""
    return _cumulative("cumulative_sum", ops.cumsum, x, axis, dtype, out, include_initial, 0)


@rule("cumulative_prod")
def cumulative_prod(
    x: ArrayLike, /, *, axis: Axis = None, dtype: DTypeLike = None, out: Out = None, include_initial: bool = False
) -> AnyArray:
    """np.cumulative_prod."""
    return _cumulative("cumulative_prod", ops.cumprod, x, axis, dtype, out, include_initial, 1)
