"""NumPy's functions that put arrays together."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.interop.operands import array, axes_of, cast, deliver, only, ops, refuse, values
from pullback.interop.registry import rule


@rule("concatenate", "concat")
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """np.concatenate."""
    arrays = [array(x) for x in arrays]
    if axis is None:
        arrays, axis = [np.ravel(x) for x in arrays], 0
    return deliver("concatenate", cast(ops.cat(arrays, axis), dtype, "concatenate", casting), out, casting)


@rule("stack")
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """np.stack."""
    result = ops.stack([array(x) for x in arrays], axis)
    return deliver("stack", cast(result, dtype, "stack", casting), out, casting)


@rule("hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """np.hstack."""
    arrays = [np.atleast_1d(array(x)) for x in tup]
    return cast(ops.cat(arrays, 0 if arrays and arrays[0].ndim == 1 else 1), dtype, "hstack", casting)


@rule("vstack")
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """np.vstack."""
    return cast(ops.cat([np.atleast_2d(array(x)) for x in tup], 0), dtype, "vstack", casting)


@rule("dstack")
def dstack(tup: Any) -> Any:
    """np.dstack."""
    return ops.cat([np.atleast_3d(array(x)) for x in tup], 2)


@rule("column_stack")
def column_stack(tup: Any) -> Any:
    """np.column_stack."""
    arrays = [array(x) for x in tup]
    return ops.cat([x if x.ndim > 1 else np.reshape(x, (-1, 1)) for x in arrays], 1)


@rule("append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """np.append."""
    return concatenate((arr, values), axis=axis)


@rule("block")
def block(arrays: Any) -> Any:
    """np.block: nested lists of arrays, the innermost joined along the last axis."""
    depth = _depth(arrays)
    ndim = max(depth, _most_dimensions(arrays))
    return _joined(arrays, depth, ndim)


def _depth(item: Any) -> Any:
    if not isinstance(item, list):
        return 0
    depths = {_depth(x) for x in item}
    if len(depths) != 1:
        raise ValueError("np.block: the lists are nested to different depths, or one of them is empty.")
    return 1 + depths.pop()


def _most_dimensions(item: Any) -> Any:
    return max(map(_most_dimensions, item)) if isinstance(item, list) else array(item).ndim


def _joined(item: Any, depth: Any, ndim: int) -> Any:
    if depth == 0:
        item = array(item)
        return np.reshape(item, (*(1,) * (ndim - item.ndim), *item.shape))
    return np.concatenate([_joined(x, depth - 1, ndim) for x in item], ndim - depth)


@rule("pad")
def pad(array_: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """np.pad with constants, or with the array's own elements (edge, reflect, symmetric, wrap)."""
    a = array(array_)
    widths = _widths(pad_width, a.ndim)
    if mode == "constant":
        return _pad_constant(a, widths, options.pop("constant_values", 0), options)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise refuse("pad", "mode", f"{mode!r} is not among constant, edge, reflect, symmetric, wrap")
    only("pad", "reflect_type", options.pop("reflect_type", "even"), ("even",))
    _no_more("pad", options)
    for axis, width in enumerate(widths):
        if any(width):
            a = ops.index_select(a, axis, np.pad(np.arange(a.shape[axis]), width, mode=mode))
    return a


def _widths(pad_width: Any, ndim: int) -> Any:
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            widths[axes_of(axis, ndim)[0]] = width if isinstance(width, tuple) else (width, width)
        return widths
    return np.broadcast_to(values(pad_width, "pad"), (ndim, 2)).tolist()


def _pad_constant(a: Any, widths: Any, constants: Any, options: Any) -> Any:
    _no_more("pad", options)
    constants = np.broadcast_to(values(constants, "pad"), (a.ndim, 2)).astype(a.dtype)
    for axis, (width, ends) in enumerate(zip(widths, constants, strict=True)):
        parts = [a]
        for count, constant, at in (*zip(width, ends, (0, 2), strict=True),):
            if count:
                shape = [*a.shape]
                shape[axis] = count
                parts.insert(at, np.full(shape, constant, a.dtype))
        a = ops.cat(parts, axis) if len(parts) > 1 else a
    return a


def _no_more(name: str, options: Any) -> None:
    for argument in options:
        raise refuse(name, argument, "omit it")
