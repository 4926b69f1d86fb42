"""NumPy's reductions and running reductions: `axis`, `keepdims`, `initial` and `where` over `dim` and `keepdim`."""

import numpy as np

from pullback.core.tensor import Tensor
from pullback.interop.operands import (
    array,
    axes_of,
    cast,
    deliver,
    floating,
    only,
    ops,
    refuse,
    values,
)
from pullback.interop.registry import rule


def chosen(a, where, name, otherwise):
    """`a`, with `otherwise` (the reduction's neutral element) where `where` is False."""
    return a if where is True else ops.where(values(where, name), a, otherwise)


def is_empty(axis):
    """Whether `axis` is (), which reduces along nothing in NumPy and along everything in PyTorch."""
    return isinstance(axis, (tuple, list)) and len(axis) == 0


@rule("sum")
def sum_(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """np.sum."""
    if type(a) is Tensor and axis is None and dtype is None and out is None and initial is None and where is True:
        return ops.sum(a, None, bool(keepdims))  # the commonest call, at the end of every loss
    a = chosen(array(a), where, "sum", 0)
    result = cast(a, dtype, "sum", "unsafe") if is_empty(axis) else ops.sum(a, axis, bool(keepdims), dtype=dtype)
    return deliver("sum", result if initial is None else result + initial, out)


@rule("prod")
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """np.prod."""
    result = cast(chosen(array(a), where, "prod", 1), dtype, "prod", "unsafe")
    if axis is None and not keepdims:
        result = ops.prod(result)
    else:
        for dim in sorted(axes_of(axis, result.ndim), reverse=True):
            result = ops.prod(result, dim, bool(keepdims), dtype=dtype)
    return deliver("prod", result if initial is None else result * initial, out)


@rule("mean")
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """np.mean."""
    a = floating(array(a)) if dtype is None else cast(array(a), dtype, "mean", "unsafe")
    if where is not True:
        where = np.broadcast_to(values(where, "mean"), a.shape)
        axes = axes_of(axis, a.ndim)
        counted = np.sum(where, axes, keepdims=bool(keepdims), dtype=a.dtype)
        return deliver("mean", sum_(a, axes, keepdims=keepdims, where=where) / counted, out)
    return deliver("mean", a if is_empty(axis) else ops.mean(a, axis, bool(keepdims)), out)


def _spread(name, a, axis, dtype, ddof, keepdims, where, mean, correction):
    """np.var or np.std."""
    only(name, "where", where, (True,), "use pullback operators on t[mask]")
    only(name, "mean", mean, (None,))
    if correction is not None:
        if ddof:
            raise ValueError(f"np.{name}: ddof and correction can't be provided simultaneously.")
        ddof = correction
    a = floating(array(a)) if dtype is None else cast(array(a), dtype, name, "unsafe")
    dim = tuple(range(a.ndim)) if axis is None else axis
    if is_empty(dim):
        raise refuse(name, "axis", "an empty axis has no spread; omit it")
    return getattr(ops, name)(a, dim, correction=ddof, keepdim=bool(keepdims))


@rule("var")
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """np.var."""
    return deliver("var", _spread("var", a, axis, dtype, ddof, keepdims, where, mean, correction), out)


@rule("std")
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """np.std."""
    return deliver("std", _spread("std", a, axis, dtype, ddof, keepdims, where, mean, correction), out)


def extremum(name, a, axis, out, keepdims, initial, where):
    """np.max or np.min."""
    a = array(a)
    if where is not True:
        if initial is None:
            raise ValueError(f"np.{name}: where= needs initial=, the value of a slice in which nothing is selected.")
        a = chosen(a, where, name, initial)
    reduce, pair = (ops.amax, ops.maximum) if name == "max" else (ops.amin, ops.minimum)
    result = a if is_empty(axis) else reduce(a, axis, bool(keepdims))
    return deliver(name, result if initial is None else pair(result, initial), out)


@rule("max", "amax")
def max_(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    """np.max; equal maxima share the gradient."""
    return extremum("max", a, axis, out, keepdims, initial, where)


@rule("min", "amin")
def min_(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    """np.min; equal minima share the gradient."""
    return extremum("min", a, axis, out, keepdims, initial, where)


@rule("ptp")
def ptp(a, axis=None, out=None, keepdims=False):
    """np.ptp."""
    return deliver("ptp", max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims), out)


@rule("argmax")
def argmax(a, axis=None, out=None, *, keepdims=False):
    """np.argmax."""
    return deliver("argmax", ops.argmax(array(a), axis, bool(keepdims)), out)


@rule("argmin")
def argmin(a, axis=None, out=None, *, keepdims=False):
    """np.argmin."""
    return deliver("argmin", ops.argmin(array(a), axis, bool(keepdims)), out)


@rule("all")
def all_(a, axis=None, out=None, keepdims=False, *, where=True):
    """np.all."""
    return deliver("all", _truth(ops.all, chosen(array(a), where, "all", True), axis, keepdims), out)


@rule("any")
def any_(a, axis=None, out=None, keepdims=False, *, where=True):
    """np.any."""
    return deliver("any", _truth(ops.any, chosen(array(a), where, "any", False), axis, keepdims), out)


def _truth(reduce, a, axis, keepdims):
    return ops.ne(a, 0) if is_empty(axis) else reduce(a, axis, bool(keepdims))


@rule("count_nonzero")
def count_nonzero(a, axis=None, *, keepdims=False):
    """np.count_nonzero."""
    a = ops.ne(array(a), 0)
    return ops.sum(a, axes_of(axis, a.ndim), bool(keepdims)) if a.ndim else ops.sum(a)


# -- ignoring nan ---------------------------------------------------------------------------------------------------


def without_nan(a, otherwise):
    """`a` with `otherwise` in place of nan."""
    return ops.where(ops.isnan(a), otherwise, a) if a.dtype.kind in "fc" else a


@rule("nansum")
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """np.nansum."""
    return sum_(without_nan(array(a), 0), axis, dtype, out, keepdims, initial, where)


@rule("nanprod")
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """np.nanprod."""
    return prod(without_nan(array(a), 1), axis, dtype, out, keepdims, initial, where)


@rule("nanmean")
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """np.nanmean."""
    a = array(a)
    known = np.True_ if a.dtype.kind not in "fc" else ~np.isnan(a)
    return mean(without_nan(a, 0), axis, dtype, out, keepdims, where=_both(known, where))


def _both(known, where):
    return known if where is True else np.logical_and(known, where)


def _known_extremum(name, a, axis, out, keepdims, initial, where):
    a = array(a)
    if a.dtype.kind not in "fc":
        return extremum(name, a, axis, out, keepdims, initial, where)
    lost = np.isnan(a)
    result = extremum(name, without_nan(a, -np.inf if name == "max" else np.inf), axis, None, keepdims, initial, where)
    if initial is None:
        result = ops.where(all_(lost, axis, keepdims=keepdims), np.nan, result)  # nothing but nan
    return deliver(f"nan{name}", result, out)


@rule("nanmax")
def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    """np.nanmax."""
    return _known_extremum("max", a, axis, out, keepdims, initial, where)


@rule("nanmin")
def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    """np.nanmin."""
    return _known_extremum("min", a, axis, out, keepdims, initial, where)


# -- running --------------------------------------------------------------------------------------------------------


def _running(name, operator, a, axis, dtype, out):
    a = array(a)
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), 0
    return deliver(name, operator(a, axis, dtype=dtype), out)


@rule("cumsum")
def cumsum(a, axis=None, dtype=None, out=None):
    """np.cumsum."""
    return _running("cumsum", ops.cumsum, a, axis, dtype, out)


@rule("cumprod")
def cumprod(a, axis=None, dtype=None, out=None):
    """np.cumprod."""
    return _running("cumprod", ops.cumprod, a, axis, dtype, out)


@rule("nancumsum")
def nancumsum(a, axis=None, dtype=None, out=None):
    """np.nancumsum."""
    return _running("nancumsum", ops.cumsum, without_nan(array(a), 0), axis, dtype, out)


@rule("nancumprod")
def nancumprod(a, axis=None, dtype=None, out=None):
    """np.nancumprod."""
    return _running("nancumprod", ops.cumprod, without_nan(array(a), 1), axis, dtype, out)


def _cumulative(name, operator, x, axis, dtype, out, include_initial, initial):
    x = array(x)
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
def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """np.cumulative_sum."""
    return _cumulative("cumulative_sum", ops.cumsum, x, axis, dtype, out, include_initial, 0)


@rule("cumulative_prod")
def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """np.cumulative_prod."""
    return _cumulative("cumulative_prod", ops.cumprod, x, axis, dtype, out, include_initial, 1)
