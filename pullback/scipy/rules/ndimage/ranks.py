"""scipy.ndimage's filters that choose one element of each window: its gradient goes to the one that was chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike, Axes, Numeric, Output
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, floating, values
from pullback.scipy.rules.ndimage.borders import indices, mode_of, sequence
from pullback.scipy.rules.ndimage.filters import axes_of, given


def _chosen(
    name: str,
    x: AnyArray,
    footprint: Any,
    mode: str | Sequence[str],
    cval: Numeric,
    origin: int | Sequence[int],
    rank: Callable[..., Any],
    heights: AnyArray | None,
) -> AnyArray:
    """The element of this rank in each window: `rank` of the number of elements, to which `heights` are added."""
    modes, origins = sequence(mode, x.ndim), sequence(origin, x.ndim)
    flat = np.zeros((1,) * x.ndim, np.intp)
    outside = np.zeros((1,) * x.ndim, bool)
    for axis, (n, m, kind, o) in enumerate(zip(x.shape, footprint.shape, modes, origins, strict=True)):
        before = m // 2 + o
        if not 0 <= before < m:
            raise ValueError(f"invalid origin {origin!r} for a window of shape {footprint.shape}.")
        places = indices(n, before, m - 1 - before, mode_of(kind))
        shape = [1] * x.ndim
        shape[axis] = len(places)
        outside = outside | (places < 0).reshape(shape)
        flat = flat + (np.maximum(places, 0) * int(np.prod(x.shape[axis + 1 :]))).reshape(shape)
    flat = np.where(outside, x.size, flat)
    windows = np.lib.stride_tricks.sliding_window_view(flat, footprint.shape)[..., footprint]
    elements = np.append(_numbers(x, name).ravel(), cval)[windows]
    if heights is not None:
        elements = elements + _numbers(heights, name)
    at = np.argpartition(elements, rank(windows.shape[-1]), axis=-1)[..., rank(windows.shape[-1])]
    choice = np.take_along_axis(windows, at[..., None], -1)[..., 0]
    found = np.take(np.append(x.reshape(-1), np.asarray(cval, x.dtype)), choice)
    return found if heights is None else found + np.take(heights, at)


def _numbers(x: AnyArray, name: str) -> AnyArray:
    return values(x.detach() if hasattr(x, "detach") else x, name)


def _window(name: str, size: int | Sequence[int] | None, footprint: Any, ndim: int, axes: Axes) -> AnyArray:
    """The footprint with all dimensions; those that it is given belong to the axes in rising order, as SciPy has it."""
    along = axes_of(axes, ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError(f"{name}: no footprint or filter size provided")
        footprint = np.ones([int(n) for n in sequence(size, len(along))], bool)
    footprint = values(footprint, name).astype(bool)
    if footprint.ndim != len(along):
        raise RuntimeError(f"{name}: footprint array has incorrect shape.")
    if not footprint.any():
        raise ValueError("All-zero footprint is not supported.")
    shape = [1] * ndim
    for axis, n in zip(sorted(along), footprint.shape, strict=True):
        shape[axis] = n
    return footprint.reshape(shape)


def _separable(
    name: str,
    size: int | Sequence[int] | None,
    footprint: Any,
    origin: int | Sequence[int],
    ndim: int,
    axes: Axes,
) -> tuple[Any, Any]:
    """The footprint and origins of minima and maxima: a full one is filtered along the axes one by one, in order."""
    along = axes_of(axes, ndim)
    if footprint is None and size is not None:
        footprint = np.ones([int(n) for n in sequence(size, len(along))], bool)
    footprint = None if footprint is None else values(footprint, name).astype(bool)
    if footprint is None or footprint.ndim != len(along) or not footprint.all():
        return footprint, origin
    order = np.argsort(along)
    if len(along) == ndim:
        origin = [sequence(origin, ndim)[i] for i in order]
    return np.transpose(footprint, order), origin


def _spread(items: object, axes: Axes, ndim: int, rest: object) -> list[Any]:
    along = axes_of(axes, ndim)
    full = [rest] * ndim
    for axis, item in zip(along, sequence(items, len(along)), strict=True):
        full[axis] = item
    return full


def _filter(
    name: str, input: ArrayLike, rank: Callable[..., Any], size: int | Sequence[int] | None, footprint: Any,
    output: Output, mode: str | Sequence[str], cval: Numeric, origin: int | Sequence[int], axes: Axes,
    heights: AnyArray | None = None,
) -> AnyArray:  # fmt: skip
    x = array(input)
    window = _window(name, size, footprint, x.ndim, axes)
    modes = _spread(mode, axes, x.ndim, "reflect")
    origins = _spread(origin, None if len(axes_of(axes, x.ndim)) == x.ndim else axes, x.ndim, 0)
    return given(f"scipy.ndimage.{name}", _chosen(name, x, window, modes, cval, origins, rank, heights), x, output)


def _extreme(kind: str, last: bool) -> None:
    def rank(n: int) -> int:
        return n - 1 if last else 0

    @scipy_rule(f"scipy.ndimage.{kind}_filter")
    def several(
        input: ArrayLike, size: int | Sequence[int] | None = None, footprint: Any = None, output: Output = None,
        mode: str | Sequence[str] = "reflect", cval: AnyArray | float = 0.0, origin: int | Sequence[int] = 0, *,
        axes: Axes = None,
    ) -> AnyArray:  # fmt: skip
        input = array(input)
        footprint, origin = _separable(f"{kind}_filter", size, footprint, origin, input.ndim, axes)
        return _filter(f"{kind}_filter", input, rank, None, footprint, output, mode, cval, origin, axes)

    @scipy_rule(f"scipy.ndimage.{kind}_filter1d")
    def one(
        input: ArrayLike,
        size: int,
        axis: int = -1,
        output: Output = None,
        mode: str | Sequence[str] = "reflect",
        cval: AnyArray | float = 0.0,
        origin: int = 0,
    ) -> AnyArray:
        return _filter(f"{kind}_filter1d", input, rank, size, None, output, mode, cval, origin, (axis,))


_extreme("minimum", False)
_extreme("maximum", True)


@scipy_rule("scipy.ndimage._filters._min_or_max_filter")
def _morphology(
    input: ArrayLike,
    size: int | Sequence[int] | None,
    footprint: Any,
    structure: ArrayLike | None,
    output: Output,
    mode: str | Sequence[str],
    cval: float,
    origin: int | Sequence[int],
    minimum: int,
    axes: Axes = None,
) -> AnyArray:
    """The least difference to a structure, or the greatest sum: all functions of grey morphology call it."""
    input, name, heights = array(input), "grey_erosion" if minimum else "grey_dilation", None
    if structure is not None:
        structure = floating(array(structure))
        footprint = np.ones(structure.shape, bool) if footprint is None else values(footprint, name).astype(bool)
        heights = structure.reshape(-1)[np.flatnonzero(footprint)] * (-1.0 if minimum else 1.0)
    else:
        footprint, origin = _separable(name, size, footprint, origin, input.ndim, axes)
    last = 0 if minimum else -1
    return _filter(name, input, lambda n: last % n, None, footprint, output, mode, cval, origin, axes, heights)


@scipy_rule("scipy.ndimage.median_filter")
def median_filter(
    input: ArrayLike,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> AnyArray:
    """The middle of each window."""
    return _filter("median_filter", input, lambda n: n // 2, size, footprint, output, mode, cval, origin, axes)


@scipy_rule("scipy.ndimage.rank_filter")
def rank_filter(
    input: ArrayLike,
    rank: int,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int = 0,
    *,
    axes: Axes = None,
) -> AnyArray:
    """The element of this rank."""
    return _filter("rank_filter", input, lambda n: rank % n, size, footprint, output, mode, cval, origin, axes)


@scipy_rule("scipy.ndimage.percentile_filter")
def percentile_filter(
    input: ArrayLike,
    percentile: float,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int = 0,
    *,
    axes: Axes = None,
) -> AnyArray:
    """The element at this percentage of the ranks."""

    def rank(n: int) -> int:
        share = percentile + 100.0 if percentile < 0 else percentile
        return n - 1 if share == 100.0 else int(n * share / 100.0)

    return _filter("percentile_filter", input, rank, size, footprint, output, mode, cval, origin, axes)
