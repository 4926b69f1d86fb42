"""Values: when one is as good as another, and how a message shows them."""

from __future__ import annotations

import math
from types import MethodType
from typing import Any

import numpy as np

from pullback.core import slots
from pullback.core.array_type import NUMBERS
from pullback.core.errors import with_article
from pullback.graph.held_records import NOTHING

_LONGEST = 60  # characters of a value that a message has room for


def differs(now: Any, was: Any) -> bool:
    """True if one is not as good as the other: the same object, or a value that is equal in every bit but of a nan."""
    if now is was:
        return False
    kind = type(was)
    if type(now) is not kind:
        return slots.genuine(now) is not slots.genuine(was)  # `adopt()`, since then, does not count
    if kind is float:
        same = now == was and math.copysign(1, now) == math.copysign(1, was)
        return not (same or (math.isnan(now) and math.isnan(was)))
    if kind is complex:
        return differs(now.real, was.real) or differs(now.imag, was.imag)
    if kind in NUMBERS or kind in (str, bytes, range):
        return bool(now != was)
    if issubclass(kind, np.generic):
        return bool(now.dtype != was.dtype or now.tobytes() != was.tobytes())
    if kind is tuple or kind is frozenset:
        return len(now) != len(was) or any(map(differs, now, was))
    if kind is slice:
        return any(map(differs, (now.start, now.stop, now.step), (was.start, was.stop, was.step)))
    if kind is MethodType:
        return now.__func__ is not was.__func__ or now.__self__ is not was.__self__
    if issubclass(kind, np.dtype):
        return bool(now != was)
    return slots.genuine(now) is not slots.genuine(was)


def shown(x: Any) -> str:
    """A value, for a message; of anything else its kind."""
    kind = type(x)
    if kind in NUMBERS or kind in (str, bytes, type(None), tuple) or issubclass(kind, np.generic):
        text = repr(x) if kind is not tuple else f"({', '.join(map(shown, x))})"
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return with_article(x)


def difference(place: str, now: Any, was: Any) -> str:
    """The change at a place, for a message."""
    if now is NOTHING:
        return f"{place} is gone, and was {shown(was)}"
    if was is NOTHING:
        return f"{place} is {shown(now)} now, and was not there"
    there, before = shown(now), shown(was)
    return (
        f"{place} is another {type(was).__name__} now"
        if there == before
        else f"{place} is {there} now, and was {before}"
    )
