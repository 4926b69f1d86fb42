"""The function of NumPy that a step calls: its kernel, or a quicker one where shapes and dtypes are known beforehand.

A kernel asks of each call what a program knows once and for all: how many dimensions a factor has, whether an exponent
is 2, whether so few numbers are worth a special way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from operator import attrgetter, getitem
from typing import Any, Final, TypeAlias

import numpy as np

from pullback.arrays.numpy.declarations import ufunc_for_few
from pullback.arrays.numpy.fast.choices import SMALL
from pullback.arrays.numpy.fast.sums import LARGE
from pullback.arrays.traced.graph import Step, Value
from pullback.core.array_type import NUMPY
from pullback.core.late import ready
from pullback.core.tensor import ndarray

Lowered: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]  # the function, and its arguments

_ALL = slice(None)
_FEW = 4096  # elements that are copied sooner than shown many times
_EXACT = 1 << 24  # whole numbers up to this one are exact in single precision
TRANSPOSED: Final = attrgetter("T")


def lowered(step: Step) -> Lowered:
    """The function that a step calls, and with which arguments."""
    if not isinstance(step.what, str):
        return step.what, step.args
    if (rule := _RULES.get(step.what)) is not None and (found := rule(step)) is not None:
        return found
    kernel = ready(NUMPY.kernels[step.what])
    if step.results and (ufunc := ufunc_of(kernel, step.results[0])) is not None:
        return ufunc, numbers_as_arrays(ufunc, step.args)
    return kernel, step.args


def numbers_as_arrays(ufunc: np.ufunc, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with Python's numbers as arrays of what they are taken for, which NumPy need not convert."""
    if not any(type(x) in (int, float) for x in args):
        return args
    dtypes = {x.dtype for x in args if type(x) is Value}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype is None or dtype.kind != "f" or not _takes_two(ufunc, dtype.char):
        return args
    return tuple(as_array(x, dtype) for x in args)


@cache
def _takes_two(ufunc: np.ufunc, char: str) -> bool:
    """True if it computes of two arrays of this dtype."""
    return any(x.startswith(f"{char}{char}->") for x in ufunc.types)


def as_array(x: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number that is one of this dtype as an array without dimensions; anything else as it is."""
    if type(x) is float or (type(x) is int and abs(x) <= _EXACT):
        with np.errstate(all="ignore"):
            return np.asarray(x, dtype)
    return x


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


def reduced(step: Step) -> tuple[Any, ...]:
    """(array, dim, keepdim, dtype) of a sum or a mean."""
    return step.args + (None, False, None)[len(step.args) - 1 :]


def _total(step: Step) -> Lowered | None:
    x, dim, keepdim, dtype = reduced(step)
    if prod(x.shape) >= LARGE or not x.shape:
        return None
    axis = tuple(dim) or None if isinstance(dim, (list, tuple)) else dim  # () is all dimensions, NumPy's () none
    return np.add.reduce, (x, axis, dtype, None, bool(keepdim))


def _choice(step: Step) -> Lowered | None:
    condition, *chosen = step.args
    dtype = step.results[0].dtype
    if (
        type(condition) is not Value
        or condition.dtype.kind != "b"
        or prod(condition.shape) > SMALL
        or dtype.kind != "f"
    ):
        return None
    given = [as_array(x, dtype) for x in chosen]
    return (np.where, (condition, *given)) if all(getattr(x, "dtype", None) == dtype for x in given) else None


def _reversed_axes(step: Step) -> Lowered | None:
    x = step.args[0]
    return (TRANSPOSED, (x,)) if len(x.shape) == 2 and step.results[0].shape == x.shape[::-1] and _swaps(step) else None


def _swaps(step: Step) -> bool:
    """True if it exchanges the two dimensions of its argument."""
    if step.what == "permute":
        return [d % 2 for d in step.args[1]] == [1, 0] if isinstance(step.args[1], (tuple, list)) else False
    return step.what == "numpy_T" or (step.what == "transpose" and (step.args[1] - step.args[2]) % 2 == 1)


def _side_by_side(step: Step) -> Lowered | None:
    arrays, dim = step.args[0], step.args[1] if len(step.args) > 1 else 0
    if not all(type(x) is Value and x.shape == arrays[0].shape for x in arrays):
        return None
    return stacked, (arrays, (_ALL,) * (dim % (len(arrays[0].shape) + 1)), dim)


def stacked(arrays: Sequence[ndarray], before: tuple[slice, ...], dim: int) -> ndarray:
    """The arrays side by side along a new dimension, which has these before it."""
    new = (*before, None)
    return np.concatenate([x[new] for x in arrays], dim)


def _spread(step: Step) -> Lowered | None:
    result = step.results[0]
    return (filled, (step.args[0], result.shape, result.dtype)) if prod(result.shape) <= _FEW else None


def filled(x: Any, shape: tuple[int, ...], dtype: Any) -> ndarray:
    """`x` spread over a new array."""
    made = np.empty(shape, dtype)
    made[...] = x
    return made


_RULES: dict[str, Callable[[Step], Lowered | None]] = {
    "matmul": _product, "mm": _product, "pow": _square, "slice_view": _part, "expand": _spread, "sum": _total,
    "where": _choice, "transpose": _reversed_axes, "numpy_T": _reversed_axes, "permute": _reversed_axes,
    "stack": _side_by_side,
}  # fmt: skip
