"""Arrays of parts of others and zeros: triangles, diagonals, rolled and repeated ones, outer products, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.lowering import BOOL, FLOATS, Lowering, lowers
from pullback.compiler.native.nodes import Window, contiguous
from pullback.compiler.native.pointwise import RULES as POINTWISE
from pullback.core.tensor import ndarray


def _is_float(step: Step, *arrays: Any) -> bool:
    """True if these are arrays of the result's dtype, which is one of floats."""
    dtype = step.results[0].dtype
    return dtype in FLOATS and all(type(x) is Value and x.dtype == dtype for x in arrays)


def _chosen(lowering: Lowering, step: Step, mask: Window, x: Any, other: Any) -> bool:
    """x where the mask holds, else the other."""
    return lowering.gives(step, lowering.map("where", POINTWISE["where"], [mask, x, other], step.results[0]))


def _mask(lowering: Lowering, step: Step, mask: ndarray) -> Window:
    """A mask of the last two dimensions of a result."""
    return lowering.constant(mask).spread(step.results[0].shape)


@lowers("tril", "triu")
def _triangle(lowering: Lowering, step: Step) -> bool:
    x, diagonal = (*step.args, 0)[:2]
    if not _is_float(step, x) or len(x.shape) < 2:
        return False
    kept = np.tri(x.shape[-2], x.shape[-1], diagonal - (step.what == "triu"), dtype=bool)
    return _chosen(lowering, step, _mask(lowering, step, kept ^ (step.what == "triu")), lowering.window(x), 0.0)


def _side(lowering: Lowering, step: Step, lower: bool) -> Window:
    """True below the diagonal, or above it."""
    below = np.tri(step.results[0].shape[-1], k=-1, dtype=bool)
    return _mask(lowering, step, below if lower else below.T)


@lowers("mirrored")
def _mirrored(lowering: Lowering, step: Step) -> bool:
    """One triangle, in the place of the other too."""
    x, lower = step.args
    if not _is_float(step, x) or len(x.shape) < 2:
        return False
    window = lowering.window(x)
    return _chosen(lowering, step, _side(lowering, step, lower), window, window.swapped())


@lowers("mirrored_backward")
def _mirrored_backward(lowering: Lowering, step: Step) -> bool:
    """The triangle of x + x', and the diagonal once."""
    x, lower = step.args
    if not _is_float(step, x) or len(x.shape) < 2:
        return False
    window, sides = lowering.window(x), _side(lowering, step, lower)
    diagonal = _mask(lowering, step, np.eye(x.shape[-1], dtype=bool))
    rule = lambda c, t, s, d, x, y: c.sel(s, x + y, c.sel(d, x, c.number(0.0, t)))  # noqa: E731
    given = [sides, diagonal, window, window.swapped()]
    return lowering.gives(step, lowering.map("both triangles in one", rule, given, step.results[0]))


@lowers("masked_fill")
def _masked_fill(lowering: Lowering, step: Step) -> bool:
    x, mask, value = step.args
    if not _is_float(step, x) or type(mask) is not Value or mask.dtype != BOOL:
        return False
    number = lowering.number(value)
    if number is None:
        return False
    window = lowering.window(x).spread(step.results[0].shape)
    return _chosen(lowering, step, lowering.window(mask).spread(step.results[0].shape), float(number), window)


@lowers("diagonal_backward")
def _diagonal_backward(lowering: Lowering, step: Step) -> bool:
    grad, shape, offset, first, second = step.args
    return _is_float(step, grad) and _on_diagonal(lowering, step, grad, tuple(shape), offset, first, second)


@lowers("diag_embed")
def _diag_embed(lowering: Lowering, step: Step) -> bool:
    x, offset, first, second = step.args + (0, -2, -1)[len(step.args) - 1 :]
    return _is_float(step, x) and _on_diagonal(lowering, step, x, step.results[0].shape, offset, first, second)


def _on_diagonal(
    lowering: Lowering, step: Step, x: Value, shape: tuple[int, ...], offset: int, first: int, second: int
) -> bool:
    zeros = lowering.zeros(shape, x.dtype)
    where = zeros.through(lambda probe: np.diagonal(probe, offset, first, second))
    if where is None or where.shape != x.shape:
        return False
    return lowering.gives(step, lowering.write(zeros, where, lowering.window(x), adds=False))


@lowers("outer")
def _outer(lowering: Lowering, step: Step) -> bool:
    a, b = step.args
    if not _is_float(step, a, b):
        return False
    x, y = lowering.window(a), lowering.window(b)
    rows = x._replace(shape=(*x.shape, 1), strides=(*x.strides, 0))
    return lowering.gives(step, lowering.map("mul", simple.mul, [rows, y], step.results[0]))


@lowers("repeat")
def _repeated(lowering: Lowering, step: Step) -> bool:
    x, repeats = step.args
    if not _is_float(step, x):
        return False
    window = lowering.window(x)
    window = window.spread((*(1,) * (len(repeats) - len(x.shape)), *x.shape))
    shape = tuple(n for pair in zip(repeats, window.shape, strict=True) for n in pair)
    strides = tuple(s for stride in window.strides for s in (0, stride))
    made = lowering.in_order(window._replace(shape=shape, strides=strides))
    result = step.results[0].shape
    return lowering.gives(step, made._replace(shape=result, strides=contiguous(result)))


@lowers("roll")
def _rolled(lowering: Lowering, step: Step) -> bool:
    x, shifts, dims = (*step.args, ())[:3]
    if not _is_float(step, x) or not x.shape:
        return False
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not dims and len(x.shape) == len(shifts) == 1:
        dims = (0,)
    if len(dims) != len(shifts):
        return False
    found = lowering.window(x)
    for shift, dim in zip(shifts, dims, strict=True):
        d, n = dim % len(x.shape), x.shape[dim]
        before, by = (slice(None),) * d, shift % n
        made = lowering.map("fill", simple.fill, [0.0], shape=x.shape, dtype=x.dtype)
        for to, of in ((slice(by, n), slice(0, n - by)), (slice(0, by), slice(n - by, n))):
            if to.start == to.stop:
                continue
            where, value = _part(made, (*before, to)), _part(found, (*before, of))
            made = lowering.write(made, where, value, adds=False)
        found = made
    return lowering.gives(step, found)


def _part(x: Window, index: Any) -> Window:
    """A slice."""
    found = x.through(lambda probe: probe[index])
    assert found is not None
    return found
