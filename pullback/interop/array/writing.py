"""Methods that write into an Array, recorded like any write in place; a Scalar is a number, and refuses them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core.array_face import SCALAR_FACES, Array, Scalar
from pullback.core.array_type import layout_of
from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import ArrayLike, Mode, Order, SortKind
from pullback.core.tensor import Tensor, strided
from pullback.interop.array.attributes import reshape_in_place
from pullback.interop.array.indexing import check_is_whole
from pullback.interop.numpy_errors import on_numbers, refused_as_numpy
from pullback.interop.operands import array


def sort(
    self: Array, axis: int = -1, kind: SortKind | None = None, order: Order = None, *, stable: bool | None = None
) -> None:
    """Put the elements in order, in place."""
    if self.dtype.kind == "c":  # which NumPy compares by their real parts first
        sorted_: Any = np.take_along_axis(self, self.argsort(_one_axis(self, axis), kind, order, stable=stable), axis)
    else:
        sorted_ = np.sort(self, _one_axis(self, axis), kind, order, stable=stable)
    self.copy_(sorted_)


def partition(self: Array, kth: Any, axis: int = -1, kind: Any = "introselect", order: Order = None) -> None:
    """As `numpy.ndarray.partition`: put the kth elements where sorting would, in place."""
    self.copy_(np.partition(self, kth, _one_axis(self, axis), kind, order))


def _one_axis(x: Array, axis: int) -> int:
    return normalize_axis_index(operator.index(axis), x.ndim)


def fill(self: Array, value: Any) -> None:
    """Write one number everywhere."""
    on_numbers(np.empty(1, self.dtype).fill, (value,), {})  # NumPy's errors
    if type(value) in SCALAR_FACES and self.dtype.kind in "iu":
        check_is_whole(value, self.dtype)
    self.copy_(np.reshape(array(value), ()))


def put(self: Array, indices: Any, values_: ArrayLike, mode: Mode = "raise") -> None:
    """Write values at places counted in C's order; values are taken over and over."""
    write: Callable[..., None] = np.put
    write(self, indices, values_, mode)


def resize(self: Array, *new_shape: Any, refcheck: bool = True) -> None:
    """As `numpy.ndarray.resize`, for as many elements: memory that a graph knows of neither grows nor shrinks."""
    shape = new_shape[0] if len(new_shape) == 1 else new_shape
    if shape is None or shape == ():
        return
    shape = shape if isinstance(shape, tuple) else tuple(np.atleast_1d(shape).tolist())
    memory = layout_of(self)
    if memory is not None and not memory.flags.forc:
        raise ValueError("resize only works on single-segment arrays")
    if math.prod(shape) != self.size:
        raise UnsupportedError(
            f"resize: an Array of shape {self.shape} cannot become one of shape {shape} in place, as its memory is "
            "shared with the graph. Make a new one: y = np.zeros_like(x, shape=shape); "
            "y.flat[:x.size] = x.flat[:y.size]."
        )
    reshape_in_place(self, shape)


def setflags(self: Array, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
    """As `numpy.ndarray.setflags`: set whether the Array may be written into."""
    strided(self, "setflags").setflags(write=write, align=align, uic=uic)


def matmul_in_place(self: Array, other: Any) -> object:
    """self @= other."""
    result = self.copy() @ other  # the node saves what is overwritten here
    if not isinstance(result, Tensor):
        return result  # of a class that answered for itself
    if result.shape != self.shape:
        raise ValueError(f"x @= y: the product has shape {result.shape}, and x {self.shape}.")
    return self.copy_(result)


def delete(self: Array, index: object) -> NoReturn:
    """del x[index] is for lists."""
    raise ValueError("cannot delete array elements")


def _refused(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Array, *args: object, **kwargs: object) -> NoReturn:
        raise UnsupportedError(
            f"{name}: a Scalar is a number, which cannot be written into. Write into an array: np.reshape(x, 1), or "
            "np.zeros_like(x) and then [...] = x."
        )

    refuse.__name__, refuse.__doc__ = name, "Refused: a Scalar is a number, which cannot be written into."
    return refuse


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    """The methods of this kind, for Array or for Scalar."""
    alike = (sort, fill, put, resize, setflags)
    if kind is Scalar:
        return {function.__name__: _refused(function.__name__) for function in alike}
    found: dict[str, Callable[..., Any]] = {function.__name__: refused_as_numpy(function) for function in alike}
    product = refused_as_numpy(matmul_in_place, operator.imatmul)
    return found | {"partition": refused_as_numpy(partition), "__imatmul__": product, "__delitem__": delete}
