"""Rules that run users' functions on arrays that record: where these would lose a gradient, `adopt()` is in force."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar

from pullback.core import slots
from pullback.core.errors import DetachingError, InplaceError, explained, refusals
from pullback.graph.captured import every_array_records

Function = TypeVar("Function", bound=Callable[..., Any])


def adopting(rule: Function) -> Function:
    """Decorate a rule. Where a user's function would lose a gradient it begins again, with `adopt()` for that time.

    And arrays that they hold record what is written into them. Functions that need nothing of the kind pay nothing.
    """

    @wraps(rule)
    def called(*args: Any, **kwargs: Any) -> Any:
        refused = refusals.last
        try:
            return rule(*args, **kwargs)
        except Exception as error:
            told = explained(error, refused)  # NumPy words some of these by itself
            if not isinstance(told, (DetachingError, InplaceError)) or every_array_records.get():
                raise
            meanwhile = slots.adopt_meanwhile() or nullcontext()
        token = every_array_records.set(True)
        try:
            with meanwhile:
                return rule(*args, **kwargs)
        finally:
            every_array_records.reset(token)

    return called  # type: ignore[return-value]
