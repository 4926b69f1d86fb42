"""Starts the processes that measure, and gathers what they print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.case import Case, Goal, ProcessCase


@dataclass(frozen=True)
class Effort:
    """How long to measure, and by which clock."""

    clock: str = "wall"
    rounds: int = 6
    generations: int = 2
    round_seconds: float = 0.05


@dataclass
class Result:
    """Holds what was measured of each contender: by figure (``seconds``, ...) and name, one number a round."""

    case: Case | ProcessCase
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, what: str, contender: str, numbers: Sequence[float]) -> None:
        """More rounds."""
        per = self.case.per if what in {"seconds", "bytes"} else 1
        self.figures.setdefault(what, {}).setdefault(contender, []).extend(number / per for number in numbers)

    def median(self, contender: str, what: str = "seconds") -> float:
        """The median over the rounds, of a unit of work."""
        return median(self.figures[what][contender])

    def against(self, goal: Goal) -> float | None:
        """The median over the rounds of what `goal` bounds, each round by itself; None if nobody measured it."""
        figures = self.figures.get(goal.what, {})
        if not {"pullback", goal.of or "pullback"} <= figures.keys():
            return None
        ours = figures["pullback"]
        if goal.of is None:
            return median(ours)
        pairs = zip(ours, figures[goal.of], strict=True)
        return median(mine - theirs if goal.above else mine / theirs for mine, theirs in pairs)


def measure_row(row: Sequence[Case], contenders: Sequence[str], effort: Effort) -> list[Result]:
    """Time the cases of a row, in fresh processes several times.

    How a process's heap happens to lie can make work on large arrays take half as long again, in every round of it.
    """
    results = {case.name: Result(case) for case in row}
    present = [name for name in contenders if any(name in case.build for case in row)]
    if not present:
        return []
    arguments = [effort.clock, str(effort.rounds), str(effort.round_seconds), ",".join(present), ",".join(results)]
    for _ in range(effort.generations):
        for case, seconds in run_python(["-m", "benchmarks.worker", *arguments]).items():
            for name, numbers in seconds.items():
                results[case].add("seconds", name, numbers)
    return list(results.values())


def measure_processes(case: ProcessCase, contenders: Sequence[str], effort: Effort) -> list[Result]:
    """Measure `case` in fresh interpreters, every contender in turn."""
    result = Result(case)
    commands = {name: command for name, command in case.command.items() if name in contenders}
    for _ in range(min(effort.rounds * effort.generations, case.rounds)):
        for name, command in commands.items():
            for what, number in run_python([*command, effort.clock]).items():
                result.add(what, name, [number])
    return [result] if commands else []


def run_python(arguments: Sequence[str]) -> Any:
    """Return what a fresh interpreter measures and prints."""
    # Bytecode is kept, as it is for an installed package: an import would else be timed with its compilation.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)
