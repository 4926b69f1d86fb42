"""Forward levels: each has an infinitesimal of its own, so that the tangents of one never mix with those of another."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from weakref import ref

from pullback.core.cuts import Run, runs
from pullback.core.level_numbers import next_number
from pullback.core.sequence import next_leaf_nr, next_sequence_nr, recorded_since

# The levels of blocks that this thread or task is inside of, the innermost last.
ENTERED: ContextVar[tuple[ForwardLevel, ...]] = ContextVar("pullback_dual_levels", default=())


class ForwardLevel:
    """One infinitesimal: that of a `dual_level` block, or of one call of `func.jvp`.

    A level that was entered later has a higher number, and operators run at the highest number among their arguments.
    Once it is closed, its tangents are gone for whoever computes on; `lasting` is the same level for a backward through
    what was computed before, which still needs them.

    Parameters
    ----------
    run : Run, optional
        The transform's, whose call it is. Values of a block are constants after it, as in PyTorch; those of a transform
        were never given to anybody, except its arguments.
    masks : bool, default True
        Whether tangents of many samples carry masks of what is touched (see `touched`): who looks for NaNs in the
        result, and computes these again one by one, does without.
    """

    __slots__ = ("_arguments", "_begun", "_lasting", "begun", "masks", "number", "open", "run")

    def __init__(self, masks: bool = True, run: Run | None = None) -> None:
        self.number = next_number()
        self.masks, self.run = masks, run
        self.begun = next_sequence_nr() if run is None else run.begun
        self.open = True
        self._lasting: ForwardLevel | None = None
        self._arguments: list[ref[Any]] = []
        self._begun = next_leaf_nr()

    def is_recorded(self, level: int) -> bool:
        """True if Tensors of `level`, or higher ones, have come to be recorded since: nodes may have saved duals."""
        return recorded_since(self._begun, level)

    def begin_at(self, dual: Any) -> Any:
        """Note a dual number that the function is given, and return it."""
        self._arguments.append(ref(dual))
        return dual

    def is_lost(self, dual: Any) -> bool:
        """True if a transform or block that has begun later would take a dual number of this level for a constant."""
        if self.run is None:
            return False
        later = [run.begun for run in runs() if run.transform] + [level.begun for level in ENTERED.get()]
        if not any(begun > self.begun for begun in later):
            return False
        return not any(known() is dual for known in self._arguments)

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
        self.masks = self.open = True
        self.run = None
        self.begun = self._begun = -1

    @property
    def lasting(self) -> ForwardLevel:
        return self
