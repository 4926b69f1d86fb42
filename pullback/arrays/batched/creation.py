"""Rules for arrays made beside others: batched where those are, so that batched values can be written into them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.rules import RULES, Rule, refuse_as_kernel, rule
from pullback.arrays.batched.values import run, shape_of
from pullback.core.array_type import TENSOR
from pullback.dispatch.mixed import on_wrapped


def _like(name: str) -> Rule:
    return lambda batch, x, *rest: run(name, x.values, *rest)


def _sized(name: str) -> Rule:
    def made(batch: Batch, x: BatchedArray, size: Any, *rest: Any) -> Any:
        size = (size,) if isinstance(size, int) else size
        return run(name, x.values, (batch.size, *size), *rest)

    return made


RULES.update({name: _like(name) for name in ("zeros_like", "ones_like", "empty_like", "full_like")})
RULES.update({name: _sized(name) for name in ("new_zeros", "new_ones", "new_empty", "new_full")})


@rule("new_empty_strided")
def _new_empty_strided(batch: Batch, x: BatchedArray, size: Any, stride: Any, *rest: Any) -> Any:
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=False)) if 0 not in size else 0
    return run("new_empty_strided", x.values, (batch.size, *size), (reach, *stride), *rest)


def _spaced(start: Any, end: Any, steps: int, dtype: Any) -> Any:
    part = np.linspace(0.0, 1.0, steps)  # the ends themselves, whatever is lost between
    found = start * (1 - part) + end * part
    return found if dtype is None else TENSOR.to(found, dtype)


@rule("linspace")
def _linspace(batch: Batch, start: Any, end: Any, steps: int, dtype: Any) -> Any:
    if any(shape_of(x) for x in (start, end)):
        refuse_as_kernel("linspace", batch, (start, end, steps, dtype))
    return on_wrapped(_spaced, start, end, steps, dtype)


@rule("logspace")
def _logspace(batch: Batch, start: Any, end: Any, steps: int, base: float, dtype: Any) -> Any:
    if any(shape_of(x) for x in (start, end)):
        refuse_as_kernel("logspace", batch, (start, end, steps, base, dtype))
    found = on_wrapped(lambda start, end: TENSOR.pow(base, _spaced(start, end, steps, None)), start, end)
    return found if dtype is None else run("to_copy", found, np.dtype(dtype), None)
