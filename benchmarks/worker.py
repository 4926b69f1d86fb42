"""Times the cases of one row in this process, all libraries in turn; a script, which `runner` starts.

Its arguments: the clock, the number of rounds, the seconds of a round, the contenders and the cases (with commas).
Prints seconds by case and contender as JSON. Cases do not share a process because they would share the allocator:
docs/design/benchmarks.md has the figures.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import cases, clock, contenders
from benchmarks.case import Case, Run


def main(clock_name: str, rounds: str, round_seconds: str, names: str, case_names: str) -> None:
    """Prepare every run, compare the answers, time round by round, print."""
    threads = 1 if clock_name == "cpu" else None
    libraries = {name: contenders.load(name, threads=threads) for name in names.split(",")}
    timers = {}
    for case in map(cases.named, case_names.split(",")):
        runs = {name: case.build[name](lib) for name, lib in libraries.items() if name in case.build}
        check_answers(case, {name: arrays(run()) for name, run in runs.items()})
        timers[case.name] = {
            name: Timer(run, clock.CLOCKS[clock_name], float(round_seconds)) for name, run in runs.items()
        }
    gc.freeze()  # else each collection in the rounds of one library would search the modules of all
    seconds: dict[str, dict[str, list[float]]] = {
        case: {name: [] for name in contestants} for case, contestants in timers.items()
    }
    for turn in range(int(rounds)):
        for case, contestants in timers.items():
            for name in sorted(contestants, reverse=turn % 2 == 1):  # nobody always comes first
                seconds[case][name].append(contestants[name].round())
    print(json.dumps(seconds))


def arrays(answer: Any) -> list[np.ndarray]:
    """The parts of an answer as NumPy arrays."""
    parts = answer if isinstance(answer, tuple | list) else (answer,)
    return [np.asarray(part.detach() if hasattr(part, "detach") else part) for part in parts]


def check_answers(case: Case, answers: Mapping[str, Sequence[np.ndarray]]) -> None:
    """Refuse to compare libraries that compute different things."""
    reference_name, reference = next(iter(answers.items()), ("", ()))
    for name, answer in answers.items():
        for part, (expected, got) in enumerate(zip(reference, answer, strict=True)):
            where = f"{case.name}: part {part} of the answer of {name} differs from that of {reference_name}"
            largest = float(np.max(np.abs(expected), initial=0.0))
            np.testing.assert_allclose(got, expected, rtol=0, atol=case.rtol * largest, err_msg=where)


class Timer:
    """Repeats a run so often that a round takes about `round_seconds`, far above the resolution of any clock."""

    def __init__(self, run: Run, now: Callable[[], float], round_seconds: float) -> None:
        self.run, self.now = run, now
        self.repeats = 1
        while (elapsed := self.time()) < round_seconds / 4:
            self.repeats *= 2
        self.repeats = max(1, round(self.repeats * round_seconds / elapsed))

    def round(self) -> float:
        """Seconds that the work takes, once."""
        gc.collect()  # every round starts alike; the collector stays on, as users have it
        return self.time() / self.repeats

    def time(self) -> float:
        """Seconds for the runs of a round in a row."""
        run, now = self.run, self.now
        start = now()
        for _ in range(self.repeats):
            run()
        return now() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
