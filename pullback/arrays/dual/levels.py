"""Forward levels: each has an infinitesimal of its own, so that the tangents of one never mix with those of another."""

from __future__ import annotations

import itertools

_next_number = itertools.count(1).__next__


class ForwardLevel:
    """One infinitesimal: that of a `dual_level` block, or of one call of `func.jvp`.

    A level that was entered later has a higher number, and operators run at the highest number among their arguments.
    Once it is closed, its tangents are gone for whoever computes on; `lasting` is the same level for a backward through
    what was computed before, which still needs them.
    """

    __slots__ = ("_lasting", "number", "open")

    def __init__(self) -> None:
        self.number = _next_number()
        self.open = True
        self._lasting: ForwardLevel | None = None

    @property
    def lasting(self) -> ForwardLevel:
        """The same infinitesimal, never closed."""
        if self._lasting is None:
            self._lasting = _LastingLevel(self.number)
        return self._lasting

    def __repr__(self) -> str:
        return f"ForwardLevel({self.number}, {'open' if self.open else 'closed'})"


class _LastingLevel(ForwardLevel):
    """The infinitesimal of another level, never closed."""

    __slots__ = ()

    def __init__(self, number: int) -> None:
        self.number = number
        self.open = True

    @property
    def lasting(self) -> ForwardLevel:
        return self
