"""Products of matrices: by BLAS where they are large, as maps and sums of products where a dimension is short."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.lowering import FLOATS, Lowering, lowers
from pullback.compiler.native.nodes import DOT, Dot, Window, contiguous
from pullback.core.types import Shape

_SHORT = 8  # terms of a sum that is written out


def _fits(step: Step, *arrays: Any) -> bool:
    dtype = step.results[0].dtype
    return dtype in FLOATS and all(type(x) is Value and x.dtype == dtype for x in arrays)


@lowers("matmul", "mm", "bmm", "mv", "dot")
def _matmul(lowering: Lowering, step: Step) -> bool:
    if len(step.args) != 2 or not _fits(step, *step.args):
        return False
    a, b = map(lowering.window, step.args)
    result = step.results[0]
    first, second = len(a.shape) == 1, len(b.shape) == 1
    if first:
        a = a._replace(shape=(1, *a.shape), strides=(0, *a.strides))
    if second:
        b = b._replace(shape=(*b.shape, 1), strides=(*b.strides, 0))
    found = product(lowering, a, b)
    kept = [
        d
        for d in range(len(found.shape))
        if not (first and d == len(found.shape) - 2) and not (second and d == len(found.shape) - 1)
    ]
    found = found.only(kept)
    return found.shape == result.shape and lowering.gives(step, found)


@lowers("outer")
def _outer(lowering: Lowering, step: Step) -> bool:
    if not _fits(step, *step.args) or any(len(x.shape) != 1 for x in step.args):
        return False
    a, b = map(lowering.window, step.args)
    column = a._replace(shape=(*a.shape, 1), strides=(*a.strides, 0))
    return lowering.gives(step, lowering.map("mul", simple.mul, [column, b], step.results[0]))


@lowers("linear")
def _linear(lowering: Lowering, step: Step) -> bool:
    x, weight, bias = (*step.args, None)[:3]
    if not _fits(step, x, weight, *([] if bias is None else [bias])) or len(weight.shape) != 2 or not x.shape:
        return False
    a, b = lowering.window(x), lowering.window(weight)
    lead = a.shape[:-1]
    if len(a.shape) == 1:
        a = a._replace(shape=(1, *a.shape), strides=(0, *a.strides))
    found = product(lowering, a, b.swapped())
    if not lead:
        found = found._replace(shape=found.shape[1:], strides=found.strides[1:])
    if bias is not None:
        found = lowering.map("add", simple.add, [found, lowering.window(bias)], step.results[0])
    return lowering.gives(step, found)


@lowers("einsum_pair")
def _einsum_pair(lowering: Lowering, step: Step) -> bool:
    """Sums of products over labels; a label is of both and the result, of one and the result, or of both alone."""
    a, b, equation = step.args
    if not _fits(step, a, b):
        return False
    left, arrow = equation.replace(" ", "").split("->")
    x, y = left.split(",")
    size = dict(zip(y, b.shape, strict=True)) | dict(zip(x, a.shape, strict=True))
    if any(size[label] != n for label, n in zip(y, b.shape, strict=True)):
        return False  # a dimension of one element broadcasts
    batch = [label for label in arrow if label in x and label in y]
    rows = [label for label in arrow if label not in y]
    columns = [label for label in arrow if label not in x]
    summed = [label for label in x if label not in arrow]
    first, second = lowering.window(a), lowering.window(b)
    order = [*batch, *rows, *columns]
    if len(rows) == len(columns) == len(summed) == 1:
        found = product(
            lowering, _arranged(first, x, [*batch, *rows, *summed]), _arranged(second, y, [*batch, *summed, *columns])
        )
    else:
        every = [*order, *summed]
        long = tuple(size[label] for label in every)
        terms = [_spread(first, x, every, long), _spread(second, y, every, long)]
        found = lowering.map("mul", simple.mul, terms, shape=long, dtype=a.dtype)
        found = lowering.reduce("add", found, range(len(order), len(every))) if summed else found
    found = _arranged(found, order, arrow)
    return found.shape == step.results[0].shape and lowering.gives(step, found)


def _arranged(x: Window, labels: Any, order: Any) -> Window:
    """The dimensions in another order."""
    return x.only([list(labels).index(label) for label in order])


def _spread(x: Window, labels: str, every: Any, shape: Shape) -> Window:
    """An array over all labels."""
    strides = tuple(x.strides[labels.index(label)] if label in labels else 0 for label in every)
    return x._replace(shape=shape, strides=strides)


def product(lowering: Lowering, a: Window, b: Window) -> Window:
    """[..., m, k] times [..., k, n], the leading dimensions broadcast."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = a.spread((*batch, m, k)), b.spread((*batch, k, n))
    dtype = a.node.dtype
    if k <= _SHORT:
        terms = [x for p in range(k) for x in (_column(a, p).spread((*batch, m, n)), _row(b, p).spread((*batch, m, n)))]
        return lowering.map(f"sum of {k} products", _sum_of_products, terms, shape=(*batch, m, n), dtype=dtype)
    if m == 1 or n == 1:
        long = (*batch, m, n, k)
        x = a._replace(shape=long, strides=(*a.strides[:-1], 0, a.strides[-1]))
        y = b._replace(shape=long, strides=(*b.strides[:-2], 0, b.strides[-1], b.strides[-2]))
        return lowering.reduce("add", lowering.map("mul", simple.mul, [x, y], shape=long, dtype=dtype), [-1])
    if n < 16 and m >= 64:  # vectors of what follows run along the long dimension
        return _dot(lowering, _even(lowering, b.swapped()), _even(lowering, a.swapped()), batch).swapped()
    return _dot(lowering, _even(lowering, a), _even(lowering, b), batch)


def _column(a: Window, p: int) -> Window:
    """a[..., :, p], with one column."""
    return a._replace(shape=(*a.shape[:-1], 1), strides=(*a.strides[:-1], 0), offset=a.offset + p * a.strides[-1])


def _row(b: Window, p: int) -> Window:
    """b[..., p, :], with one row."""
    strides = (*b.strides[:-2], 0, b.strides[-1])
    return b._replace(shape=(*b.shape[:-2], 1, b.shape[-1]), strides=strides, offset=b.offset + p * b.strides[-2])


def _even(lowering: Lowering, x: Window) -> Window:
    """The window, or a copy of it, in one of whose last dimensions elements lie side by side, as BLAS wants it."""
    (rows, columns), (down, right) = x.shape[-2:], x.strides[-2:]
    if (right == 1 and (down >= columns or rows == 1)) or (down == 1 and (right >= rows or columns == 1)):
        return x
    return lowering.in_order(x)


def _dot(lowering: Lowering, a: Window, b: Window, batch: Shape) -> Window:
    (m, k), n = a.shape[-2:], b.shape[-1]
    if not lowering.calls and b.strides[-1] != 1:  # loops go along the rows of b
        b = lowering.in_order(b)
    shape = (*batch, m, n)
    space = tuple(n for n in shape if n != 1)
    node = lowering.add(DOT, Dot(batch, m, k, n), (a, b), space, contiguous(space), a.node.dtype)
    return lowering.shown(node, shape)


def _sum_of_products(code: Any, type_: Any, *terms: Any) -> Any:
    """The sum of x * y for the pairs."""
    total = terms[0] * terms[1]
    for x, y in zip(terms[2::2], terms[3::2], strict=True):
        total = code.fma(x, y, total)
    return total


@lowers("cross")
def _cross(lowering: Lowering, step: Step) -> bool:
    """Component by component: each is a map of its own, laid into the result."""
    a, b, dim = (*step.args, -1)[:3]
    result = step.results[0]
    if not _fits(step, a, b) or dim is None or not result.shape or result.shape[dim] != 3:
        return False
    x, y = (lowering.window(v).spread(result.shape) for v in (a, b))
    d = dim % len(result.shape)
    made = lowering.map("fill", simple.fill, [0.0], result)

    def part(w: Window, i: int) -> Window:
        return w._replace(
            shape=(*w.shape[:d], *w.shape[d + 1 :]),
            strides=(*w.strides[:d], *w.strides[d + 1 :]),
            offset=w.offset + i * w.strides[d],
        )

    rule = lambda c, t, p, q, r, s: p * q - r * s  # noqa: E731
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        terms = [part(x, j), part(y, k), part(x, k), part(y, j)]
        value = lowering.map("minor", rule, terms, shape=terms[0].shape, dtype=result.dtype)
        made = lowering.write(made, part(made, i), value, adds=False)
    return lowering.gives(step, made)
