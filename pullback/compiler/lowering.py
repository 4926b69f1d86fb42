"""The function of NumPy that a step calls: its kernel, or a quicker one where shapes and dtypes are known beforehand.

A kernel asks of each call what a program knows once and for all: how many dimensions a factor has, whether an exponent
is 2, whether so few numbers are worth a special way.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import getitem
from typing import Any, TypeAlias

import numpy as np

from pullback.arrays.numpy.declarations import ufunc_for_few
from pullback.arrays.traced.graph import Step, Value
from pullback.core.array_type import NUMPY
from pullback.core.late import ready
from pullback.core.tensor import ndarray

Lowered: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]  # the function, and its arguments

_FEW = 4096  # elements that are copied sooner than shown many times


def lowered(step: Step) -> Lowered:
    """The function that a step calls, and with which arguments."""
    if not isinstance(step.what, str):
        return step.what, step.args
    if (rule := _RULES.get(step.what)) is not None and (found := rule(step)) is not None:
        return found
    kernel = ready(NUMPY.kernels[step.what])
    if step.results and (ufunc := ufunc_of(kernel, step.results[0])) is not None:
        return ufunc, step.args
    return kernel, step.args


def ufunc_of(kernel: Any, result: Value) -> np.ufunc | None:
    """The ufunc that does what a kernel does for a result of this form."""
    ufunc, limit = ufunc_for_few(kernel)
    # A special way that pays for many numbers is one for float64: of float32 NumPy's own loops are as quick.
    few = limit == 0 or result.dtype != np.float64 or prod(result.shape) < limit
    return ufunc if few else None


def _product(step: Step) -> Lowered | None:
    a, b = step.args[:2]
    if len(a.shape) == len(b.shape) == 2 and a.dtype == b.dtype and a.dtype.kind in "fc":
        return np.dot, (a, b)  # what matmul does of two matrices, and quicker to start
    return None


def _square(step: Step) -> Lowered | None:
    x, exponent = step.args
    if type(exponent) in (int, float) and exponent == 2 and type(x) is Value and x.dtype.kind in "fc":
        return np.square, (x,)
    return None


def _part(step: Step) -> Lowered | None:
    x, index = step.args
    return (getitem, (x, index)) if step.results[0].shape else None


def _spread(step: Step) -> Lowered | None:
    result = step.results[0]
    return (filled, (step.args[0], result.shape, result.dtype)) if prod(result.shape) <= _FEW else None


def filled(x: Any, shape: tuple[int, ...], dtype: Any) -> ndarray:
    """`x` spread over a new array."""
    made = np.empty(shape, dtype)
    made[...] = x
    return made


_RULES: dict[str, Callable[[Step], Lowered | None]] = {
    "matmul": _product, "mm": _product, "pow": _square, "slice_view": _part, "expand": _spread,
}  # fmt: skip
