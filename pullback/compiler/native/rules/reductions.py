"""Sums, means, extremes, and what is made of them row by row."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.lowering import reduced
from pullback.compiler.native import simple
from pullback.compiler.native.lowering import BOOL, FLOATS, WHOLE, Lowering, lowers


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


@lowers("amax", "amin")
def _extreme(lowering: Lowering, step: Step) -> bool:
    x, dim, keepdim = (step.args + ((), False)[len(step.args) - 1 :])[:3]
    if not _is_float(step):
        return False
    how = "max" if step.what == "amax" else "min"
    return lowering.gives(step, lowering.reduce(how, lowering.window(x), axes_of(dim, len(x.shape)), bool(keepdim)))
