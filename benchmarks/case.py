"""What a benchmark is: one piece of work, written once for each library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Run = Callable[[], Any]
"""Does the work once and returns its answer, which must agree between the libraries."""


@dataclass(frozen=True)
class Case:
    """One piece of work, timed many times over in one process a library.

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
    goals : mapping from a contender's name to a ratio
        The most that pullback's time may be of that contender's.
    rtol : float
        How closely the answers must agree.
    """

    name: str
    title: str
    build: Mapping[str, Callable[[Any], Run]]
    per: int = 1
    goals: Mapping[str, float] = field(default_factory=dict)
    rtol: float = 1e-6


@dataclass(frozen=True)
class ProcessCase:
    """One piece of work that needs an interpreter of its own, so that imports or memory can be measured.

    Parameters
    ----------
    command : mapping from a contender's name to the interpreter's arguments
        The process prints a JSON object, whose ``seconds`` is the time and whose other entries are shown beside it.
    rounds : int
        The most rounds that make sense: these take seconds.
    """

    name: str
    title: str
    command: Mapping[str, list[str]]
    per: int = 1
    goals: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 5


@dataclass(frozen=True)
class Table:
    """Many small cases, of which the geometric mean counts; a line of the table shows two of them.

    Parameters
    ----------
    rows : mapping from a line's label to its two cases, forward and backward
        The two share a process of each library; each line has processes of its own.
    goal : float or None
        The most that the geometric mean of pullback's ratios to PyTorch may be.
    by_default : bool
        Whether it runs when nothing is named.
    """

    name: str
    title: str
    rows: Mapping[str, tuple[Case, Case]]
    goal: float | None = None
    by_default: bool = True

    def only(self, parts: Sequence[str]) -> Table:
        """The table of the lines with one of `parts` in their label; the whole if it matches the table's own name."""
        if not parts or any(part in self.name for part in parts):
            return self
        rows = {label: pair for label, pair in self.rows.items() if any(part in label for part in parts)}
        return replace(self, rows=rows)
