"""`__array_function__`: what NumPy calls when one of its functions (not a ufunc) meets a Tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS, Array
from pullback.core.tensor import NestedTensor, Tensor, ndarray
from pullback.dispatch.call_errors import explained_call
from pullback.interop.numpy_errors import on_numbers, raise_as_numpy
from pullback.interop.registry import FUNCTIONS, find_function, numpy_name
from pullback.interop.results import apart_from, as_numpy_gives, gives_arrays, in_numpys_order
from pullback.interop.suggest import unsupported

_OURS = frozenset([Tensor, NestedTensor, ndarray]) | ARRAYS


def array_function(
    self: Any, function: Callable[..., Any], types: Iterable[type], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """The rule of a NumPy function, run on the arguments as they were given."""
    for kind in types:
        if kind not in _OURS and not issubclass(kind, ndarray):
            return NotImplemented  # another library's array: its turn
    rule = FUNCTIONS.get(function) or find_function(function)
    if rule is None:
        raise unsupported(f"np.{numpy_name(function)}")
    # An Array that stands for an ndarray leaves it to the Tensors beside it.
    arrays = type(self) in ARRAYS and (NestedTensor not in types or modes.current().level > 0)
    try:
        if function in _ASKED and arrays and (not self._array.ndim or not self._array.size):
            found = _of_nothing(self, function, args, kwargs)
            if found is not None:
                return as_numpy_gives(found, args, kwargs)
        result = rule(*args, **kwargs)
        return _of_arrays(function, result, args, kwargs) if arrays else result
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        if arrays:
            raise_as_numpy(function, args, kwargs)
        raise explained_call(f"np.{numpy_name(function)}", rule, args, kwargs, error)  # noqa: B904


# What sums up or orders: of no element at all with NumPy's own warnings, of no dimension with its rules for `axis`.
_ASKED = frozenset(
    getattr(np, name)
    for name in (
        "argsort", "average", "mean", "median", "nanmean", "nanmedian", "nanpercentile", "nanquantile", "nanstd",
        "nanvar", "percentile", "quantile", "sort", "std", "var",
    )
)  # fmt: skip


def _of_nothing(self: Array, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> object:
    """NumPy's own result where an Array has no element, so that no gradient goes through it, or its own error.

    None if there is something to differentiate.
    """
    empty = not self._array.size and kwargs.get("out") is None
    found = on_numbers(function, args, kwargs, warn=empty)
    return found if empty or function is np.argsort else None


def _of_arrays(function: Callable[..., Any], result: object, args: Sequence[Any], kwargs: dict[str, Any]) -> object:
    """Return what a rule returned where an Array, which is asked first, is among the arguments, as NumPy gives it."""
    if args and kwargs.get("out") is None:
        result = in_numpys_order(apart_from(args[0], result, function), args, function)
    return as_numpy_gives(result, args, kwargs, gives_arrays(function, args))
