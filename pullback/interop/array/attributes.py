"""The attributes of Arrays, as those of ndarrays: views that record, and what is known of the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from pullback.arrays.numpy.overlap import refuse_overlap
from pullback.core.array_face import Array, Scalar, as_array
from pullback.core.array_type import layout_of
from pullback.core.errors import UnsupportedError, with_article
from pullback.core.numpy_types import AnyArray, ArrayLike, ShapeLike
from pullback.core.tensor import Tensor, strided
from pullback.graph.inplace_views import become_view
from pullback.graph.journal import note_shape
from pullback.interop.array.flat import Flat
from pullback.interop.array.functions import of_a_number, reverse
from pullback.interop.conversion import plain_array
from pullback.interop.numpy_errors import refused_as_numpy
from pullback.interop.operands import array, ops


def _size(self: Array) -> int:
    return int(self._array.size)


def _base(self: Array) -> Array | None:
    extra = self._extra
    return None if extra is None or extra.base is None else as_array(extra.base)


def _strides(self: Array) -> tuple[int, ...]:
    return strided(self, "strides").strides


def _real(self: Array) -> Array:
    return ops.real(self) if self._array.dtype.kind == "c" else self


def _imag(self: Array) -> AnyArray:
    if self._array.dtype.kind == "c":
        return ops.imag(self)
    zeros = np.zeros(self.shape, self.dtype)
    zeros.flags.writeable = False
    return zeros


def _number_imag(self: Array) -> Array | np.generic:
    return ops.imag(self) if self._array.dtype.kind == "c" else self._array.dtype.type(0)


def _write_real(self: Array, value: ArrayLike) -> None:
    _real(self)[...] = value


def _write_imag(self: Array, value: ArrayLike) -> None:
    if self._array.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    _imag(self)[...] = value


def _matrix_transpose(self: Array) -> Array:
    if self.ndim < 2:
        raise ValueError(f"matrix transpose with ndim < 2 is undefined: the shape is {self.shape}.")
    return ops.transpose(self, -2, -1)


def _flat(self: Array) -> Flat:
    return Flat(self)


def _write_flat(self: Array, values: ArrayLike) -> None:
    values = array(values)
    refuse_overlap("x.flat = y", lambda x, y: setattr(x, "flat", y), layout_of(self), layout_of(values))
    Flat(self)[...] = np.copy(values)


def _shape(self: Array) -> tuple[int, ...]:
    return self._array.shape


def reshape_in_place(self: Array, shape: ShapeLike) -> None:
    """x.shape = shape: the Array itself becomes a view of its memory in that shape."""
    memory = layout_of(self)
    if memory is not None:
        seen = memory.view()
        seen.shape = shape  # NumPy's errors
        shape = seen.shape
    note_shape(self)
    become_view(self, "shape", ops.reshape, shape)


def _data(self: Array) -> memoryview:
    return plain_array(self).data  # which refuses where a gradient would be lost, and cannot be written into


def _refused(name: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(self: Array, *args: object, **kwargs: object) -> NoReturn:
        raise UnsupportedError(f"{name}: {with_article(self)} cannot do this, because {instead}")

    refuse.__name__, refuse.__doc__ = name, f"Refused, because {instead}"
    return refuse


def _no_memory(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Array) -> NoReturn:
        raise AttributeError(
            f"{name}: an Array does not hand out its memory, because a write there would go unnoticed; "
            "x.detach().numpy() is the plain array, outside the graph.",
            name=name,
        )

    return refuse


_BYTES = "its bytes have no derivative; x.detach().numpy() is the plain array, outside the graph."
_ASTYPE = "the graph has recorded its dtype; write x = x.astype(dtype)."
_STRIDES = "the graph has recorded its elements; take a view, by slices or numpy.lib.stride_tricks."
_POINTER = (
    "a write by C code would go unnoticed; x.detach().numpy().ctypes is that of the plain array, outside the graph."
)


def _property(name: str, get: Callable[..., object], write: Callable[..., None] | None = None) -> property:
    if write is not None:
        write = refused_as_numpy(write, lambda x, value: setattr(x, name, value))
    return property(get, write, doc=f"As `numpy.ndarray.{name}`.")


def attributes(kind: type) -> dict[str, Any]:
    """The attributes and the methods that are refused, for Array or for Scalar."""
    found = {
        "T": _property("T", reverse),
        "mT": _property("mT", _matrix_transpose),
        "real": _property("real", _real, _write_real),
        "imag": _property("imag", _imag, _write_imag),
        "flat": _property("flat", _flat, _write_flat),
        "shape": _property("shape", _shape, reshape_in_place),
        "size": _property("size", _size),
        "base": _property("base", _base),
        "flags": _property("flags", Tensor.flags.fget),  # type: ignore[attr-defined]
        "strides": _property("strides", _strides, _refused("strides", _STRIDES)),
        "dtype": _property("dtype", Tensor.dtype.fget, _refused("dtype", _ASTYPE)),  # type: ignore[attr-defined]
        "data": _property("data", _data),
        "ctypes": _property("ctypes", _refused("ctypes", _POINTER)),
        "__array_interface__": _property("__array_interface__", _no_memory("__array_interface__")),
        "__array_struct__": _property("__array_struct__", _no_memory("__array_struct__")),
        "byteswap": _refused("byteswap", _BYTES),
        "getfield": _refused("getfield", _BYTES),
        "setfield": _refused("setfield", _BYTES),
    }
    if kind is Scalar:
        for name, get in ("T", reverse), ("real", _real), ("imag", _number_imag):
            found[name] = _property(name, of_a_number(get))
        plain = np.float64(0)
        found["flags"] = _property("flags", lambda self: plain.flags)
        found["base"] = _property("base", lambda self: None)
        found["strides"] = _property("strides", lambda self: ())
        found["shape"] = _property("shape", _shape)
    return found
