"""Gives Scalars what they have beside the methods of Arrays: those of Python's and NumPy's floating-point numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_face import Array
from pullback.core.array_type import read
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.late import caller
from pullback.interop.conversion import is_compared


def _whole(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A whole number or a truth value, which has no gradient by nature."""

    def method(self: Array) -> object:
        if self.dtype.kind == "c":
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'")
        if WATCHED:
            note_operator(name, self)
        return function(read(self, f"{name}()")[()])

    method.__name__, method.__doc__ = name, f"As `float.{name}`: it has no gradient."
    return method


def _rounded(self: Array, ndigits: int | None = None) -> object:
    """round(x): a whole number; round(x, ndigits): to so many digits, with slope zero."""
    return _WHOLE["__round__"](self) if ndigits is None or self.dtype.kind == "c" else np.round(self, ndigits)


def _exact(name: str) -> Callable[..., Any]:
    """A method that tells the number to the last bit: refused while it is being differentiated."""

    def method(self: Array) -> object:
        return getattr(read(self, name)[()] if is_compared(caller()) else float(self), name)()

    method.__name__, method.__doc__ = name, f"As `float.{name}`."
    return method


_WHOLE: dict[str, Callable[..., Any]] = {
    "__round__": _whole("round", round),
    "__trunc__": _whole("math.trunc", math.trunc),
    "__floor__": _whole("math.floor", math.floor),
    "__ceil__": _whole("math.ceil", math.ceil),
    "is_integer": _whole("is_integer", lambda x: x.is_integer()),
}


class ScalarError(AttributeError, TypeError):
    """A number has no such attribute, and no length, items or places."""


# What Python says where it has looked for the method, and what to write.
_WANTED = {
    "__index__": "cannot be interpreted as an integer. Write int(x) for a place or a count, which has no gradient",
    "__len__": "has no len()",
    "__contains__": "is not iterable",
    "__setitem__": "does not support item assignment: it is a number. Write b[i] = value in place of b[i][...] = value",
    "__delitem__": "doesn't support item deletion",
}


class _Absent:
    """Stands for what arrays have and numbers do not: code asks `hasattr(x, "__len__")` to tell them apart."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, kind: Any = None) -> Any:
        known = _WANTED.get(self.name, f"has no attribute '{self.name}'")
        raise ScalarError(f"'numpy.{getattr(x, '__class__', kind).__name__}' object {known}")


class _Index(_Absent):
    """`__index__`, which whole numbers alone have."""

    def __get__(self, x: Any, kind: Any = None) -> Any:
        if x is None or x.dtype.kind not in "iu":
            return super().__get__(x, kind)
        return lambda: int(read(x, "a place or a count (list[n], range(n), a[:n], np.zeros(n))"))


_OF_ARRAYS = (
    "__len__", "__contains__", "__setitem__", "__delitem__", "dot", "mT", "partition", "argpartition",
)  # fmt: skip
METHODS: dict[str, Any] = {
    **{name: _Absent(name) for name in _OF_ARRAYS},
    **_WHOLE,
    "__index__": _Index("__index__"),
    "__round__": _rounded,
    "as_integer_ratio": _exact("as_integer_ratio"),
    "hex": _exact("hex"),
    "fromhex": staticmethod(np.float64.fromhex),
}
