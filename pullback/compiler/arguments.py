"""Calls a function with the leaves of its arguments, and tells whether it has changed the containers around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from pullback.compiler.signature import frozen, signature_of
from pullback.core.errors import UntraceableError
from pullback.core.pytree import flatten, unflatten

CHANGED = "it changes a container among its arguments"


class Call:
    """A function, to be called with arguments of this structure, the first so many leaves; the containers are others.

    Raises
    ------
    UntraceableError
        It has changed these containers.
    """

    def __init__(self, function: Callable[..., Any], structure: Any, count: int) -> None:
        self._function, self._structure, self._count = function, structure, count

    def __call__(self, leaves: list[Any]) -> Any:
        return self.timed(leaves)[0]

    def timed(self, leaves: Sequence[Any]) -> tuple[Any, float]:
        """(the result, the seconds that the function has taken)."""
        structure, own = self._structure, [*leaves[: self._count]]
        args, kwargs = (own, {}) if structure is None else unflatten(structure, own)
        begin = perf_counter()
        result = self._function(*args, **kwargs)
        took = perf_counter() - begin
        if self.has_changed((args, kwargs), own):
            raise UntraceableError(CHANGED)
        return result, took

    def has_changed(self, args: Any, leaves: Sequence[Any]) -> bool:
        """True if the arguments have other leaves now than these, or another structure."""
        if self._structure is None:
            return False
        now, form = flatten(args)
        return (
            len(now) != self._count
            or any(x is not y for x, y in zip(now, leaves, strict=False))
            or frozen(form) != frozen(self._structure)
        )

    def seconds_to_take_in(self, leaves: Sequence[Any]) -> float:
        """How long it takes to tell of what kind the arguments of a call are."""
        structure, own = self._structure, [*leaves[: self._count]]
        args, kwargs = (own, {}) if structure is None else unflatten(structure, own)
        begin = perf_counter()
        signature_of(args, kwargs)
        return perf_counter() - begin
