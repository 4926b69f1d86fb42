"""Conversions from Tensor to plain arrays and numbers: they never lose a gradient silently."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from opcode import _nb_ops, opmap  # type: ignore[attr-defined]  # the operators that BINARY_OP numbers
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from pullback.core import slots
from pullback.core.array_face import ARRAYS
from pullback.core.array_type import AS_NDARRAY, array_type, innermost
from pullback.core.cuts import WATCHED, note
from pullback.core.errors import DetachingError, OperatorError, UnsupportedError, type_name, with_article
from pullback.core.factory import from_numpy
from pullback.core.late import caller
from pullback.core.named import named
from pullback.core.numpy_types import DTypeLike
from pullback.core.tensor import Tensor, ndarray, only_number
from pullback.explain.call_site import call_site
from pullback.graph.lent import lend
from pullback.interop.adopt.state import to_record_writes
from pullback.interop.awaited import refuse_if_awaited
from pullback.interop.operands import CANT_CALL_NUMPY, is_hidden, needs_grad
from pullback.interop.suggest import remedy, would_detach

_STORES = frozenset(opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR") if name in opmap)
_REMAINDERS = frozenset(i for i, (_, sign) in enumerate(_nb_ops) if sign in ("%", "%="))
_STORED = "writing it into a plain ndarray"


def plain_array(self: Tensor, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """`__array__`: the values, for NumPy and plotting libraries; refused where a gradient would be lost.

    Without a copy it is read-only: a library that solves in the memory of its argument would change the tensor behind
    the back of its version. `numpy()` gives an array that can be written into.
    """
    if needs_grad(self):
        refuse_if_awaited(frame := caller())
        if _is_store(frame):
            raise would_store(self)
        raise would_detach(f"make a plain ndarray of a Tensor that {_carries(self)}", phrase=CANT_CALL_NUMPY)
    if is_hidden(self):
        stored = _is_store(caller())
        array_type(inside := innermost(self)).read(inside, _STORED if stored else AS_NDARRAY)
    data = self.numpy()
    if not issubclass(type(data), ndarray):
        raise UnsupportedError(
            f"a Tensor around {with_article(data)} has no values yet, so it cannot become an ndarray."
        )
    array = np.array(data, dtype=dtype, copy=copy)
    if array is data:
        if type(self) in ARRAYS and self._level and data.dtype.kind in "fc":
            return lend(self, data)
        array = data.view()
        array.flags.writeable = False
    return array


def _number(kind: type) -> Callable[..., Any]:
    def convert(self: Tensor) -> Any:
        if self._array.size != 1:
            raise _not_one(self, kind)
        if is_hidden(self):
            stored = _is_store(caller())
            array_type(inside := innermost(self)).read(inside, _STORED if stored else f"{kind.__name__}()")
        if needs_grad(self):
            if _is_text(frame := caller()) or is_compared(frame):
                return kind(only_number(self, "format()"))
            refuse_if_awaited(frame)
            _say_that_gradient_is_lost(self, kind.__name__, frame)
        if WATCHED:
            note(f"{kind.__name__}()", self)
        return kind(Tensor.item(self))

    convert.__name__ = f"to_{kind.__name__}"
    return convert


def _not_one(tensor: Tensor, kind: type) -> Exception:
    if type(tensor) in ARRAYS:
        return TypeError("only 0-dimensional arrays can be converted to Python scalars")  # as NumPy has it
    call = call_site()
    said = (
        f"only one element tensors can be converted to Python scalars: a Python {kind.__name__} cannot stand for shape "
        f"{tensor.shape}."
    )
    if call.name in ("", kind.__name__):
        return OperatorError(said)
    return OperatorError(f"{call.name}: {said}{call.where()}{remedy(call.library, call.name)}")


def _say_that_gradient_is_lost(tensor: Tensor, kind: str, frame: FrameType) -> None:
    """Raise where the number goes into an array or out of a function being differentiated, else warn.

    `ndarray[i] = t` asks for a number by `__float__`, like `float(t)`: the caller's instruction tells them apart.
    """
    if _is_store(frame):
        raise would_store(tensor)
    if tensor._level:
        raise would_detach(f"make a Python {kind} of a value that is being differentiated")
    call = call_site()
    instead = remedy(call.library, call.name)
    meant = "" if ".item()" in instead else " For the bare number write t.detach().item()."
    warnings.warn(
        f"{call.name or kind} takes a Tensor that {_carries(tensor)} out of the graph, as a Python {kind}. {instead}"
        f"{meant}",
        stacklevel=call.depth + 1,
    )


def _is_store(frame: FrameType) -> bool:
    """True if the instruction of this frame is `array[index] = value`, or `array.real = value`."""
    return frame.f_code.co_code[frame.f_lasti] in _STORES


def _is_text(frame: FrameType) -> bool:
    """True if the instruction of this frame is `"%.3f" % value`: a text has no gradient to lose, as with `format`.

    Only a text asks for a number there. A number or an array at the left of `%` asks the Tensor to compute.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == opmap["BINARY_OP"] and code[at + 1] in _REMAINDERS


def is_compared(frame: FrameType) -> bool:
    """True if this frame is that of a Fraction which compares itself with the number: a truth value has no gradient."""
    if frame.f_code.co_name == "from_float":  # by which it makes a Fraction of the number
        frame = frame.f_back or frame
    return frame.f_code.co_name in ("__eq__", "_richcmp") and frame.f_globals.get("__name__") == "fractions"


def would_store(tensor: Any) -> DetachingError:
    """The error for a write of this tensor into a plain array."""
    return would_detach(
        f"write a Tensor that {_carries(tensor)} into a plain array", to_record_writes(tensor._level > 0)
    )


def _carries(tensor: object) -> str:
    """The clause, after "that", that says what would be lost with a tensor."""
    while isinstance(tensor, Tensor):
        if tensor._requires_grad:
            return "requires grad"
        tensor = tensor._array
    return "has a tangent"


@named("Tensor.to_device")
def to_device(self: Tensor, device: Any, /, *, stream: object = None) -> Tensor:
    """The array itself: there is one device, "cpu" (of the array API standard).

    Parameters
    ----------
    device : 'cpu'
    stream : None

    Returns
    -------
    Tensor
        `self`.

    Raises
    ------
    ValueError
        The device is another one, or a stream is given.

    Examples
    --------
    >>> x = pb.ones(2)
    >>> x.to_device('cpu') is x
    True
    """
    np.empty(0).to_device(device, stream=stream)  # which refuses any other
    return self


def dlpack(
    self: Tensor,
    *,
    stream: object = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> object:
    """`__dlpack__`: the memory, shared with another library.

    Raises
    ------
    DetachingError
        The tensor requires grad.
    BufferError
        A stride is negative: PyTorch ends the whole process there, for an ndarray too.
    """
    if needs_grad(self):
        raise DetachingError(
            "a Tensor that requires grad was about to be handed to another library, where its gradient would be lost; "
            "write library.from_dlpack(t.detach())."
        )
    data = self.numpy()
    if not copy and min(data.strides, default=0) < 0 and data.size:
        raise BufferError(
            f"__dlpack__: a Tensor with negative strides ({tuple(self.stride())} elements) cannot be shared, because "
            "libraries do not take them; write library.from_dlpack(t.contiguous())."
        )
    return (lend(self, data) if type(self) in ARRAYS and self._level else data).__dlpack__(
        stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
    )


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """`__dlpack_device__`: (kind of device, number)."""
    return self.numpy(force=True).__dlpack_device__()


@named("from_dlpack")
def from_dlpack(x: Any, *, copy: bool | None = None) -> Tensor:
    """A Tensor that shares memory with another library's array.

    Parameters
    ----------
    x : object with `__dlpack__` and `__dlpack_device__`, on the CPU
    copy : bool, optional
        True always copies; False raises a BufferError or ValueError where a copy would be needed.

    Returns
    -------
    Tensor
        Outside any graph.

    Raises
    ------
    TypeError
        `x` has no `__dlpack__`.
    RuntimeError
        `x` is a Tensor that requires grad, or its dtype is none of pullback's.
    BufferError, ValueError
        A copy would be needed, and `copy` is False.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> pb.from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.])
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"from_dlpack: x must be an array with __dlpack__, got {type_name(x)}. To make a Tensor of numbers, write "
            "pullback.tensor(data)."
        )
    if isinstance(x, Tensor) and needs_grad(x):
        dlpack(x)
    return from_numpy(np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy))


def array_namespace(self: Tensor, *, api_version: str | None = None) -> ModuleType:
    """`Tensor.__array_namespace__`: the functions of the array API standard, for Tensors."""
    if api_version is not None and type(api_version) is not str:
        raise TypeError(f"__array_namespace__: api_version must be a str, got {with_article(api_version)}.")
    if api_version not in (None, *_STANDARDS):
        raise ValueError(f"__array_namespace__: api_version must be one of {_STANDARDS}, got {api_version!r}.")
    return slots.public_module("array_api")


_STANDARDS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
to_float, to_int, to_complex = _number(float), _number(int), _number(complex)
