"""Kernels that take several steps of NumPy's, taken apart: each part is a line of the program.

What is asked once and for all then costs nothing at a call, memory is used again between the parts, and they may run
block by block with others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from pullback.arrays.numpy.pointwise.exponentials import FEW_FOR_SIGMOID
from pullback.arrays.traced.graph import ONE, Graph, Step, Value
from pullback.compiler.lowering import reduced
from pullback.core.tensor import ndarray

_WHOLE = slice(None)


def taken_apart(graph: Graph, steps: Sequence[Step]) -> list[Step]:
    """The steps, with the parts of a kernel in its place where that pays."""
    found: list[Step] = []
    for step in steps:
        rule = _RULES.get(step.what) if isinstance(step.what, str) else None
        found += (None if rule is None else rule(graph, step)) or [step]
    return found


def _made(step: Step, what: str, args: tuple[Any, ...], result: Value) -> Step:
    """A part of a step."""
    made = Step(what, args, [result], ONE, writes=False)
    made.pure, made.asked = True, step.asked
    return made


def _like(graph: Graph, x: Value) -> Value:
    """A further value in the form of this one."""
    made = Value(graph, x)  # type: ignore[arg-type]  # it has what an example is asked for
    made.single = x.single
    return made


def _sigmoid(graph: Graph, step: Step) -> list[Step] | None:
    """1 / (1 + exp(-x)), of as many numbers as NumPy's exp pays for."""
    x, result = step.args[0], step.results[0]
    if x.dtype.char not in "fd" or x.dtype != result.dtype or prod(x.shape) < FEW_FOR_SIGMOID:
        return None
    a, b, c = (_like(graph, result) for _ in range(3))
    return [
        _made(step, "neg", (x,), a),
        _made(step, "exp", (a,), b),
        _made(step, "add", (b, 1.0), c),
        _made(step, "div", (1.0, c), result),
    ]


def _mean(graph: Graph, step: Step) -> list[Step] | None:
    """A sum, over its number of terms."""
    (x, dim, keepdim, dtype), result = reduced(step), step.results[0]
    if dtype is not None or x.dtype.char not in "fd" or not prod(result.shape) or not prod(x.shape):
        return None
    total = _like(graph, result)
    count = prod(x.shape) // prod(result.shape)
    return [_made(step, "sum", (x, dim, keepdim, None), total), _made(step, "div", (total, count), result)]


def _cut(graph: Graph, step: Step) -> list[Step] | None:
    """Each of the parts that an array is cut into, by its place."""
    x, dim = step.args[0], step.args[2] if len(step.args) > 2 else 0
    if not x.shape or not prod(x.shape):
        return None
    before, begin, found = (_WHOLE,) * (dim % len(x.shape)), 0, []
    for result in step.results:
        end = begin + result.shape[dim]
        part = _made(step, "slice_view", (x, (*before, slice(begin, end))), result)
        part.aliases = (0,)
        found.append(part)
        begin = end
    return found


def _chosen(graph: Graph, step: Step) -> list[Step] | None:
    """One of two by a single bool: all of it is there already, and only the other one need be made."""
    condition, x, other = step.args
    result = step.results[0]
    single = type(condition) is Value and condition.dtype.kind == "b" and condition.shape == ()
    number = issubclass(type(other), (int, float, np.generic))
    if not single or not result.shape or not number or type(x) is not Value:
        return None
    if (x.shape, x.strides, x.dtype) != (result.shape, result.strides, result.dtype):
        return None
    made = Step(chosen, step.args, [result], ONE, writes=False)
    made.pure, made.asked, made.aliases = True, step.asked, (1,)
    return [made]


def chosen(condition: Any, x: ndarray, other: float) -> ndarray:
    """`x` if the condition holds, else an array of that number."""
    return x if condition else np.full_like(x, other)


_RULES: dict[str, Callable[[Graph, Step], list[Step] | None]] = {
    "where": _chosen, "sigmoid": _sigmoid, "mean": _mean, "chunk": _cut, "split": _cut, "split_with_sizes": _cut,
}  # fmt: skip
