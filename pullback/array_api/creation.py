"""Tensors from shapes, numbers and other arrays, as the standard has it; `device` is "cpu"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.array_api.functions import fresh, of_numpy, tensor
from pullback.core import factory
from pullback.core.annotations import DTypeObject
from pullback.core.errors import OperatorError
from pullback.core.tensor import Tensor, ndarray
from pullback.interop.conversion import from_dlpack as _from_dlpack


def _on_cpu(device: object) -> None:
    if device not in (None, "cpu"):
        raise OperatorError(f'array_api: arrays are on the device "cpu", got device={device!r}.')


def asarray(
    obj: object, /, *, dtype: DTypeObject | None = None, device: str | None = None, copy: bool | None = None
) -> Tensor:
    """A Tensor of what an array, a number or nested sequences hold; an array's own memory unless `copy` is True."""
    _on_cpu(device)
    if not isinstance(obj, Tensor):
        if copy is False and not hasattr(obj, "__dlpack__") and not hasattr(obj, "__array_interface__"):
            raise ValueError("asarray: numbers and sequences have no memory to share, and copy=False forbids a copy.")
        made = factory.asarray(obj, dtype=dtype)
        return fresh(made.clone() if copy else made)
    if dtype is None or obj.dtype == dtype:
        return fresh(obj.clone()) if copy else obj
    if copy is False:
        raise ValueError(f"asarray: {obj.dtype} to {np.dtype(dtype)} needs a copy, and copy=False forbids it.")
    return fresh(obj.to(dtype))


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A Tensor that shares another library's memory."""
    _on_cpu(device)
    return _from_dlpack(x, copy=copy)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeObject | None = None,
    device: str | None = None,
) -> Tensor:
    """The numbers from start to stop, that one excluded; from 0 if one number is given."""
    _on_cpu(device)
    return tensor(np.arange(start, dtype=dtype) if stop is None and step == 1 else _range(start, stop, step, dtype))


def _range(start: float, stop: float | None, step: float, dtype: DTypeObject | None) -> ndarray:
    return np.arange(0, start, step, dtype=dtype) if stop is None else np.arange(start, stop, step, dtype=dtype)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DTypeObject | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances, the last of which is `stop` unless `endpoint` is False."""
    _on_cpu(device)
    return tensor(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeObject | None = None,
    device: str | None = None,
) -> Tensor:
    """Ones on a diagonal, zeros elsewhere."""
    _on_cpu(device)
    return tensor(np.eye(n_rows, n_cols, k=k, dtype=dtype or np.float64))


def full(
    shape: int | Sequence[int], fill_value: complex, *, dtype: DTypeObject | None = None, device: str | None = None
) -> Tensor:
    """A Tensor of one number."""
    _on_cpu(device)
    return tensor(np.full(shape, fill_value, dtype=dtype))


def full_like(
    x: Tensor, /, fill_value: complex, *, dtype: DTypeObject | None = None, device: str | None = None
) -> Tensor:
    """A Tensor of one number, with the shape and dtype of x."""
    return full(tuple(x.shape), fill_value, dtype=dtype or x.dtype, device=device)


def _of_a_shape(name: str) -> Callable[..., Any]:
    function: Callable[..., ndarray] = getattr(np, name)

    def made(shape: int | Sequence[int], *, dtype: DTypeObject | None = None, device: str | None = None) -> Tensor:
        _on_cpu(device)
        return tensor(function(shape, dtype=dtype or np.float64))

    return _named(made, name, f"A Tensor of this shape: {name}.")


def _of_the_shape_of(name: str, of_a_shape: Callable[..., Tensor]) -> Callable[..., Any]:
    def made(x: Tensor, /, *, dtype: DTypeObject | None = None, device: str | None = None) -> Tensor:
        return of_a_shape(tuple(x.shape), dtype=dtype or x.dtype, device=device)

    return _named(made, name, f"A Tensor with the shape and dtype of x: {name}.")


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


empty, ones, zeros = _of_a_shape("empty"), _of_a_shape("ones"), _of_a_shape("zeros")
empty_like = _of_the_shape_of("empty_like", empty)
ones_like = _of_the_shape_of("ones_like", ones)
zeros_like = _of_the_shape_of("zeros_like", zeros)
meshgrid, tril, triu = of_numpy(np.meshgrid), of_numpy(np.tril), of_numpy(np.triu)
