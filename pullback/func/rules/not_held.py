"""Objects that a step of a program gives and that are no arrays: no program hands them on to the user's code."""

from __future__ import annotations

from typing import Any

from pullback.core.array_type import REGISTERED
from pullback.core.errors import UntraceableError


def is_object(x: Any) -> bool:
    """True for what a step gives that is no array: it stands in an array of another type than ndarray."""
    return type(x) in REGISTERED and x.dtype.hasobject


class NotHeld:
    """In the place of an object that a library's function gives, which a program does not hold."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UntraceableError(
            f"{name!r} is asked of an object that a library's function has given, which is no array: no program holds "
            "it. Call that function outside of the compiled one."
        )
