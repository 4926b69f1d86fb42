"""Interleaved rounds: every contender once, then every contender again, so that drift of the machine hits all alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from benchmarks.case import Case, ProcessCase
from benchmarks.worker import Worker


@dataclass
class Result:
    """Seconds a unit of work, one figure a round, for each contender; `extras` are what it measured besides."""

    case: Case | ProcessCase
    seconds: dict[str, list[float]] = field(default_factory=dict)
    extras: dict[str, dict[str, float]] = field(default_factory=dict)

    def median(self, contender: str) -> float:
        """The median over the rounds, in seconds a unit."""
        return median(self.seconds[contender])

    def ratio(self, contender: str) -> float:
        """The median over the rounds of pullback's time over that contender's time in the same round."""
        pairs = zip(self.seconds["pullback"], self.seconds[contender], strict=True)
        return median(ours / theirs for ours, theirs in pairs)


def add_rounds(result: Result, workers: Mapping[str, Worker], rounds: int) -> None:
    """Time the case of `result` on all workers, round by round.

    Called for several generations of workers: how a process's heap happens to lie can make work on large arrays
    take half as long again, in every round of that process.
    """
    case = result.case
    check_answers(case, {name: worker.ask("prepare", case.name) for name, worker in workers.items()})
    for _ in range(rounds):
        for name, worker in workers.items():
            result.seconds.setdefault(name, []).append(worker.ask("round") / case.per)


def check_answers(case: Case, answers: Mapping[str, Sequence[Any]]) -> None:
    """Refuse to compare libraries that compute different things."""
    reference_name, reference = next(iter(answers.items()), ("", ()))
    for name, answer in answers.items():
        for part, (expected, got) in enumerate(zip(reference, answer, strict=True)):
            where = f"{case.name}: part {part} of the answer of {name} differs from that of {reference_name}"
            np.testing.assert_allclose(got, expected, rtol=case.rtol, atol=case.rtol, err_msg=where)


def run_process_case(case: ProcessCase, contenders: Sequence[str], clock_name: str, rounds: int) -> Result:
    """Time `case` in fresh interpreters, every contender in turn."""
    commands = {name: case.command[name] for name in case.command if name in contenders}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    extras: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(min(rounds, case.rounds)):
        for name, command in commands.items():
            measured = run_script(command, clock_name)
            seconds[name].append(measured.pop("seconds") / case.per)
            extras[name].append(measured)
    return Result(case, seconds, {name: medians(measured) for name, measured in extras.items()})


def run_script(command: Sequence[str], clock_name: str) -> dict[str, float]:
    """What a fresh interpreter measures and prints."""
    # Bytecode is kept, as it is for an installed package: an import would else be timed with its compilation.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *command, clock_name], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"{sys.executable} {' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def medians(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Entry by entry."""
    return {key: median(one[key] for one in measured) for key in measured[0]}
