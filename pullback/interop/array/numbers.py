"""What Scalars have beside the methods of Arrays: those of Python's and NumPy's floating-point numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_type import read
from pullback.core.cuts import WATCHED, note_operator


def _whole(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A whole number or a truth value, which has no gradient by nature."""

    def method(self: Any) -> Any:
        if WATCHED:
            note_operator(name, self)
        return function(read(self, f"{name}()")[()])

    method.__doc__ = f"{name}(x), which has no gradient."
    return method


def _rounded(self: Any, ndigits: Any = None) -> Any:
    """round(x): a whole number; round(x, ndigits): to so many digits, with slope zero."""
    return _WHOLE["__round__"](self) if ndigits is None else np.round(self, ndigits)


def _exact(name: str) -> Callable[..., Any]:
    """What tells the number to the last bit: refused while it is being differentiated."""

    def method(self: Any) -> Any:
        return getattr(float(self), name)()

    method.__doc__ = f"As `float.{name}`."
    return method


_WHOLE: dict[str, Callable[..., Any]] = {
    "__round__": _whole("round", round),
    "__trunc__": _whole("math.trunc", math.trunc),
    "__floor__": _whole("math.floor", math.floor),
    "__ceil__": _whole("math.ceil", math.ceil),
    "is_integer": _whole("is_integer", lambda x: x.is_integer()),
}
METHODS: dict[str, Any] = {
    **_WHOLE,
    "__round__": _rounded,
    "as_integer_ratio": _exact("as_integer_ratio"),
    "hex": _exact("hex"),
    "fromhex": staticmethod(np.float64.fromhex),
}
