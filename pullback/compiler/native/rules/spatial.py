"""Convolution and its derivatives, as sums of products over windows; the largest numbers of windows, and their places.

NumPy's kernels copy windows into matrices for BLAS, which pays from some thousand multiplications on. Here nothing is
copied but what padding lies around.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from pullback.arrays.numpy.spatial.maxima import reading_plan
from pullback.arrays.numpy.spatial.resampling import made_map
from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.lowering import FLOATS, WHOLE, Lowering, lowers
from pullback.compiler.native.nodes import Index, Strides, Window, contiguous
from pullback.core.tensor import ndarray
from pullback.core.types import Shape

_FEW = 65_536  # multiplications, from which on BLAS is faster
_PLACES = 100  # of a window


class _Sizes:
    """The sizes of a convolution: x (N, C, *size), w (O, C / groups, *kernel), y (N, O, *out)."""

    def __init__(
        self, batch: int, weight: Shape, size: Shape, out: Shape, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> None:
        self.batch, self.groups, self.size, self.out = batch, groups, tuple(size), tuple(out)
        self.outputs, self.channels, *kernel = weight[0] // groups, *weight[1:]
        self.kernel = tuple(kernel)
        self.stride, self.padding, self.dilation = tuple(stride), tuple(padding), tuple(dilation)
        self.work = batch * prod(weight) * prod(out)

    @property
    def span(self) -> Shape:
        """How far the last place of a kernel is from its first."""
        return tuple(d * (k - 1) for d, k in zip(self.dilation, self.kernel, strict=True))


def _summed(lowering: Lowering, terms: Sequence[Window], space: Shape, strides: Sequence[Strides], kept: int) -> Window:
    """The sums of products, where a mask holds, over all but the first dimensions of a space in which they lie so."""
    given = [x._replace(shape=space, strides=s) for x, s in zip(terms, strides, strict=True)]
    name, rule = ("mul", simple.mul) if len(given) == 2 else ("product, or 0", _product_or_none)
    found = lowering.map(name, rule, given, shape=space, dtype=terms[0].node.dtype)
    return lowering.reduce("add", found, range(kept, len(space)))


def _product_or_none(c: Any, t: Any, x: Any, y: Any, mask: Any) -> Any:
    return c.sel(mask, x * y, 0.0)


def _merged(lowering: Lowering, x: Window, shape: Shape) -> Window:
    """The same elements in another shape."""
    found = x.through(lambda probe: probe.reshape(shape))
    return found or lowering.in_order(x)._replace(shape=tuple(shape), strides=contiguous(shape))


def _laid_down(lowering: Lowering, x: Window, shape: Shape, begin: Sequence[int], stride: Sequence[int]) -> Window:
    """The last dimensions of x in zeros, from a place on with a stride; what is outside is left out."""
    made = lowering.zeros(shape, x.node.dtype)
    to, of = [slice(None)] * 2, [slice(None)] * 2
    for n, m, at, by in zip(shape[2:], x.shape[2:], begin, stride, strict=True):
        first = max(0, -(at // by))
        last = min(m, (n - 1 - at) // by + 1)
        if first >= last:
            return made
        to.append(slice(at + first * by, at + (last - 1) * by + 1, by))
        of.append(slice(first, last))
    where, value = (w.through(lambda probe, part=tuple(p): probe[part]) for w, p in ((made, to), (x, of)))  # type: ignore[misc]
    assert where is not None
    assert value is not None
    return lowering.write(made, where, value, adds=False)


def _padded(lowering: Lowering, x: Window, s: _Sizes) -> Window:
    if not any(s.padding):
        return x
    shape = (*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], s.padding, strict=True)))
    return _laid_down(lowering, x, shape, s.padding, [1] * len(s.size))


def _forward(lowering: Lowering, x: Window, w: Window, s: _Sizes) -> Window:
    x = _padded(lowering, x, s)
    space = (s.batch, s.groups, s.outputs, *s.out, s.channels, *s.kernel)
    each, by, at = x.strides[:2], x.strides[2:], [0] * len(s.out)
    steps = [b * n for b, n in zip(by, s.stride, strict=True)]
    apart = [b * n for b, n in zip(by, s.dilation, strict=True)]
    of_x = (each[0], each[1] * s.channels, 0, *steps, each[1], *apart)
    of_w = (0, w.strides[0] * s.outputs, w.strides[0], *at, w.strides[1], *w.strides[2:])
    found = _summed(lowering, (x, w), space, (of_x, of_w), 3 + len(s.out))
    return _merged(lowering, found, (s.batch, s.groups * s.outputs, *s.out))


def _to_input(lowering: Lowering, y: Window, w: Window, s: _Sizes) -> Window:
    """The gradient y laid down with the stride, and the kernel from its end."""
    begin = [n - p for n, p in zip(s.span, s.padding, strict=True)]
    shape = (*y.shape[:2], *(n + m for n, m in zip(s.size, s.span, strict=True)))
    y = _laid_down(lowering, y, shape, begin, s.stride)
    space = (s.batch, s.groups, s.channels, *s.size, s.outputs, *s.kernel)
    each, by = y.strides[:2], y.strides[2:]
    apart = [b * n for b, n in zip(by, s.dilation, strict=True)]
    of_y = (each[0], each[1] * s.outputs, 0, *by, each[1], *apart)
    back = w.strides[2:]
    of_w = (0, w.strides[0] * s.outputs, w.strides[1], *[0] * len(s.size), w.strides[0], *(-b for b in back))
    w = w._replace(offset=w.offset + sum(b * (k - 1) for b, k in zip(back, s.kernel, strict=True)))
    terms, strides = [y, w], [of_y, of_w]
    if max(s.stride) > 1:  # between the numbers of y is nothing, and not 0, which an infinite weight would make NaN
        there = np.ones((), bool)
        for n, at, step in zip(shape[2:], begin, s.stride, strict=True):
            there = np.logical_and.outer(there, (np.arange(n) - at) % step == 0)
        mask = lowering.constant(there)
        apart = [b * n for b, n in zip(mask.strides, s.dilation, strict=True)]
        terms.append(mask)
        strides.append((0, 0, 0, *mask.strides, 0, *apart))
    found = _summed(lowering, terms, space, strides, 3 + len(s.size))
    return _merged(lowering, found, (s.batch, s.groups * s.channels, *s.size))


def _to_weight(lowering: Lowering, y: Window, x: Window, s: _Sizes) -> Window:
    x = _padded(lowering, x, s)
    space = (s.groups, s.outputs, s.channels, *s.kernel, s.batch, *s.out)
    by, none = x.strides[2:], [0] * len(s.kernel)
    steps = [b * n for b, n in zip(by, s.stride, strict=True)]
    apart = [b * n for b, n in zip(by, s.dilation, strict=True)]
    of_y = (y.strides[1] * s.outputs, y.strides[1], 0, *none, y.strides[0], *y.strides[2:])
    of_x = (x.strides[1] * s.channels, 0, x.strides[1], *apart, x.strides[0], *steps)
    found = _summed(lowering, (y, x), space, (of_y, of_x), 3 + len(s.kernel))
    return _merged(lowering, found, (s.groups * s.outputs, s.channels, *s.kernel))


def _fits(step: Step, *arrays: Any) -> bool:
    dtype = step.results[0].dtype
    return dtype in FLOATS and all(type(x) is Value and x.dtype == dtype for x in arrays)


@lowers("convolution")
def _convolution(lowering: Lowering, step: Step) -> bool:
    x, w, bias, stride, padding, dilation, transposed, _, groups = step.args
    result = step.results[0]
    if not _fits(step, x, w, *([] if bias is None else [bias])):
        return False
    small, large = (x, result) if transposed else (result, x)
    s = _Sizes(x.shape[0], w.shape, large.shape[2:], small.shape[2:], stride, padding, dilation, groups)
    if lowering.calls and s.work > _FEW:
        return False
    found = (_to_input if transposed else _forward)(lowering, lowering.window(x), lowering.window(w), s)
    if bias is not None:
        each = lowering.window(bias)
        each = each._replace(shape=(*each.shape, *[1] * len(s.size)), strides=(*each.strides, *[0] * len(s.size)))
        found = lowering.map("add", simple.add, [found, each.spread(found.shape)], result)
    return lowering.gives(step, found)


@lowers("convolution_input")
def _convolution_input(lowering: Lowering, step: Step) -> bool:
    y, w, size, stride, padding, dilation, groups = step.args
    if not _fits(step, y, w):
        return False
    s = _Sizes(y.shape[0], w.shape, size, y.shape[2:], stride, padding, dilation, groups)
    if lowering.calls and s.work > _FEW:
        return False
    return lowering.gives(step, _to_input(lowering, lowering.window(y), lowering.window(w), s))


@lowers("convolution_weight")
def _convolution_weight(lowering: Lowering, step: Step) -> bool:
    y, x, shape, stride, padding, dilation, groups = step.args
    if not _fits(step, y, x):
        return False
    s = _Sizes(y.shape[0], tuple(shape), x.shape[2:], y.shape[2:], stride, padding, dilation, groups)
    if lowering.calls and s.work > _FEW:
        return False
    return lowering.gives(step, _to_weight(lowering, lowering.window(y), lowering.window(x), s))


# -- linear maps along dimensions --------------------------------------------------------------------------------------
@lowers("separable_map")
def _separable_map(lowering: Lowering, step: Step) -> bool:
    """Means of windows, interpolation: each number is a sum of a few others, times weights that do not change."""
    x, maps = step.args
    if not _fits(step, x) or lowering.calls:
        return False
    found = lowering.window(x)
    for d, told in enumerate(maps, start=len(x.shape) - len(maps)):
        made = None if told is None else made_map(told)
        if made is not None:
            found = _mapped(lowering, found, d, np.asarray(made.apply(np.eye(found.shape[d], dtype=x.dtype), 0)))
    return lowering.gives(step, found)


def _mapped(lowering: Lowering, x: Window, d: int, matrix: ndarray) -> Window:
    """The products of a matrix of few numbers with a dimension."""
    count = max(int((matrix != 0).sum(1).max(initial=1)), 1)
    places = np.argsort(matrix == 0, axis=1, kind="stable")[:, :count]
    weights = np.take_along_axis(matrix, places, 1)
    lead, rest = x.shape[:d], x.shape[d + 1 :]
    shape = (*lead, *rest, len(matrix), count)
    order = [*range(d), *range(d + 1, len(x.shape)), d]
    at = Index(x.strides[d] if x.shape[d] > 1 else 0, x.shape[d])
    moved = x.only(order)
    base = moved._replace(shape=shape, strides=(*moved.strides[:-1], 0, 0))
    read = lowering.gather(base, lowering.constant(places.astype(np.int64)).spread(shape), at)
    rule = lambda c, t, x, w: c.sel(w.eq(0.0), c.number(0.0, t), x * w)  # noqa: E731
    terms = lowering.map("weighed", rule, [read, lowering.constant(weights)], shape=shape, dtype=x.node.dtype)
    found = lowering.reduce("add", terms, [len(shape) - 1])
    return found.only([*range(d), len(shape) - 2, *range(d, len(shape) - 2)])


# -- pooling -----------------------------------------------------------------------------------------------------------
def _value_of_largest(c: Any, t: Any, *values: Any) -> Any:
    return _largest(c, values)[0]


def _place_of_largest(c: Any, t: Any, *given: Any) -> Any:
    """The place that stands beside the largest value."""
    half = len(given) // 2
    _, better = _largest(c, given[:half])
    place = given[half]
    for mask, other in zip(better, given[half + 1 :], strict=True):
        place = c.sel(mask, other, place)
    return place


def _largest(c: Any, values: Sequence[Any]) -> tuple[Any, list[Any]]:
    """(the largest, where each beats those before): the first of equal ones, and the last NaN."""
    best, masks = values[0], []
    for x in values[1:]:
        masks.append((x > best) | x.ne(x))
        best = c.sel(masks[-1], x, best)
    return best, masks


@lowers("windowed_max")
def _windowed_max(lowering: Lowering, step: Step) -> bool:
    x, windows = step.args
    if not _fits(step, x):
        return False
    dims = len(windows)
    size = x.shape[len(x.shape) - dims :]
    plans = [reading_plan(tuple(w), n) for w, n in zip(windows, size, strict=True)]
    regular = all(isinstance(at, slice) for _, positions in plans for at in positions)
    if prod(len(positions) for _, positions in plans) > _PLACES or (lowering.calls and not regular):
        return False
    result, window = step.results[0], lowering.window(x)
    values, places = [], []
    for offsets in product(*(range(len(positions)) for _, positions in plans)):
        at = np.zeros((), np.int64)
        for (here, _), k, n in zip(plans, offsets, size, strict=True):
            at = np.add.outer(at * n, here[:, k])
        place = lowering.constant(at.astype(np.int64)).spread(result.shape)
        places.append(place)
        if regular:
            index = (..., *(positions[k] for (_, positions), k in zip(plans, offsets, strict=True)))
            found = window.through(lambda probe, index=index: probe[index])  # type: ignore[misc]
            assert found is not None
            values.append(found)
        else:
            values.append(_at_places(lowering, window, place, dims))
    largest = lowering.map("largest", _value_of_largest, values, result)
    where = lowering.map("place of the largest", _place_of_largest, [*values, *places], step.results[1])
    return lowering.gives(step, largest, where)


def _flat(lowering: Lowering, x: Window, dims: int) -> Window:
    """The last dimensions as one."""
    lead = x.shape[: len(x.shape) - dims]
    return _merged(lowering, x, (*lead, prod(x.shape[len(lead) :])))


def _spread_at(x: Window, shape: Shape) -> tuple[Window, Index]:
    """(the first element of the last dimension, for each place; along what places count)."""
    at = Index(x.strides[-1] if x.shape[-1] > 1 else 0, x.shape[-1])
    lead = x.strides[:-1]
    return x._replace(shape=shape, strides=(*lead, *[0] * (len(shape) - len(lead)))), at


def _at_places(lowering: Lowering, x: Window, places: Window, dims: int) -> Window:
    """x at flat places of its last dimensions."""
    base, at = _spread_at(_flat(lowering, x, dims), places.shape)
    return lowering.gather(base, places, at)


@lowers("take_pooled")
def _take_pooled(lowering: Lowering, step: Step) -> bool:
    x, places, dims = step.args
    if not _fits(step, x) or type(places) is not Value or places.dtype != WHOLE:
        return False
    return lowering.gives(step, _at_places(lowering, lowering.window(x), lowering.window(places), dims))


@lowers("place_pooled")
def _place_pooled(lowering: Lowering, step: Step) -> bool:
    """Numbers added at flat places of zeros."""
    x, places, size = step.args
    if not _fits(step, x) or type(places) is not Value or places.dtype != WHOLE:
        return False
    shape = (*x.shape[: len(x.shape) - len(size)], *size)
    zeros = lowering.zeros(shape, x.dtype)
    flat = zeros.through(lambda probe: probe.reshape((*shape[: len(shape) - len(size)], prod(size))))
    if flat is None:
        return False
    where, at = _spread_at(flat, x.shape)
    found = lowering.scatter(flat, where, lowering.window(x), lowering.window(places), at)
    return lowering.gives(step, found._replace(shape=shape, strides=zeros.strides))
