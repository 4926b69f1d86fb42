"""NumPy's functions that put arrays together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.core.array_type import layout_of
from pullback.core.numpy_types import AnyArray, ArrayLike, Axis, Casting, DTypeLike, Out
from pullback.core.tensor import Tensor
from pullback.interop.operands import along, array, astype, axes_of, cast, deliver, moveaxis, only, ops, values
from pullback.interop.registry import rule


@rule("concatenate", "concat")
def concatenate(
    arrays: Sequence[ArrayLike],
    /,
    axis: Axis = 0,
    out: Out = None,
    *,
    dtype: DTypeLike = None,
    casting: Casting = "same_kind",
) -> AnyArray:
    """np.concatenate."""
    parts = [array(x) for x in arrays]
    if axis is None:
        parts, axis = [np.ravel(x) for x in parts], 0
    result = cast(ops.cat(parts, axis), dtype, "concatenate", casting)
    return _delivered("concatenate", result, parts, axis, out, casting)


@rule("stack")
def stack(
    arrays: Sequence[ArrayLike],
    axis: int = 0,
    out: Out = None,
    *,
    dtype: DTypeLike = None,
    casting: Casting = "same_kind",
) -> AnyArray:
    """np.stack."""
    given = [array(x) for x in arrays]
    result = cast(ops.stack(given, axis), dtype, "stack", casting)
    return _delivered("stack", result, [np.expand_dims(x, axis) for x in given], axis, out, casting)


def _delivered(
    name: str, result: AnyArray, pieces: Sequence[AnyArray], axis: int, out: Any, casting: Casting
) -> AnyArray:
    """`result` in `out`, piece after piece where one lies in memory of `out`: NumPy reads what it has written."""
    memory = layout_of(out) if isinstance(out, Tensor) and out.shape == result.shape else None
    if memory is None or not any(_shares(memory, layout_of(x)) for x in pieces):
        return deliver(name, result, out, casting)
    end = 0
    for x in pieces:
        start, end = end, end + x.shape[axis]
        deliver(name, x, out[along(out.ndim, axis, slice(start, end))], casting)
    return out  # type: ignore[no-any-return]  # an Array


def _shares(memory: np.ndarray[Any, Any], other: np.ndarray[Any, Any] | None) -> bool:
    return other is not None and np.shares_memory(memory, other)


@rule("hstack")
def hstack(tup: Sequence[ArrayLike], *, dtype: DTypeLike = None, casting: Casting = "same_kind") -> AnyArray:
    """np.hstack."""
    arrays = [np.atleast_1d(array(x)) for x in tup]
    return cast(ops.cat(arrays, 0 if arrays and arrays[0].ndim == 1 else 1), dtype, "hstack", casting)


@rule("vstack")
def vstack(tup: Sequence[ArrayLike], *, dtype: DTypeLike = None, casting: Casting = "same_kind") -> AnyArray:
    """np.vstack."""
    return cast(ops.cat([np.atleast_2d(array(x)) for x in tup], 0), dtype, "vstack", casting)


@rule("dstack")
def dstack(tup: Sequence[ArrayLike]) -> AnyArray:
    """np.dstack."""
    return ops.cat([np.atleast_3d(array(x)) for x in tup], 2)


@rule("column_stack")
def column_stack(tup: Sequence[ArrayLike]) -> AnyArray:
    """np.column_stack."""
    arrays = [array(x) for x in tup]
    return ops.cat([x if x.ndim > 1 else np.reshape(x, (-1, 1)) for x in arrays], 1)


@rule("append")
def append(arr: ArrayLike, values: ArrayLike, axis: Axis = None) -> AnyArray:
    """np.append."""
    return concatenate((arr, values), axis=axis)


@rule("block")
def block(arrays: Any) -> AnyArray:
    """np.block: nested lists of arrays, the innermost joined along the last axis."""
    depth = _depth(arrays)
    if not depth:
        return np.copy(arrays)
    ndim = max(depth, _most_dimensions(arrays))
    return _joined(arrays, depth, ndim)


def _depth(item: object) -> int:
    if not isinstance(item, list):
        return 0
    depths = {_depth(x) for x in item}
    if len(depths) != 1:
        raise ValueError("np.block: the lists are nested to different depths, or one of them is empty.")
    return 1 + depths.pop()


def _most_dimensions(item: object) -> int:
    return max(map(_most_dimensions, item)) if isinstance(item, list) else array(item).ndim


def _joined(item: Any, depth: int, ndim: int) -> AnyArray:
    if depth == 0:
        item = array(item)
        return np.reshape(item, (*(1,) * (ndim - item.ndim), *item.shape))
    return np.concatenate([_joined(x, depth - 1, ndim) for x in item], ndim - depth)


# -- np.pad ---------------------------------------------------------------------------------------------------------

_STATISTICS: dict[str, Any] = {"maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min}
_OPTIONS = {
    "constant": ("constant_values",), "linear_ramp": ("end_values",), "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",), **dict.fromkeys(_STATISTICS, ("stat_length",)),
    **dict.fromkeys(("edge", "empty", "wrap"), ()),
}  # fmt: skip


@rule("pad")
def pad(array_: ArrayLike, pad_width: Any, mode: Any = "constant", **options: Any) -> AnyArray:
    """np.pad, in every mode; differentiable in the constants and in the ends of ramps too."""
    a = array(array_)
    widths = _widths(pad_width, a.ndim)
    if callable(mode):
        return _padded_by(mode, a, widths, options)
    if mode not in _OPTIONS:
        raise ValueError(f"np.pad: mode {mode!r} is not among {', '.join(_OPTIONS)}.")
    for argument in options:
        if argument not in _OPTIONS[mode]:
            raise ValueError(f"np.pad: mode {mode!r} has no argument {argument!r}.")
    odd = options.get("reflect_type", "even") == "odd"
    only("pad", "reflect_type", options.get("reflect_type", "even"), ("even", "odd"))
    ends = _pairs(options.get("constant_values", options.get("end_values", 0)), a.ndim)
    lengths = _pairs(options["stat_length"], a.ndim) if options.get("stat_length") is not None else None
    for axis, width in enumerate(widths):
        n = a.shape[axis]
        if mode in ("constant", "empty"):  # the latter pads with whatever the memory holds, in NumPy
            a = _between(a, axis, [_repeated(a, end, axis, k) for end, k in zip(ends[axis], width, strict=True)])
        elif not any(width):
            continue
        elif n == 0:
            raise ValueError(f"np.pad: axis {axis} is empty, and mode {mode!r} has nothing to pad with.")
        elif mode == "linear_ramp":
            a = _between(a, axis, _ramps(a, axis, width, ends[axis]))
        elif mode in _STATISTICS:
            a = _between(a, axis, _statistics(a, axis, width, mode, (n, n) if lengths is None else lengths[axis]))
        elif odd and n > 1:
            a = _reflected(a, axis, width, mode == "symmetric")
        else:
            a = np.take(a, np.pad(np.arange(n), width, mode=mode), axis)
    return a


def _widths(pad_width: Any, ndim: int) -> list[Any]:
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            widths[axes_of(axis, ndim)[0]] = width if isinstance(width, tuple) else (width, width)
        return widths
    plain = values(pad_width, "pad")
    if plain.dtype.kind not in "iu":
        raise TypeError("np.pad: pad_width must be of integral type.")
    if plain.size and plain.min() < 0:
        raise ValueError("np.pad: pad_width must not be negative.")
    return [*np.broadcast_to(plain, (ndim, 2)).tolist()]


def _pairs(x: AnyArray, ndim: int) -> AnyArray:
    """For each axis what comes before and after it."""
    return np.broadcast_to(array(x), (ndim, 2))


def _between(a: AnyArray, axis: int, parts: Iterable[AnyArray]) -> AnyArray:
    before, after = (astype(p, a.dtype) for p in parts)
    return np.concatenate([before, a, after], axis)


def _repeated(a: AnyArray, value: Any, axis: int, count: int) -> AnyArray:
    return np.broadcast_to(value, [count if i == axis else n for i, n in enumerate(a.shape)])


def _ramps(a: AnyArray, axis: int, width: Sequence[int], ends: AnyArray) -> tuple[AnyArray, AnyArray]:
    """From each end, which is included, to the edge, which is not."""
    edges = (a[along(a.ndim, axis, 0)], a[along(a.ndim, axis, -1)])
    before, after = (
        np.linspace(end, edge, int(count), endpoint=False, axis=axis, dtype=a.dtype)
        for end, edge, count in zip(ends, edges, width, strict=True)
    )
    return before, np.flip(after, axis)


def _statistics(a: AnyArray, axis: int, width: Sequence[int], mode: str, lengths: Iterable[int]) -> Iterator[AnyArray]:
    n = a.shape[axis]
    first, last = (min(int(k), n) for k in lengths)
    for count, part in ((first, slice(first)), (last, slice(n - last, None))):
        if not count and mode in ("maximum", "minimum"):
            raise ValueError("np.pad: stat_length of 0 yields no value for padding.")
        found = _STATISTICS[mode](a[along(a.ndim, axis, part)], axis=axis, keepdims=True)
        found = np.round(found) if a.dtype.kind in "iu" else found
        yield _repeated(a, found, axis, width[0] if part.stop is not None else width[1])


def _reflected(a: AnyArray, axis: int, width: Sequence[int], with_edge: bool) -> AnyArray:
    """Padded by twice the edge minus the elements on its other side, as often as it takes."""
    period, (before, after) = a.shape[axis], width
    while before or after:
        n = a.shape[axis]
        whole = n // period * period if with_edge else (n - 1) // (period - 1) * (period - 1)
        left, right = min(whole, before), min(whole, after)
        skip = 0 if with_edge else 1
        low = np.flip(a[along(a.ndim, axis, slice(skip, skip + left))], axis)
        high = np.flip(a[along(a.ndim, axis, slice(n - skip - right, n - skip))], axis)
        edges = (a[along(a.ndim, axis, slice(1))], a[along(a.ndim, axis, slice(n - 1, n))])
        a = _between(a, axis, (2 * edges[0] - low, 2 * edges[1] - high))
        before, after = before - left, after - right
    return a


def _padded_by(
    function: Callable[..., object], a: AnyArray, widths: Sequence[Any], options: dict[str, Any]
) -> AnyArray:
    """A user's function writes the ends of every slice, in place."""
    padded = np.copy(np.pad(a, widths))
    for axis, width in enumerate(widths):
        view = moveaxis(padded, axis, -1)
        for place in np.ndindex(*view.shape[:-1]):
            function(view[place], tuple(width), axis, options)
    return padded
