"""States of a loop that are kept for backward, in memory or on disk."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from pullback.core.scratch import Scratch, Stored
from pullback.core.tensor import ndarray
from pullback.func.loops.rounds import Segment


class States:
    """States of a loop by slot; those on disk are gone when this is, or the process."""

    def __init__(self, on_disk: AbstractSet[int] = frozenset(), directory: Any = None) -> None:
        self.on_disk = on_disk
        self.scratch = Scratch(directory)
        self.held: dict[int, Any] = {}
        self.positions: list[int] = [0]  # of which step each is the beginning, by slot

    def keep(self, slot: int, position: int, leaves: list[Any]) -> None:
        """Keep a copy of a state in a slot."""
        self.positions.append(position)
        if slot in self.on_disk:
            self.held[slot] = [self.scratch.write(x) if type(x) is ndarray else x for x in leaves]
        else:
            self.held[slot] = copied(leaves)

    def keep_rows(self, position: int, count: int, segment: Segment) -> None:
        """Keep so many states, in as many slots, that lie one after the other in memory."""
        self.held |= {len(self.positions) + row: (segment, row) for row in range(count)}
        self.positions += range(position, position + count)

    def drop_rows(self, slot: int, count: int) -> None:
        """Let go of so many states from a slot on, backwards."""
        for at in range(slot, slot - count, -1):
            self.drop(at)

    def row(self, slot: int) -> tuple[Segment, int] | None:
        """Where the state in a slot lies, if it is in memory with those before it."""
        found = self.held.get(slot)
        return found if type(found) is tuple else None

    def read(self, slot: int) -> list[Any]:
        """The state in a slot."""
        if (found := self.row(slot)) is not None:
            return found[0].at(found[1])
        return [x.read() if type(x) is Stored else x for x in self.held[slot]]

    def drop(self, slot: int) -> None:
        """Let go of the state in a slot, that of the last position."""
        self.positions.pop()
        del self.held[slot]


def copied(leaves: list[Any]) -> list[Any]:
    """A state in memory of its own, which a step may use again for the next one."""
    return [x.copy() if type(x) is ndarray else x for x in leaves]
