"""Defines a benchmark: one piece of work, written once, and what it should cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Run = Callable[[], Any]
"""Does the work once and returns its answer, which must agree between the libraries."""


@dataclass(frozen=True)
class Goal:
    """The most that pullback's median may be: of another's, above another's, or by itself.

    Parameters
    ----------
    most : float or None
        None: the comparison is shown and not judged.
    of : str or None
        The contender to compare with; None for a goal that pullback has alone.
    above : bool
        Whether `most` bounds the difference instead of the quotient.
    what : str
        The figure it speaks of: ``seconds``, or another that the case measures.
    """

    most: float | None
    of: str | None = "torch"
    above: bool = False
    what: str = "seconds"


@dataclass(frozen=True)
class Case:
    """One piece of work, timed many times over, all libraries in turn in one process.

    Parameters
    ----------
    name : str
        What ``--only`` matches.
    title : str
        One line for the reader of the table.
    build : mapping from a contender's name to a function of its module
        Each prepares its data and returns a `Run`. A library that cannot do the work has no entry.
    per : int
        Times are divided by this: the number of operators in a chain, for instance.
    goals : sequence of Goal
    rtol : float
        How closely the answers must agree, as a part of the largest number in each.
    """

    name: str
    title: str
    build: Mapping[str, Callable[[Any], Run]]
    per: int = 1
    goals: Sequence[Goal] = ()
    rtol: float = 1e-6


@dataclass(frozen=True)
class ProcessCase:
    """One piece of work that needs an interpreter of its own, so that imports or memory can be measured.

    Parameters
    ----------
    command : mapping from a contender's name to the interpreter's arguments
        The process prints a JSON object of figures: ``seconds``, ``bytes``, ``lines``.
    rounds : int
        The most rounds that make sense: these take seconds.
    """

    name: str
    title: str
    command: Mapping[str, list[str]]
    per: int = 1
    goals: Sequence[Goal] = ()
    rounds: int = 5


@dataclass(frozen=True)
class Table:
    """Small cases under one heading.

    Parameters
    ----------
    rows : sequence of sequences of cases
        The cases of a row share a process; each row has processes of its own.
    goal : float or None
        The most that the geometric mean of pullback's ratios to PyTorch may be.
    by_default : bool
        Whether it runs when nothing is named.
    """

    name: str
    title: str
    rows: Sequence[Sequence[Case]]
    goal: float | None = None
    by_default: bool = True

    def only(self, parts: Sequence[str]) -> Table:
        """The table of the cases with one of `parts` in their name; the whole if it matches the table's own name."""
        if any(part in self.name for part in parts):
            return self
        rows = [[case for case in row if any(part in case.name for part in parts)] for row in self.rows]
        return replace(self, rows=[row for row in rows if row])
