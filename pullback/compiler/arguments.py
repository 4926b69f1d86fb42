"""Calls a function with the leaves of its arguments, and tells whether it has changed the containers around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.arrays.traced.graph import UntraceableError
from pullback.compiler.signature import frozen
from pullback.core.pytree import flatten, unflatten

CHANGED = "it changes a container among its arguments"


def call_with(function: Callable[..., Any], structure: Any, count: int, leaves: list[Any]) -> Any:
    """Call the function with arguments of this structure, the first so many leaves; the containers are others.

    Raises
    ------
    UntraceableError
        It has changed these containers.
    """
    if structure is None:
        return function(*leaves[:count])
    args, kwargs = unflatten(structure, leaves)
    result = function(*args, **kwargs)
    if is_changed((args, kwargs), structure, leaves[:count]):
        raise UntraceableError(CHANGED)
    return result


def is_changed(args: Any, structure: Any, leaves: Sequence[Any]) -> bool:
    """True if the arguments have other leaves now than these, or another structure."""
    now, form = flatten(args)
    return (
        len(now) != len(leaves)
        or any(x is not y for x, y in zip(now, leaves, strict=True))
        or frozen(form) != frozen(structure)
    )
