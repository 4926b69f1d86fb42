"""Writes of parts: gradients of slices, sums with them, arrays side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value, added_at
from pullback.compiler.native import simple
from pullback.compiler.native.lowering import FLOATS, Lowering, lowers
from pullback.compiler.native.nodes import Window

_PLACES = 64  # of a window


def _indexed(whole: Window, index: Any) -> Window | None:
    def part(probe: Any) -> Any:
        found = probe[index]
        return (
            found
            if issubclass(type(found), np.ndarray)
            else probe[(*index, ...) if type(index) is tuple else (index, ...)]
        )

    return whole.through(part)


@lowers("strided_view")
def _strided_view(lowering: Lowering, step: Step) -> bool:
    """A view of the memory in which an array lies is left to NumPy: nodes lie otherwise, and without what is around."""
    return False


@lowers("slice_backward")
def _slice_backward(lowering: Lowering, step: Step) -> bool:
    value, shape, index = step.args
    if type(value) is not Value or step.results[0].dtype not in FLOATS or value.dtype != step.results[0].dtype:
        return False
    zeros = lowering.zeros(tuple(shape), value.dtype)
    where = _indexed(zeros, index)
    if where is None:
        return False
    return lowering.gives(step, lowering.write(zeros, where, lowering.window(value), adds=False))


@lowers("unfold_backward")
def _unfold_backward(lowering: Lowering, step: Step) -> bool:
    """Each place of the windows added where it was taken from."""
    grad, shape, dim, size, by = step.args
    if type(grad) is not Value or grad.dtype not in FLOATS or grad.dtype != step.results[0].dtype:
        return False
    if not shape or size > _PLACES:
        return False
    d = dim % len(shape)
    made, window, count = lowering.zeros(tuple(shape), grad.dtype), lowering.window(grad), grad.shape[d]
    for k in range(size):
        where = _indexed(made, (*[slice(None)] * d, slice(k, k + (count - 1) * by + 1, by)))
        value = _indexed(window, (..., k))
        if where is None or value is None:
            return False
        made = lowering.write(made, where, value, adds=True)
    return lowering.gives(step, made)


@lowers(added_at)
def _added_at(lowering: Lowering, step: Step) -> bool:
    target, index, value = step.args
    if not all(type(x) is Value and x.dtype in FLOATS and x.dtype == target.dtype for x in (target, value)):
        return False
    whole = lowering.window(target)
    if not whole.squeezed().is_whole or whole.node.op in ("input", "constant"):
        whole = lowering.map("copy", simple.copy, [whole], target)
    where = _indexed(whole, index)
    if where is None:
        return False
    return lowering.gives(step, lowering.write(whole, where, lowering.window(value), adds=True))


@lowers("stack", "cat")
def _side_by_side(lowering: Lowering, step: Step) -> bool:
    arrays, dim = step.args[0], step.args[1] if len(step.args) > 1 else 0
    result = step.results[0]
    if result.dtype not in FLOATS or not all(type(x) is Value and x.dtype == result.dtype for x in arrays):
        return False
    made = lowering.map("fill", simple.fill, [0.0], result)
    d, begin = dim % len(result.shape), 0
    for x in arrays:
        n = 1 if step.what == "stack" else x.shape[d]
        place: Any = begin if step.what == "stack" else slice(begin, begin + n)
        where = _indexed(made, (*[slice(None)] * d, place))
        if where is None:
            return False
        made = lowering.write(made, where, lowering.window(x), adds=False)
        begin += n
    return lowering.gives(step, made)


@lowers("chunk", "split", "split_with_sizes")
def _parts(lowering: Lowering, step: Step) -> bool:
    x, dim = step.args[0], step.args[2] if len(step.args) > 2 else 0
    if not x.shape:
        return False
    whole, begin, found, d = lowering.window(x), 0, [], dim % len(x.shape)
    for result in step.results:
        end = begin + result.shape[d]
        found.append(whole.through(lambda probe, b=begin, e=end: probe[(*[slice(None)] * d, slice(b, e))]))  # type: ignore[misc]
        begin = end
    return lowering.gives(step, *found)  # type: ignore[arg-type]


@lowers("constant_pad_nd")
def _padded(lowering: Lowering, step: Step) -> bool:
    x, pad, value = (*step.args, 0)[:3]
    result = step.results[0]
    if type(x) is not Value or x.dtype not in FLOATS or result.dtype != x.dtype or type(value) not in (int, float):
        return False
    rank = len(x.shape)
    pairs = [(0, 0)] * (rank - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    kept = tuple(slice(max(-a, 0), n + min(b, 0)) for n, (a, b) in zip(x.shape, pairs, strict=True))
    part = _indexed(lowering.window(x), kept)
    made = lowering.map("fill", simple.fill, [value], result)
    places = tuple(slice(max(a, 0), n - max(b, 0)) for n, (a, b) in zip(result.shape, pairs, strict=True))
    where = _indexed(made, places)
    if part is None or where is None or where.shape != part.shape:
        return False
    return lowering.gives(step, lowering.write(made, where, part, adds=False))
