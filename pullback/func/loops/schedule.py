"""When a loop that is reversed keeps which of its states: binomial checkpointing, the fewest steps for given memory.

A. Griewank and A. Walther, Algorithm 799: revolve, ACM TOMS 26(1), 2000, 19-45. States on disk are the ones least
often written and read: P. Stumm and A. Walther, MultiStage approaches for optimal offline checkpointing, SIAM J. Sci.
Comput. 31(3), 2009, 1946-1967.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

Action = tuple[str, int, int]  # what to do, at which step, and up to which one or in which slot


def repetitions(count: int, slots: int) -> int:
    """How often a step is advanced over at most, where `count` steps are reversed with `slots` states."""
    if slots == 1:
        return count - 1
    times = 0
    while comb(slots + times, slots) < count:
        times += 1
    return times


def advances(count: int, slots: int) -> int:
    """How many steps are computed to reverse `count` of them, without those that are recorded; no way takes fewer."""
    times = repetitions(count, slots)
    return times * count - comb(slots + times, slots + 1)


def slots_for_two(count: int) -> int:
    """The fewest states with which no step is advanced over more than twice, about sqrt(2 count)."""
    slots = 1
    while comb(slots + 2, 2) < count:
        slots += 1
    return slots


def reversal(count: int, slots: int, kept: list[int] | None = None) -> Iterator[Action]:
    """Yield what to do to reverse steps 0 to count - 1, of which step k leads from state k to state k + 1.

    ("read", k, slot): take state k, the one kept last. ("advance", k, m): compute state m from state k. ("keep", k,
    slot): keep state k, in this slot. ("reverse", k, k + 1): record step k from state k, and pull back through it.
    ("drop", k, slot): let go of state k. State 0 is in slot 0 from the beginning to the end; other states that are
    `kept` already, ascending, come from the beginning of such a schedule.
    """
    held, end = kept or [0], count
    while end > 0:
        at = held[-1]
        yield "read", at, len(held) - 1
        while end - at > 1 and len(held) < slots:
            to = at + _first_part(end - at, slots - len(held) + 1)
            yield "advance", at, to
            yield "keep", to, len(held)
            held.append(to)
            at = to
        if end - 1 > at:
            yield "advance", at, end - 1
        yield "reverse", end - 1, end
        end -= 1
        if end == at and at > 0:
            held.pop()
            yield "drop", at, len(held)


def _first_part(count: int, slots: int) -> int:
    """After how many of `count` steps the next state is kept: the most that reach the bound."""
    times = repetitions(count, slots)
    return min(comb(slots + times - 1, slots), count - comb(slots + times - 2, slots - 1))


def on_disk(count: int, slots: int, disk_slots: int) -> set[int]:
    """The slots to have on disk: those least often written to and read. Slot 0 is in memory anyway."""
    if not disk_slots:
        return set()
    uses = [0] * slots
    for what, _, slot in reversal(count, slots):
        if what in ("keep", "read"):
            uses[slot] += 1
    return set(sorted(range(1, slots), key=lambda slot: uses[slot])[:disk_slots])
