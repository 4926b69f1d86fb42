"""Rules that run users' functions on arrays that record: where these would lose a gradient, `adopt()` is in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, TypeVar

from pullback.core import slots
from pullback.core.errors import DetachingError, InplaceError, explained, refusals
from pullback.graph.captured import every_array_records

Function = TypeVar("Function", bound=Callable[..., Any])


def adopting(rule: Function) -> Function:
    """Decorate a rule. Where a user's function would lose a gradient it begins again, with `adopt()` for that time.

    And arrays that they hold record what is written into them. Functions that need nothing of the kind pay nothing.
    To find all namespaces takes long, so those come first that the functions are known to read.
    """

    @wraps(rule)
    def called(*args: Any, **kwargs: Any) -> Any:
        known = None
        for adopts in (False, True, True):
            refused = refusals.last
            try:
                if not adopts:
                    return rule(*args, **kwargs)
                with _recording(slots.adopt_meanwhile(known)):
                    return rule(*args, **kwargs)
            except Exception as error:
                told = explained(error, refused)  # NumPy words some of these by itself
                if not isinstance(told, (DetachingError, InplaceError)) or every_array_records.get():
                    raise
                if adopts and known is None:
                    raise
                known = None if adopts else _namespaces(args)
        raise AssertionError("the last of these returns, or raises")

    return called  # type: ignore[return-value]


@contextmanager
def _recording(adopted: Any) -> Iterator[None]:
    token = every_array_records.set(True)
    try:
        with adopted or nullcontext():
            yield
    finally:
        every_array_records.reset(token)


def _namespaces(args: Sequence[Any]) -> list[dict[str, Any]] | None:
    """The namespaces that the functions of a rule's argument are known to read; None if none are."""
    found = [space for x in args if (captured := getattr(x, "captured", None)) for space in captured.namespaces()]
    return found or None
