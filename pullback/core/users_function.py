"""Where the function stands that the user gave to a transform, for errors, once the transform is over.

What outlives the call must not hold the function: values that the function has put into its closure know their call,
so that each would keep the other, until the garbage collector comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any

_NONE: Mapping[str, Any] = {}


def code_of(function: Any) -> CodeType | None:
    """The code of a function, or of what it wraps or is called by; None of pullback's own, and if there is none."""
    while "__wrapped__" in (attributes := getattr(function, "__dict__", _NONE)):
        function = attributes["__wrapped__"]
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return None if type(code) is not CodeType or str(function.__module__).startswith("pullback.") else code


def place_of(code: CodeType | None) -> str:
    """The place of that code, as a part of a sentence; "" of None."""
    return "" if code is None else f' in File "{code.co_filename}", line {code.co_firstlineno}'
