"""The numbers of forward levels: a function that runs again, as in a checkpoint, enters levels of the same numbers.

What the first run has recorded belongs to its levels. Tangents of other ones, which the second run would make, would
be constants beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_fresh = itertools.count(1).__next__
_next: ContextVar[Callable[[], int]] = ContextVar("pullback_next_level_number", default=_fresh)


def next_number() -> int:
    """The number of a level that is being entered."""
    return _next.get()()


@contextmanager
def noted(numbers: list[int]) -> Iterator[None]:
    """Add to `numbers` those of the levels that are entered inside."""
    number = _next.get()

    def note() -> int:
        numbers.append(number())
        return numbers[-1]

    yield from _numbered_by(note)


@contextmanager
def again(numbers: list[int]) -> Iterator[None]:
    """Give the levels that are entered inside these numbers, in their order."""
    known = iter(tuple(numbers))
    yield from _numbered_by(lambda: next(known, None) or _fresh())


def _numbered_by(number: Callable[[], int]) -> Iterator[None]:
    before = _next.set(number)
    try:
        yield
    finally:
        _next.reset(before)
