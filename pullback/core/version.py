"""Version counters: how often the memory of a tensor was modified in place.

A tensor has no counter until somebody else needs to read it: a view or a detached alias of the same memory, a node
that saved its own output, or the first in-place operation. No counter means version 0. That keeps one object fewer
alive for each of the many tensors that are never modified.

Threads that need the counter of one tensor for the first time must get the same one. No lock sees to that but the
interpreter's own: it switches threads at calls and at jumps back alone, so that one line which reads an attribute and
stores it, and calls nothing in between, is never interrupted by another thread.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from pullback.core.errors import InplaceError

_new = object.__new__


class Counter:
    """The version `n` shared by all tensors over one memory, and the operator that moved it last.

    `journal` is for Arrays, see `graph.journal`: what was overwritten, empty where nothing was yet, None while no node
    can have saved this memory.
    """

    __slots__ = ("culprit", "journal", "n", "tally")

    tally: list[int]  # of a PartedCounter alone
    n: int
    culprit: str | None
    journal: Any

    def save(self) -> int:
        """The version, for a node that saves a tensor."""
        if self.journal is None:
            self.journal = ()
        return self.n


class InferenceCounter(Counter):
    """The counter of what was made in inference mode, which no node may save; `counting` is for transforms inside."""

    __slots__ = ("counting",)
    counting: Counter

    @property  # so that the one that transforms see moves too
    def n(self) -> int:
        return self.counting.n

    @n.setter
    def n(self, value: int) -> None:
        self.counting.n = value

    def save(self) -> NoReturn:
        raise InplaceError(
            "Inference tensors cannot be saved for backward. This one was made in inference_mode(), and an operator "
            "outside needs its values to compute a gradient. To work around it, make a copy, which is a normal tensor: "
            "t.clone(). Or compute it under no_grad() instead."
        )


_n: Any = vars(Counter)["n"]


class PartedCounter(Counter):
    """The counter of one of the memories that tensors have which shared one, until `.data = ...` gave another to some.

    Nodes and views go by `n`, which belongs to a memory. What users see as `_version` goes on as if they shared it
    still: `tally` is a list of one number, that all these counters have in common and move.
    """

    __slots__ = ()  # so that a Counter can become one

    @property
    def n(self) -> int:
        return _n.__get__(self)  # type: ignore[no-any-return]

    @n.setter
    def n(self, value: int) -> None:
        self.tally[0] += value - self.n
        _n.__set__(self, value)


class LocatedName(str):
    """The name of an operator that wrote into memory, with the line of the user's program that called it."""

    __slots__ = ("where",)
    where: str

    def __new__(cls, name: str, where: str) -> LocatedName:
        located = super().__new__(cls, name)
        located.where = where
        return located

    def __reduce__(self) -> tuple[type[LocatedName], tuple[str, str]]:  # errors hold it, and are pickled
        return LocatedName, (str(self), self.where)


class Versioned(Protocol):
    """Protocol of an object with a version counter: a Tensor, which this module cannot import."""

    _counter: Counter | None


def counter_of(tensor: Versioned) -> Counter:
    """The counter of `tensor`, made if there is none yet; share it with whatever shares the memory."""
    counter = tensor._counter
    if counter is None:
        made = _new(Counter)
        made.n = 0
        made.culprit = None
        made.journal = ()
        tensor._counter = counter = tensor._counter or made  # one line: see the top of this module
    return counter


def counter_inside(tensor: Versioned) -> Counter:
    """The counter of `tensor` as a transform sees it, whose nodes may save what was made in inference mode."""
    counter = counter_of(tensor)
    return counter.counting if type(counter) is InferenceCounter else counter


def inference_counter() -> InferenceCounter:
    """A counter for a fresh tensor that is made in inference mode."""
    made, counting = _new(InferenceCounter), _new(Counter)
    made.counting = counting
    for counter in (counting, made):
        counter.n = 0
        counter.culprit = None
        counter.journal = ()
    return made


def start_unsaved(tensor: Versioned) -> None:
    """Give a fresh tensor, a buffer to be filled, a counter by which it is known that no node has saved it."""
    counter_of(tensor).journal = None


def bump(tensor: Versioned, culprit: str) -> None:
    """Record that `culprit` (an operator's name) has modified the memory of `tensor`."""
    counter = counter_of(tensor)
    counter.n += 1
    counter.culprit = culprit


def parted_counter(tensor: Versioned, culprit: str) -> Counter:
    """A counter that `tensor` shares with nobody, one version on: its memory was replaced by `culprit`.

    The version that users see stays, and is shared with those that shared the memory.
    """
    before, made = counter_of(tensor), _new(PartedCounter)
    if type(before) is Counter:
        before.tally = [before.n]
        before.__class__ = PartedCounter
    made.tally = before.tally if type(before) is PartedCounter else [before.n]
    _n.__set__(made, before.n + 1)
    made.culprit = culprit
    made.journal = ()
    return made


def version_of(tensor: Versioned) -> int:
    """The current version as a number."""
    counter = tensor._counter
    return 0 if counter is None else counter.n


def shown_version(tensor: Versioned) -> int:
    """The version that users see, which a replaced memory does not move."""
    counter = tensor._counter
    return counter.tally[0] if type(counter) is PartedCounter else version_of(tensor)
