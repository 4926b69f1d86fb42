"""Arrays as numbers, lists, texts, bytes and pickles: no gradient is lost on the way without a word.

What can go on being differentiated does: `item` gives a Scalar and `tolist` a list of these, a copy is recorded. What
cannot is refused while a gradient would be lost, and is NumPy's own otherwise. Texts, for people, show values alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import GenericAlias, ModuleType
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, SCALAR_FACES, Array, Scalar
from pullback.core.array_type import numbers_of, read
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.errors import UnsupportedError
from pullback.core.late import caller
from pullback.core.numpy_types import Order
from pullback.core.printing import tensor_format, tensor_repr
from pullback.core.tensor import Tensor
from pullback.explain.call_site import called_in
from pullback.interop.array.functions import of_a_number
from pullback.interop.numpy_errors import refused_as_numpy
from pullback.interop.operands import needs_grad, ops
from pullback.interop.suggest import would_detach
from pullback.ops.methods import to_bool

_DETACHED = "For the values alone: x.detach().numpy() is the plain array, outside the graph."


def item(self: Array, *args: Any) -> object:
    """One element: a Scalar while it is being differentiated, else a Python number."""
    if not needs_grad(self):
        return read(self, "item()").item(*args)
    if len(args) == 1 and isinstance(args[0], tuple):
        args = args[0]
    if len(args) == 1:
        return _as_python(self.flat[args[0]])
    if args and len(args) != self.ndim:
        raise ValueError("incorrect number of indices for array")
    if not args and self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return _as_python(self[args or (0,) * self.ndim])


def _as_python(x: Array) -> Array:
    """A Scalar in the precision of Python's numbers, which `item` gives."""
    return x if x.dtype.char in "dD" else x.astype(complex if x.dtype.kind == "c" else float)


def tolist(self: Array) -> object:
    """Nested lists of what `item` gives."""
    if not needs_grad(self):
        return read(self, "tolist()").tolist()
    return [part.tolist() for part in self] if self.ndim else self.item()


def _bytes_refused(self: Array, what: str) -> np.ndarray[Any, Any]:
    if needs_grad(self):
        raise would_detach(f"make {what} of an Array that is being differentiated", _DETACHED)
    return read(self, what)


def tobytes(self: Array, order: Order = "C") -> bytes:
    """As `numpy.ndarray.tobytes`: the bytes of the numbers, if none is being differentiated."""
    return bytes(_bytes_refused(self, "bytes").tobytes(order))


def tofile(self: Array, fid: Any, sep: str = "", format: str = "%s") -> None:
    """As `numpy.ndarray.tofile`: write the numbers to a file, if none is being differentiated."""
    _bytes_refused(self, "a file").tofile(fid, sep, format)


def _reduce(self: Array) -> str | tuple[Any, ...]:
    return _bytes_refused(self, "a pickle")[()].__reduce__()


def _reduce_ex(self: Array, protocol: object) -> str | tuple[Any, ...]:
    return self.__reduce__()


def dumps(self: Array) -> bytes:
    """As `numpy.ndarray.dumps`: a pickle of the numbers, if none is being differentiated."""
    return pickle.dumps(self)


def dump(self: Array, file: Any) -> None:
    """As `numpy.ndarray.dump`: write a pickle of the numbers to a file, if none is being differentiated."""
    if hasattr(file, "write"):
        pickle.dump(self, file)
        return
    with open(file, "wb") as opened:  # noqa: PTH123 - pathlib takes long to import
        pickle.dump(self, opened)


def _copy(self: Array) -> Array:
    return ops.clone(self)


def _deepcopy(self: Array, memo: dict[int, Any]) -> Array:
    made: Array = self.__copy__()
    memo[id(self)] = made
    return made


def view(self: Array, dtype: Any = None, type: Any = None) -> object:
    """The same memory, seen again; as complex numbers for pairs of real ones, or these for those."""
    kind = dtype if type is None else type
    if any(kind is same for same in _AS_IT_IS):
        return ops.alias(self)
    if isinstance(kind, _TYPE) and issubclass(kind, np.ndarray):
        raise would_detach(f"see an Array that is being differentiated as {kind.__name__}", _DETACHED)
    if np.dtype(dtype) == self.dtype:
        return ops.alias(self)
    dtype = np.dtype(dtype)
    if self.ndim and (self.dtype.char, dtype.char) in (("D", "d"), ("F", "f")):
        parts = ops.view_as_real(self)
        return _merged(parts, (*self.shape[:-1], 2 * self.shape[-1]))
    if self.ndim and (self.dtype.char, dtype.char) in (("d", "D"), ("f", "F")) and self.shape[-1] % 2 == 0:
        return ops.view_as_complex(_merged(self, (*self.shape[:-1], self.shape[-1] // 2, 2)))
    if needs_grad(self):
        raise would_detach(
            f"read the bytes of an Array of dtype {self.dtype} that is being differentiated as {dtype}",
            f"To convert the numbers write x.astype(dtype). {_DETACHED}",
        )
    seen = read(self, "view()").view(dtype)
    seen.flags.writeable = False  # what is written there the Array would not notice
    return seen[()]


_TYPE = type
_AS_IT_IS = (None, np.ndarray, *ARRAYS)


def _merged(x: Array, shape: tuple[int, ...]) -> Array:
    if not ops.is_contiguous(x):
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    return ops.view(x, shape)


# -- for people -----------------------------------------------------------------------------------------------------
def text(self: Array) -> str:
    """str(x): NumPy's."""
    numbers = numbers_of(self)
    return tensor_repr(self) if numbers is None else str(numbers[()] if type(self) in SCALAR_FACES else numbers)


def representation(self: Array) -> str:
    """Array([1., 2.]), Scalar(3.0): the values, with NumPy's precision and the class that it is of."""
    numbers = numbers_of(self)
    if numbers is None:
        return tensor_repr(self)
    if type(self) in SCALAR_FACES:
        return f"Scalar({numbers[()]!s})"
    return "Array" + np.array_repr(numbers).removeprefix("array").replace("\n ", "\n ")


def formatted(self: Array, spec: str) -> str:
    """format(x, spec): that of the number without dimensions, NumPy's error for a spec with some."""
    numbers = numbers_of(self)
    return tensor_format(self, spec) if numbers is None else format(numbers[()], spec)


_general_truth: Any = to_bool


# -- for Python -----------------------------------------------------------------------------------------------------
def truth(self: Array) -> bool:
    """bool(x): NumPy's, with its errors."""
    numbers = numbers_of(self)
    return _general_truth(self) if numbers is None else bool(numbers)


def whole_number(self: Array) -> int:
    """int(x): cut off at the point. A whole number has no gradient by nature, as `x > 0` has none."""
    if self._array.ndim or self._array.dtype.kind == "c":
        return Tensor.__int__(self)
    if WATCHED:
        note_operator("int", self)
    return int(read(self, "int()")[()])


def length(self: Array) -> int:
    """len(x)."""
    ndim = self._array.ndim
    if ndim != 1:
        if not ndim:
            raise TypeError("len() of unsized object")
        if called_in(caller()) == "shuffle":  # it asks for the length first, of what is no ndarray
            raise UnsupportedError(
                "shuffle() swaps the rows of an Array by way of views, which loses some of them. Write "
                "x = x[rng.permutation(len(x))], or x[:] = x[rng.permutation(len(x))] for the same memory."
            )
    return int(self._array.shape[0])


def contains(self: Array, value: object) -> bool:
    """True if any element equals `value`."""
    return bool(np.any(self == value))


def _hash(self: Array) -> int:
    """By value where it is a constant. Two that are equal may have different gradients: no table may mix them up."""
    if needs_grad(self):
        raise TypeError(
            "unhashable: a dict or set would confuse this number, which is being differentiated, with any other of the "
            "same value. Use its plain value as the key: x.detach().item()."
        )
    return hash(read(self, "hash()")[()])


def _namespace(self: Array, *, api_version: Any = None) -> ModuleType:
    return np.empty(0).__array_namespace__(api_version=api_version)


def methods(kind: type) -> dict[str, Any]:
    """The methods of this kind, for Array or for Scalar."""
    found: dict[str, Any] = {
        "item": refused_as_numpy(item), "tolist": tolist, "tobytes": tobytes, "__bytes__": tobytes, "tofile": tofile,
        "dumps": dumps,
        "dump": dump, "view": refused_as_numpy(view), "__reduce__": _reduce, "__reduce_ex__": _reduce_ex,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__str__": text, "__repr__": representation, "__format__": formatted, "__bool__": truth,
        "__int__": whole_number, "__len__": length,
        "__contains__": contains, "__array_namespace__": _namespace, "__hash__": None,
        "__class_getitem__": classmethod(GenericAlias),
    }  # fmt: skip
    if kind is Scalar:
        number: dict[str, Callable[..., Any]] = {name: of_a_number(found[name]) for name in ("__copy__", "view")}
        found |= number | {"__hash__": _hash, "__iter__": None}  # not absent: Python would go by __getitem__
    return found
