"""Softmax and its kin, and normalisation: several passes over each row, which one nest makes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.lowering import FLOATS, Lowering, lowers
from pullback.compiler.native.nodes import Window
from pullback.compiler.native.rules.reductions import axes_of

_EXP, _LOG, _LOG1P = FUNCTIONS["exp"], FUNCTIONS["log"], FUNCTIONS["log1p"]


class Rows:
    """Rows of a window along some dimensions, and what is made of them."""

    def __init__(self, lowering: Lowering, x: Window, axes: Sequence[int]) -> None:
        self.lowering, self.x, self.axes = lowering, x, sorted(axes)
        self.count = prod(x.shape[d] for d in self.axes)
        self.dtype = x.node.dtype

    def map(self, name: str, rule: Any, *operands: Any, like: Value | None = None) -> Window:
        """Element by element, or number by number if all are numbers of rows."""
        if like is not None:
            return self.lowering.map(name, rule, operands, like)
        shapes = [x.shape for x in operands if type(x) is Window]
        shape = tuple(map(max, zip(*shapes, strict=True)))
        return self.lowering.map(name, rule, operands, shape=shape, dtype=self.dtype)

    def reduce(self, how: str, x: Window) -> Window:
        """One number for each row, with all dimensions."""
        return self.lowering.reduce(how, x, self.axes, keepdim=True)


def _rows(lowering: Lowering, step: Step, nr: int = 0) -> Rows | None:
    """The rows of an argument along the dimension that a step names; None of what is no array of floats."""
    x, dim = step.args[nr], step.args[nr + 1]
    ok = type(x) is Value and x.shape and x.dtype in FLOATS and all(y.dtype == x.dtype for y in step.results)
    return Rows(lowering, lowering.window(x), axes_of(dim, len(x.shape))) if ok else None


def exp_less(c: Any, t: Any, x: Any, y: Any) -> Any:
    """exp(x - y)."""
    return _EXP(c, x - y)


@lowers("softmax")
def _softmax(lowering: Lowering, step: Step) -> bool:
    if (rows := _rows(lowering, step)) is None or any(x is not None for x in step.args[2:]):
        return False
    parts = rows.map("exp of less", exp_less, rows.x, rows.reduce("max", rows.x))
    return lowering.gives(step, rows.map("div", simple.div, parts, rows.reduce("add", parts), like=step.results[0]))


@lowers("softmax_backward")
def _softmax_backward(lowering: Lowering, step: Step) -> bool:
    """y (g - sum(g y))."""
    if (rows := _rows(lowering, step, 1)) is None or step.args[0].dtype != rows.dtype:
        return False
    grad = lowering.window(step.args[0]).spread(rows.x.shape)
    total = rows.reduce("add", rows.map("mul", simple.mul, grad, rows.x))
    found = rows.map("y (g - s)", lambda c, t, y, g, s: y * (g - s), rows.x, grad, total, like=step.results[0])
    return lowering.gives(step, found)


@lowers("log_softmax")
def _log_softmax(lowering: Lowering, step: Step) -> bool:
    if (rows := _rows(lowering, step)) is None or any(x is not None for x in step.args[2:]):
        return False
    top = rows.reduce("max", rows.x)
    total = rows.reduce("add", rows.map("exp of less", exp_less, rows.x, top))
    log = rows.map("log", lambda c, t, x: _LOG(c, x), total)
    found = rows.map("x - a - b", lambda c, t, x, a, b: (x - a) - b, rows.x, top, log, like=step.results[0])
    return lowering.gives(step, found)


@lowers("log_softmax_backward")
def _log_softmax_backward(lowering: Lowering, step: Step) -> bool:
    """g - exp(y) sum(g)."""
    if (rows := _rows(lowering, step, 1)) is None or step.args[0].dtype != rows.dtype:
        return False
    grad = lowering.window(step.args[0]).spread(rows.x.shape)
    rule = lambda c, t, g, y, s: g - _EXP(c, y) * s  # noqa: E731
    found = rows.map("g - exp(y) s", rule, grad, rows.x, rows.reduce("add", grad), like=step.results[0])
    return lowering.gives(step, found)


def _shift(c: Any, t: Any, top: Any) -> Any:
    """The largest element, or 0 if it is not finite: x - top must not be inf - inf."""
    return c.sel(c.unary("abs", top) < inf, top, 0.0)


def _part_below(c: Any, t: Any, x: Any, top: Any) -> Any:
    """exp(x - top), but for the largest, which are counted."""
    return c.sel(x.eq(top), 0.0, _EXP(c, x - top))


def _is_top(c: Any, t: Any, x: Any, top: Any) -> Any:
    return c.sel(x.eq(top), c.number(1.0, x.type), 0.0)


def _log_of_sum(c: Any, t: Any, top: Any, shift: Any, rest: Any, count: Any) -> Any:
    """log(count + rest) + shift, exact near 0: the 1 of the largest hides no small parts."""
    near = _LOG1P(c, rest / count) + (_LOG(c, count) + shift)
    return c.sel(c.unary("abs", top) < inf, near, _LOG(c, rest + count))


@lowers("logsumexp")
def _logsumexp(lowering: Lowering, step: Step) -> bool:
    if (rows := _rows(lowering, step)) is None:
        return False
    top = rows.reduce("max", rows.x)
    shift = rows.map("finite or 0", _shift, top)
    rest = rows.reduce("add", rows.map("part below", _part_below, rows.x, shift))
    count = rows.reduce("add", rows.map("is top", _is_top, rows.x, shift))
    found = rows.map("log of sum", _log_of_sum, top, shift, rest, count)
    if not (len(step.args) > 2 and step.args[2]):
        found = found.only([d for d in range(len(found.shape)) if d not in rows.axes])
    return lowering.gives(step, found)


@lowers("logsumexp_slope")
def _logsumexp_slope(lowering: Lowering, step: Step) -> bool:
    """exp(x - norm) over their sum, which is 1 but for rounding; 0 over a slice of -inf, or beside an infinity."""
    x, norm, dim = step.args
    if not all(type(y) is Value and y.dtype in FLOATS and y.dtype == step.results[0].dtype for y in (x, norm)):
        return False
    rows = Rows(lowering, lowering.window(x), axes_of(dim, len(x.shape)))
    given = lowering.window(norm)
    if len(given.shape) != len(x.shape):
        return False
    shift = rows.map("not -inf", lambda c, t, n: c.sel(n.eq(-inf), 0.0, n), given)
    parts = rows.map("exp of less", exp_less, rows.x, shift)
    total = rows.reduce("add", parts)
    rule = lambda c, t, p, s: p / c.sel(s > 0.0, s, 1.0)  # noqa: E731
    return lowering.gives(step, rows.map("over total", rule, parts, total, like=step.results[0]))


@lowers("_layer_norm")
def _layer_norm(lowering: Lowering, step: Step) -> bool:
    """(normalised, times weight, plus bias; mean; 1 / deviation) of each row of the last `dims` dimensions."""
    x, weight, bias, dims, eps = step.args
    given = [y for y in (x, weight, bias) if y is not None]
    if not all(type(y) is Value and y.dtype == x.dtype and y.dtype in FLOATS for y in given) or not dims:
        return False
    rank = len(x.shape)
    rows = Rows(lowering, lowering.window(x), range(rank - dims, rank))
    mean = rows.map("div", simple.div, rows.reduce("add", rows.x), float(rows.count))
    centred = rows.map("sub", simple.sub, rows.x, mean)
    squares = rows.reduce("add", rows.map("square", lambda c, t, d: d * d, centred))
    rule = lambda c, t, s, n, e: 1.0 / c.unary("sqrt", s / n + e)  # noqa: E731
    inverse = rows.map("inverse deviation", rule, squares, float(rows.count), float(eps))
    out = rows.map("mul", simple.mul, centred, inverse)
    if weight is not None:
        out = rows.map("mul", simple.mul, out, lowering.window(weight).spread(x.shape))
    if bias is not None:
        out = rows.map("add", simple.add, out, lowering.window(bias).spread(x.shape))
    return lowering.gives(step, out, mean, inverse)


@lowers("_layer_norm_backward")
def _layer_norm_backward(lowering: Lowering, step: Step) -> bool:
    """(h - mean(h) - n mean(h n)) / deviation with h = g * weight, n normalised; sum(g n); sum(g)."""
    grad, x, weight, mean, inverse, dims, _, mask = step.args
    wanted = [y for y in (grad, x, weight, mean, inverse) if y is not None]
    if (
        not all(type(y) is Value and y.dtype == grad.dtype and y.dtype in FLOATS for y in wanted)
        or not dims
        or x is None
    ):
        return False
    rank = len(grad.shape)
    g = lowering.window(grad)
    rows = Rows(lowering, g, range(rank - dims, rank))
    centre, scale = lowering.window(mean), lowering.window(inverse)
    n = rows.map("normalised", lambda c, t, x, m, s: (x - m) * s, lowering.window(x), centre, scale)
    results = iter(step.results)
    found = []
    if mask[0]:
        h = g if weight is None else rows.map("mul", simple.mul, g, lowering.window(weight).spread(grad.shape))
        count = float(rows.count)
        a = rows.map("div", simple.div, rows.reduce("add", h), count)
        b = rows.map("div", simple.div, rows.reduce("add", rows.map("mul", simple.mul, h, n)), count)
        rule = lambda c, t, h, n, a, b, s: (h - n * b - a) * s  # noqa: E731
        found.append(rows.map("to input", rule, h, n, a, b, scale, like=next(results)))
    outer = list(range(rank - dims))
    terms = [rows.map("mul", simple.mul, g, n)] if mask[1] else []
    terms += [g] if mask[2] else []
    found += [lowering.reduce("add", term, outer) if outer else term for term in terms]
    return len(found) == len(step.results) and lowering.gives(step, *found)
