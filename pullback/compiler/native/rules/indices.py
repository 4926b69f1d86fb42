"""Elements at computed places: index_select, gather, rows of an embedding, losses of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import ONE, Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.lowering import FLOATS, WHOLE, Lowering, lowers
from pullback.compiler.native.nodes import Index, Window
from pullback.compiler.native.rules.rows import Rows, exp_less


def _are(dtype: Any, *values: Any) -> bool:
    return all(type(x) is Value and x.dtype == dtype for x in values)


def _without(x: Window, d: int, length: int) -> tuple[Window, Index]:
    """(the array at index 0 of a dimension, which is spread over as many elements; along what an index counts)."""
    shape, strides = list(x.shape), list(x.strides)
    at = Index(strides[d] if shape[d] > 1 else 0, shape[d])
    shape[d], strides[d] = length, 0
    return x._replace(shape=tuple(shape), strides=tuple(strides)), at


def _along(index: Window, d: int, rank: int, shape: Any) -> Window:
    """A vector of indices as an array that varies along one dimension."""
    strides = [0] * rank
    strides[d] = index.strides[0] if index.shape[0] > 1 else 0
    return index._replace(shape=tuple(shape), strides=tuple(strides))


@lowers("index_select")
def _index_select(lowering: Lowering, step: Step) -> bool:
    x, dim, index = step.args
    if not (_are(step.results[0].dtype, x) and x.dtype in FLOATS and _are(WHOLE, index) and len(index.shape) == 1):
        return False
    if not x.shape:
        return False
    d = dim % len(x.shape)
    base, at = _without(lowering.window(x), d, index.shape[0])
    places = _along(lowering.window(index), d, len(x.shape), base.shape)
    return lowering.gives(step, lowering.gather(base, places, at))


@lowers("index_select_backward")
def _index_select_backward(lowering: Lowering, step: Step) -> bool:
    grad, shape, dim, index = step.args
    if not (_are(step.results[0].dtype, grad) and grad.dtype in FLOATS and _are(WHOLE, index)):
        return False
    if len(index.shape) != 1 or not shape or len(grad.shape) != len(shape):
        return False
    d = dim % len(shape)
    zeros = lowering.zeros(tuple(shape), grad.dtype)
    where, at = _without(zeros, d, index.shape[0])
    places = _along(lowering.window(index), d, len(shape), where.shape)
    return lowering.gives(step, lowering.scatter(zeros, where, lowering.window(grad), places, at))


@lowers("gather")
def _gather(lowering: Lowering, step: Step) -> bool:
    x, dim, index = step.args[:3]
    if not (_are(step.results[0].dtype, x) and x.dtype in FLOATS and _are(WHOLE, index) and x.shape):
        return False
    d = dim % len(x.shape)
    base, at = _without(lowering.window(x), d, index.shape[d])
    base = base._replace(shape=index.shape)
    return lowering.gives(step, lowering.gather(base, lowering.window(index), at))


def _added_along(lowering: Lowering, step: Step, grad: Value, shape: Sequence[int], dim: int, index: Value) -> bool:
    """Zeros of this shape, to which numbers are added at places along a dimension."""
    d = dim % len(shape)
    zeros = lowering.zeros(tuple(shape), grad.dtype)
    where, at = _without(zeros, d, index.shape[d])
    where = where._replace(shape=index.shape)
    return lowering.gives(step, lowering.scatter(zeros, where, lowering.window(grad), lowering.window(index), at))


@lowers("gather_backward")
def _gather_backward(lowering: Lowering, step: Step) -> bool:
    grad, shape, dim, index = step.args
    if not (_are(step.results[0].dtype, grad) and grad.dtype in FLOATS and _are(WHOLE, index) and shape):
        return False
    return _added_along(lowering, step, grad, shape, dim, index)


@lowers("value_selecting_reduction_backward")
def _selecting_backward(lowering: Lowering, step: Step) -> bool:
    """Each gradient at the place that a reduction has selected."""
    grad, dim, index, shape, keepdim = step.args
    if not (_are(step.results[0].dtype, grad) and grad.dtype in FLOATS and _are(WHOLE, index) and shape):
        return False
    d = dim % len(shape)
    zeros = lowering.zeros(tuple(shape), grad.dtype)
    where, at = _without(zeros, d, 1)
    given, places = lowering.window(grad), lowering.window(index)
    return lowering.gives(step, lowering.scatter(zeros, where, _with(given, d, keepdim), _with(places, d, keepdim), at))


def _with(x: Window, d: int, there: bool) -> Window:
    """The window with a dimension of one element, if that is not there."""
    if there:
        return x
    return x._replace(shape=(*x.shape[:d], 1, *x.shape[d:]), strides=(*x.strides[:d], 0, *x.strides[d:]))


@lowers("placed_along")
def _placed_along(lowering: Lowering, step: Step) -> bool:
    grad, shape, dim, index, adds = (*step.args, False)[:5]
    if not (adds and _are(step.results[0].dtype, grad) and grad.dtype in FLOATS and _are(WHOLE, index) and shape):
        return False
    if index.shape != grad.shape:
        return False
    return _added_along(lowering, step, grad, shape, dim, index)


@lowers("embedding_rows")
def _embedding_rows(lowering: Lowering, step: Step) -> bool:
    index, weight = step.args[:2]
    if not (_are(step.results[0].dtype, weight) and weight.dtype in FLOATS and _are(WHOLE, index)):
        return False
    if len(weight.shape) != 2:
        return False
    base, at, places = _rows_at(lowering, lowering.window(weight), index)
    return lowering.gives(step, lowering.gather(base, places, at))


@lowers("embedding_rows_backward")
def _embedding_rows_backward(lowering: Lowering, step: Step) -> bool:
    grad, index, rows, padding, by_frequency = step.args + (None, False)[len(step.args) - 3 :]
    if not (_are(step.results[0].dtype, grad) and grad.dtype in FLOATS and _are(WHOLE, index)):
        return False
    if padding is not None or by_frequency:
        return False
    zeros = lowering.zeros((rows, grad.shape[-1]), grad.dtype)
    where, at, places = _rows_at(lowering, zeros, index)
    return lowering.gives(step, lowering.scatter(zeros, where, lowering.window(grad), places, at))


def _rows_at(lowering: Lowering, table: Window, index: Value) -> tuple[Window, Index, Window]:
    """(row 0 for each index, along what an index counts, the indices for each element of a row)."""
    rows, width = table.shape
    at = Index(table.strides[0] if rows > 1 else 0, rows)
    base = table._replace(shape=(*index.shape, width), strides=(*[0] * len(index.shape), table.strides[1]))
    # An index counts from the end, a row of an embedding does not: one below 0 becomes one that is too large.
    rule = lambda c, t, i, count: c.sel(i < 0, count, i)  # noqa: E731
    places = lowering.map("row", rule, [index, rows], shape=index.shape, dtype=WHOLE)
    return base, at, places._replace(shape=base.shape, strides=(*places.strides, 0))


# -- losses of classes -------------------------------------------------------------------------------------------------
class _Classes:
    """The targets of a loss over rows of scores; those that are ignored count as class 0, and not at all."""

    def __init__(self, lowering: Lowering, scores: Value, target: Value, ignored: int) -> None:
        self.lowering, self.x = lowering, lowering.window(scores)
        self.shape, self.dtype = target.shape, scores.dtype
        given = lowering.window(target)
        # An index counts from the end, a class does not: one below 0 becomes one that is too large, and found out.
        rule = lambda c, t, i, n, count: c.sel(i.ne(n), c.sel(i < 0, count, i), 0)  # noqa: E731
        self.places = lowering.map("class", rule, [given, ignored, scores.shape[1]], shape=self.shape, dtype=WHOLE)
        mask = lambda c, t, i, n: i.ne(n)  # noqa: E731
        self.counts = lowering.map("counts", mask, [given, ignored], shape=self.shape, dtype=bool)

    def share(self, reduction: str) -> Any:
        """The number by which each row's loss is divided."""
        if reduction != "mean":
            return 1.0
        rule = lambda c, t, m: c.sel(m, c.number(1.0, t), 0.0)  # noqa: E731
        ones = self.lowering.map("one or none", rule, [self.counts], shape=self.shape, dtype=self.dtype)
        return self.lowering.reduce("add", ones, [0])


def _fits_classes(scores: Any, target: Any, reduction: Any, ignored: Any) -> bool:
    return (
        type(scores) is Value
        and scores.dtype in FLOATS
        and len(scores.shape) == 2
        and _are(WHOLE, target)
        and target.shape == scores.shape[:1]
        and reduction in ("mean", "sum")
        and ignored < 0
    )


def _all_of(step: Step, defaults: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The arguments of a step, of which the last ones may be defaults."""
    given = tuple(step.args)
    return (*given, *defaults[len(defaults) - (count - len(given)) :]) if len(given) < count else given


@lowers("cross_entropy_loss")
def _cross_entropy(lowering: Lowering, step: Step) -> bool:
    scores, target, reduction, ignored = _all_of(step, ("mean", -100), 4)
    if not _fits_classes(scores, target, reduction, ignored) or step.results[0].dtype != scores.dtype:
        return False
    classes = _Classes(lowering, scores, target, ignored)
    rows = Rows(lowering, classes.x, [1])
    top = rows.reduce("max", classes.x)
    total = rows.reduce("add", rows.map("exp of less", exp_less, classes.x, top))
    base, at = _without(classes.x, 1, 1)
    chosen = lowering.gather(base.only([0]), classes.places, at)
    given = [classes.counts, total.only([0]), top.only([0]), chosen]
    rule = lambda c, t, m, s, top, x: c.sel(m, FUNCTIONS["log"](c, s) - (x - top), 0.0)  # noqa: E731
    losses = lowering.map("loss", rule, given, shape=target.shape, dtype=scores.dtype)
    total, share = lowering.reduce("add", losses, [0]), classes.share(reduction)
    return lowering.gives(step, lowering.map("div", simple.div, [total, share], step.results[0]))


@lowers("nll_loss")
def _nll_loss(lowering: Lowering, step: Step) -> bool:
    scores, target, weight, reduction, ignored = step.args + (None, "mean", -100)[len(step.args) - 2 :]
    if weight is not None or not _fits_classes(scores, target, reduction, ignored):
        return False
    classes = _Classes(lowering, scores, target, ignored)
    base, at = _without(classes.x, 1, 1)
    chosen = lowering.gather(base.only([0]), classes.places, at)
    rule = lambda c, t, m, x: c.sel(m, -x, 0.0)  # noqa: E731
    losses = lowering.map("less", rule, [classes.counts, chosen], shape=target.shape, dtype=scores.dtype)
    total, share = lowering.reduce("add", losses, [0]), classes.share(reduction)
    return lowering.gives(step, lowering.map("div", simple.div, [total, share], step.results[0]))


@lowers("cross_entropy_loss_backward")
def _cross_entropy_backward(lowering: Lowering, step: Step) -> bool:
    """(softmax - 1 at the target) times the row's share."""
    grad, scores, target, reduction, ignored = _all_of(step, ("mean", -100), 5)
    if not _fits_classes(scores, target, reduction, ignored) or not _are(scores.dtype, grad) or grad.shape:
        return False
    classes = _Classes(lowering, scores, target, ignored)
    rows = Rows(lowering, classes.x, [1])
    top = rows.reduce("max", rows.x)
    parts = rows.map("exp of less", exp_less, rows.x, top)
    total = rows.reduce("add", parts)
    rule = lambda c, t, m, g, n: c.sel(m, g / n, 0.0)  # noqa: E731
    share = lowering.map(
        "share",
        rule,
        [classes.counts, lowering.window(grad), classes.share(reduction)],
        shape=target.shape,
        dtype=scores.dtype,
    )
    column = share._replace(shape=(*share.shape, 1), strides=(*share.strides, 0))
    out = rows.map("p s / n", lambda c, t, p, s, n: p * (s / n), parts, column, total, like=step.results[0])
    where, at = _without(out, 1, 1)
    less = lowering.map("neg", simple.neg, [share], shape=target.shape, dtype=scores.dtype)
    return lowering.gives(step, lowering.scatter(out, where.only([0]), less, classes.places, at))


# -- copies in another order -------------------------------------------------------------------------------------------
@lowers("flip")
def _flip(lowering: Lowering, step: Step) -> bool:
    if step.form is not ONE or not _are(step.results[0].dtype, step.args[0]) or step.args[0].dtype not in FLOATS:
        return False
    dims = step.args[1] if isinstance(step.args[1], (tuple, list)) else [step.args[1]]
    x = lowering.window(step.args[0])
    found = x.through(lambda probe: np.flip(probe, tuple(dims))) if x.shape else x
    return found is not None and lowering.gives(step, lowering.map("copy", simple.copy, [found], step.results[0]))
