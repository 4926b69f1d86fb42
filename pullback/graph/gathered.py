"""Copies in the place of views: `y[i]`, where each sample of a batch has an `i` of its own, is in no one place of `y`.

What is written into such a copy must reach `y`, as it would through a view, and what is written into `y` the copy. So
the two are tied: after a write into one of them the other is written, by operators that are recorded like any.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from pullback.core.errors import InplaceError
from pullback.core.tensor import Tensor, extra_of
from pullback.graph.view import base_of


class Gathered:
    """The tie of a tensor to the one that it was gathered from, if it was, and to those that were gathered from it."""

    __slots__ = ("_copies", "_followed", "_gather", "_owner", "_scatter")

    def __init__(self, owner: Tensor) -> None:
        self._owner = weakref.ref(owner)
        self._gather: Callable[[], None] | None = None  # reads the owner again
        self._scatter: Callable[[], None] | None = None  # writes the owner to where it is from
        self._copies: list[weakref.ref[Tensor]] = []
        self._followed = False  # whether the other side of a write into the owner is being written

    def written(self) -> None:
        """Let the tensors on both sides have what was written into the owner, or into a view of it."""
        if self._scatter is not None and not self._followed:
            self._follow(self._scatter)
        self._copies = [copy for copy in self._copies if copy() is not None]
        for copy in [c() for c in self._copies]:
            tie = None if copy is None else tie_of(copy)
            if tie is not None and tie._gather is not None and not tie._followed:
                tie._follow(tie._gather)

    def _follow(self, write: Callable[[], None]) -> None:
        if self._owner() is None:
            raise InplaceError(
                "a part of a tensor at a place that differs among the samples of a batch was written into through "
                "its .data, when the part itself was gone; write y[i] = value."
            )
        self._followed = True
        try:
            write()
        finally:
            self._followed = False


def tie_of(tensor: Tensor) -> Gathered | None:
    """The tie of a tensor, or of its base, to others; None for almost all."""
    extra = tensor._extra
    if extra is None:
        return None
    if type(extra.no_view) is Gathered:
        return extra.no_view
    base = base_of(tensor)
    held = None if base is None or base._extra is None else base._extra.no_view
    return held if type(held) is Gathered else None


def tie(copy: Tensor, source: Tensor, gather: Callable[[Tensor], Any], scatter: Callable[[Tensor], Any]) -> None:
    """Tie a copy of a part of `source` to it: `gather(copy)` reads the part again, `scatter(copy)` writes it back."""
    if source._extra is not None and isinstance(source._extra.no_view, str):  # what may not be written into at all
        extra_of(copy).no_view = source._extra.no_view
        return
    held = tie_of(source)
    if held is None:
        owner = base_of(source)
        owner = source if owner is None else owner
        held = extra_of(owner).no_view = Gathered(owner)
    reference: Any = weakref.ref(copy)
    made = extra_of(copy).no_view = Gathered(copy)
    made._gather, made._scatter = lambda: gather(reference()), lambda: scatter(reference())
    held._copies.append(reference)
