"""Sums, means, extremes, and what is made of them row by row."""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.lowering import reduced
from pullback.compiler.native import simple
from pullback.compiler.native.lowering import BOOL, FLOATS, WHOLE, Lowering, lowers
from pullback.compiler.native.nodes import Window


def axes_of(dim: Any, rank: int) -> list[int]:
    """The dimensions that are reduced."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(rank))
    return [d % rank for d in (dim if isinstance(dim, (tuple, list)) else [dim])] if rank else []


def _is_float(step: Step) -> bool:
    """True if the numbers are floats of one width."""
    x, result = step.args[0], step.results[0]
    return type(x) is Value and x.dtype in FLOATS and x.dtype == result.dtype


@lowers("sum")
def _sum(lowering: Lowering, step: Step) -> bool:
    x, dim, keepdim, _ = reduced(step)
    result = step.results[0]
    if type(x) is not Value or x.dtype not in {*FLOATS, BOOL} or result.dtype not in {*FLOATS, WHOLE}:
        return False
    if result.dtype == WHOLE and x.dtype != BOOL:
        return False
    window, dtype = lowering.window(x), result.dtype if result.dtype in FLOATS else np.dtype(np.float64)
    if x.dtype != dtype:
        name, rule = ("number", simple.number) if x.dtype == BOOL else ("copy", simple.copy)
        window = lowering.map(name, rule, [window], shape=x.shape, dtype=dtype)
    found = lowering.reduce("add", window, axes_of(dim, len(x.shape)), bool(keepdim))
    if result.dtype == WHOLE:
        found = lowering.map("whole", simple.whole, [found], result)
    return lowering.gives(step, found)


@lowers("mean")
def _mean(lowering: Lowering, step: Step) -> bool:
    x, dim, keepdim, dtype = reduced(step)
    if not _is_float(step) or (dtype is not None and dtype != x.dtype):
        return False
    total = lowering.reduce("add", lowering.window(x), axes_of(dim, len(x.shape)), bool(keepdim))
    count = prod(x.shape) // prod(step.results[0].shape)
    return lowering.gives(step, lowering.map("div", simple.div, [total, float(count)], step.results[0]))


@lowers("prod")
def _prod(lowering: Lowering, step: Step) -> bool:
    x, dim, keepdim, dtype = reduced(step)
    if not _is_float(step) or (dtype is not None and dtype != x.dtype):
        return False
    return lowering.gives(step, lowering.reduce("mul", lowering.window(x), axes_of(dim, len(x.shape)), bool(keepdim)))


@lowers("any", "all", "count_nonzero")
def _truth(lowering: Lowering, step: Step) -> bool:
    """How many are so, and whether that is none, or all."""
    x, dim, keepdim = (*step.args, None, False)[:3] if len(step.args) < 3 else step.args
    if type(x) is not Value or x.dtype != BOOL or dim in ((), []):
        return False
    axes = axes_of(dim, len(x.shape))
    numbers = lowering.map("number", simple.number, [x], shape=x.shape, dtype=np.float64)
    total = lowering.reduce("add", numbers, axes, bool(keepdim))
    if step.what == "count_nonzero":
        return lowering.gives(step, lowering.map("whole", simple.whole, [total], step.results[0]))
    least = 1.0 if step.what == "any" else float(prod(x.shape[d] for d in axes))
    rule = lambda c, t, total, least: c.compare("le", c.number(least, t), total)  # noqa: E731
    return lowering.gives(step, lowering.map("at least", rule, [total, least], step.results[0]))


@lowers("max", "min")
def _largest(lowering: Lowering, step: Step) -> bool:
    x = step.args[0]
    if not _is_float(step) or len(step.args) > 1:
        return False
    how = str(step.what)
    return lowering.gives(step, lowering.reduce(how, lowering.window(x), range(len(x.shape))))


@lowers("max_dim", "min_dim", "argmax", "argmin")
def _where_largest(lowering: Lowering, step: Step) -> bool:
    """The first place that has the extreme, or NaN: the least of the places that have it."""
    x, dim, keepdim = (*step.args, None, False)[:3] if len(step.args) < 3 else step.args
    if type(x) is not Value or x.dtype not in FLOATS or dim is None or not x.shape:
        return False
    window, d = lowering.window(x), dim % len(x.shape)
    top = lowering.reduce("max" if "max" in str(step.what) else "min", window, [d], keepdim=True)
    count = x.shape[d]
    places = np.arange(float(count)).reshape([count if i == d else 1 for i in range(len(x.shape))])
    rule = lambda c, t, x, top, at, count: c.sel(x.eq(top) | (x.ne(x) & top.ne(top)), at, c.number(count, t))  # noqa: E731
    given = [window, top, lowering.constant(places), float(count)]
    found = lowering.map("place", rule, given, shape=x.shape, dtype=np.float64)
    first = lowering.reduce("min", found, [d], keepdim=True)
    first = lowering.map("whole", simple.whole, [first], shape=first.shape, dtype=WHOLE)
    results = [top, first] if len(step.results) == 2 else [first]
    left = [i for i in range(len(x.shape)) if i != d]
    return lowering.gives(step, *(y if keepdim else y.only(left) for y in results))


# Numbers whose squares neither overflow nor vanish, and what others are multiplied by, for each width.
_MODERATE = {64: (1e-100, 1e100, 2.0**600, 2.0**-600), 32: (1e-15, 1e15, 2.0**100, 2.0**-80)}


def _scale(c: Any, t: Any, top: Any) -> Any:
    """A power of two by which numbers are multiplied before they are squared."""
    least, most, up, down = _MODERATE[t.bits]
    scaled = c.sel((top < least) & (top > 0.0), c.number(up, t), 1.0)
    return c.sel((top > most) & (top < inf), down, scaled)


class _Squares:
    """Rows of numbers, scaled so that their squares neither overflow nor vanish."""

    def __init__(self, lowering: Lowering, x: Window, axes: list[int], scaled: bool = True) -> None:
        self._lowering, self._axes, self._dtype = lowering, axes, x.node.dtype
        self.count, self.x, self.scale = prod(x.shape[d] for d in axes), x, None
        if scaled:
            size = self.map("abs", lambda c, t, x: c.unary("abs", x), x)
            self.scale = self.map("scale", _scale, self.reduce("max", size))
            self.x = self.map("mul", simple.mul, x, self.scale)

    def map(self, name: str, rule: Any, *given: Any) -> Window:
        """Element by element, or row by row."""
        shapes = [x.shape for x in given if type(x) is Window]
        return self._lowering.map(name, rule, given, shape=np.broadcast_shapes(*shapes), dtype=self._dtype)

    def reduce(self, how: str, x: Window) -> Window:
        """One number for each row."""
        return self._lowering.reduce(how, x, self._axes, keepdim=True)

    def total(self, x: Window) -> Window:
        """The sum of squares."""
        return self.reduce("add", self.map("square", lambda c, t, x: x * x, x))

    def root(self, x: Window) -> Window:
        """The square root, as it is without the scale."""
        return self.map("root", lambda c, t, x, s: c.unary("sqrt", x) / s, x, self.scale)


@lowers("var", "std", "var_mean", "std_mean")
def _variance(lowering: Lowering, step: Step) -> bool:
    """The mean square of what is left without the mean."""
    x, dim, correction, keepdim = step.args + (None, None, False)[len(step.args) - 1 :]
    if not _is_float(step) or not (axes := axes_of(dim, len(x.shape))):
        return False
    rows = _Squares(lowering, lowering.window(x), axes, scaled="std" in str(step.what))
    freedom = rows.count - (1 if correction is None else correction)
    if freedom <= 0:
        return False
    mean = rows.map("div", simple.div, rows.reduce("add", rows.x), float(rows.count))
    squares = rows.total(rows.map("sub", simple.sub, rows.x, mean))
    found = rows.map("div", simple.div, squares, float(freedom))
    results = [rows.root(found) if rows.scale is not None else found]
    if len(step.results) == 2:
        results.append(mean if rows.scale is None else rows.map("div", simple.div, mean, rows.scale))
    return lowering.gives(step, *(_kept(y, axes, keepdim) for y in results))


def _kept(x: Window, axes: list[int], keepdim: Any) -> Window:
    """A result of rows, with or without the dimensions that were reduced."""
    return x if keepdim else x.only([d for d in range(len(x.shape)) if d not in axes])


@lowers("linalg_vector_norm")
def _vector_norm(lowering: Lowering, step: Step) -> bool:
    x, order, dim, keepdim, dtype = step.args + (2, None, False, None)[len(step.args) - 1 :]
    if not _is_float(step) or dtype is not None or order not in (1, 2, inf, -inf):
        return False
    if not (axes := axes_of(dim, len(x.shape))):
        return False
    if order == 2:
        rows = _Squares(lowering, lowering.window(x), axes)
        return lowering.gives(step, _kept(rows.root(rows.total(rows.x)), axes, keepdim))
    size = lowering.map("abs", lambda c, t, x: c.unary("abs", x), [x], shape=x.shape, dtype=x.dtype)
    how = {1: "add", inf: "max", -inf: "min"}[order]
    return lowering.gives(step, lowering.reduce(how, size, axes, bool(keepdim)))


@lowers("amax", "amin")
def _extreme(lowering: Lowering, step: Step) -> bool:
    x, dim, keepdim = (step.args + ((), False)[len(step.args) - 1 :])[:3]
    if not _is_float(step):
        return False
    how = "max" if step.what == "amax" else "min"
    return lowering.gives(step, lowering.reduce(how, lowering.window(x), axes_of(dim, len(x.shape)), bool(keepdim)))
