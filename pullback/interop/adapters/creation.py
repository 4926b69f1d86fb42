"""NumPy's functions that make arrays: of another's shape, between limits, or of nested lists (`like=`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_type import check
from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike, Order, ShapeLike
from pullback.core.tensor import Tensor, note_copied
from pullback.interop.operands import (
    array,
    astype,
    cast,
    in_order,
    in_order_of,
    moveaxis,
    only,
    operand,
    ops,
    tensor_of,
)
from pullback.interop.registry import numpy_object, rule


def _like(name: str) -> Callable[..., Any]:
    """np.zeros_like and its kin: of the prototype's shape and dtype, outside any graph."""

    def like(
        prototype: Any,
        dtype: DTypeLike = None,
        order: Order = "K",
        subok: bool = True,
        shape: ShapeLike | None = None,
        *,
        device: str | None = None,
    ) -> AnyArray:
        only(name, "order", order, (None, "K", "C", "A", "F"))
        only(name, "device", device, (None, "cpu"))
        prototype = array(prototype)
        if shape is not None:
            shape = shape if isinstance(shape, (tuple, list)) else (shape,)
            made = getattr(ops, f"new_{name.removesuffix('_like')}")(prototype, tuple(shape), dtype=dtype)
        else:
            made = getattr(ops, name)(prototype, dtype=dtype)
            if order in (None, "K", "A"):
                return in_order_of(made, prototype)
        return in_order(made, order)

    return like


zeros_like = rule("zeros_like")(_like("zeros_like"))
rule("ones_like")(_like("ones_like"))
rule("empty_like")(_like("empty_like"))


@rule("full_like")
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: Order = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: str | None = None,
) -> AnyArray:
    """np.full_like; differentiable in the value that fills."""
    only("full_like", "order", order, (None, "K", "C", "A", "F"))
    only("full_like", "device", device, (None, "cpu"))
    a, fill = array(a), array(fill_value)
    fill = cast(fill, a.dtype if dtype is None else dtype, "full_like", "unsafe")
    return in_order(zeros_like(a, dtype, order, shape=shape) + fill, order)


@rule("copy")
def copy(a: ArrayLike, order: Order = "K", subok: bool = False) -> Any:
    """np.copy: recorded, as clone() is."""
    only("copy", "order", order, (None, "K", "C", "A", "F"))
    made: Any = in_order(ops.clone(array(a)), order if order == "F" else None)
    return note_copied(made)


@rule("linspace")
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """np.linspace; differentiable in both ends."""
    only("linspace", "device", device, (None, "cpu"))
    if num < 0:
        raise ValueError(f"np.linspace: the number of samples must be at least 0, got {num}.")
    ends: list[Any] = [operand(x) for x in (start, stop)]
    inside = np.result_type(*(x if type(x) in (bool, int, float, complex) else x.dtype for x in ends), 1.0)
    start, stop = np.broadcast_arrays(*(astype(array(x), inside) for x in ends))
    count = num - 1 if endpoint else num
    step = (stop - start) / count if count > 0 else (stop - start) * np.nan
    places = np.reshape(np.arange(num, dtype=start.real.dtype), (num,) + (1,) * start.ndim)
    result = start + places * step if count > 0 else start + places * (stop - start)
    if endpoint and num > 1:
        result = np.concatenate([result[:-1], stop[None]])
    if dtype is not None and np.dtype(dtype).kind in "iu":
        result = np.floor(result)
    result = cast(moveaxis(result, 0, axis) if axis else result, dtype, "linspace", "unsafe")
    return (result, step) if retstep else result


@rule("logspace")
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> AnyArray:
    """np.logspace; differentiable in both ends and in the base."""
    if np.ndim(base):  # broadcast with the ends, beside which the samples get their axis
        ends = [array(x) for x in (start, stop, base)]
        ndim = max(x.ndim for x in ends)
        start, stop, base = (np.reshape(x, (*(1,) * (ndim - x.ndim), *x.shape)) for x in ends)
        base = np.expand_dims(base, axis)
    powers = linspace(start, stop, num, endpoint, axis=axis)
    return cast(np.power(base, powers), dtype, "logspace", "unsafe")


@rule("geomspace")
def geomspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None, axis: int = 0
) -> AnyArray:
    """np.geomspace; differentiable in both ends."""
    start, stop = array(start), array(stop)
    check(_no_zero, start)
    check(_no_zero, stop)
    inside = np.result_type(start, stop, float(num), np.zeros((), dtype))
    start, stop = np.broadcast_arrays(astype(start, inside), astype(stop, inside))
    turn = np.sign(start)
    result = logspace(np.log10(start / turn), np.log10(stop / turn), num, endpoint) * turn
    if num > 0:
        last = [stop[None]] if num > 1 and endpoint else []
        result = np.concatenate([start[None], result[1 : num - len(last)], *last])
    result = moveaxis(result, 0, axis) if axis else result
    return cast(result, inside if dtype is None else dtype, "geomspace", "unsafe")


def _no_zero(end: AnyArray) -> None:
    if np.any(end == 0):
        raise ValueError("np.geomspace: a geometric sequence cannot include zero.")


# -- like=Tensor ----------------------------------------------------------------------------------------------------


@rule("array")
def array_(
    object: Any, dtype: DTypeLike = None, *, copy: bool = True, order: Order = "K", subok: bool = False, ndmin: int = 0
) -> Any:
    """np.array(nested lists of Tensors and numbers, like=tensor): one Tensor, recorded."""
    only("array", "order", order, (None, "K", "C", "A", "F"))
    given: Any = cast(array(object), dtype, "array", "unsafe")
    made: Any = np.reshape(given, (*(1,) * (ndmin - given.ndim), *given.shape))
    copied: Any = in_order(ops.clone(made) if isinstance(made, Tensor) else tensor_of(made), order)
    return note_copied(copied)


@rule("asarray", "asanyarray")
def asarray(
    a: ArrayLike, dtype: DTypeLike = None, order: Order = None, *, device: str | None = None, copy: bool | None = None
) -> AnyArray:
    """np.asarray(nested lists of Tensors and numbers, like=tensor): one Tensor, recorded."""
    only("asarray", "order", order, (None, "K", "C", "A", "F"))
    only("asarray", "device", device, (None, "cpu"))
    made = cast(array(a), dtype, "asarray", "unsafe")
    return in_order(made if hasattr(made, "requires_grad") else tensor_of(made), order)


def _plain(name: str) -> Callable[..., Any]:
    """A function that makes an ndarray of numbers, asked for a Tensor by like=."""
    function = numpy_object(name)

    def make(*args: object, **kwargs: object) -> AnyArray:
        return tensor_of(function(*args, **kwargs))

    return make


for _name in ("arange", "empty", "eye", "full", "identity", "ones", "tri", "zeros"):
    rule(_name)(_plain(_name))
