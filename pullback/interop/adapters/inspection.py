"""NumPy's functions that look at an array without computing with it, or write it to a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.tensor import Tensor
from pullback.interop.operands import frozen, values
from pullback.interop.registry import numpy_object, rule


@rule("shape")
def shape(a: ArrayLike) -> tuple[int, ...]:
    """np.shape."""
    return a.shape if isinstance(a, Tensor) else np.shape(a)


@rule("ndim")
def ndim(a: ArrayLike) -> int:
    """np.ndim."""
    return a.ndim if isinstance(a, Tensor) else np.ndim(a)


@rule("size")
def size(a: ArrayLike, axis: int | None = None) -> int:
    """np.size."""
    return np.size(np.broadcast_to(0, a.shape), axis) if isinstance(a, Tensor) else np.size(a, axis)


@rule("iscomplexobj")
def iscomplexobj(x: AnyArray) -> bool:
    """np.iscomplexobj."""
    return bool(x.dtype.kind == "c")


@rule("isrealobj")
def isrealobj(x: AnyArray) -> bool:
    """np.isrealobj."""
    return bool(x.dtype.kind != "c")


def _of_dtypes(name: str) -> Callable[..., Any]:
    """A function that asks its arguments for their dtypes alone."""
    function = numpy_object(name)

    def ask(*args: object, **kwargs: object) -> Any:
        return function(*(np.empty(0, x.dtype) if isinstance(x, Tensor) else x for x in args), **kwargs)

    return ask


def _of_shape(name: str) -> Callable[..., Any]:
    """A function that asks its first argument for its shape alone."""
    function = numpy_object(name)

    def ask(a: AnyArray, *args: object, **kwargs: object) -> Any:
        return function(np.broadcast_to(0, a.shape), *args, **kwargs)

    return ask


def _of_values(name: str, convert: Any) -> Callable[..., Any]:
    """A function of plain arrays, whose result is no array: `convert` lets a Tensor that requires grad in or not."""
    function = numpy_object(name)

    def run(*args: object, **kwargs: object) -> Any:
        plain = [convert(x, name) if isinstance(x, Tensor) else x for x in args]
        named = {key: convert(x, name) if isinstance(x, Tensor) else x for key, x in kwargs.items()}
        return function(*plain, **named)

    return run


def _in_a_file(x: AnyArray, name: str) -> AnyArray:
    return values(x, name, use="writes plain numbers into a file")


for _name in ("diag_indices_from", "tril_indices_from", "triu_indices_from"):
    rule(_name)(_of_shape(_name))
for _name in ("can_cast", "common_type", "result_type"):
    rule(_name)(_of_dtypes(_name))
for _name in ("array2string", "array_repr", "array_str", "may_share_memory", "min_scalar_type", "shares_memory"):
    rule(_name)(_of_values(_name, frozen))
for _name in ("save", "savetxt", "savez", "savez_compressed"):  # a file is an array for later: detach first
    rule(_name)(_of_values(_name, _in_a_file))
