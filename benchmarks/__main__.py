"""``python -m benchmarks``: time every case, print a table, write JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import clock


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    options = parse(argv)
    processor = clock.pin() if options.pinned else None
    # Only now, since these import NumPy, which must find the environment that pin() has set.
    from benchmarks import cases, contenders, report
    from benchmarks.case import Table
    from benchmarks.runner import Effort

    chosen = choose(cases.ALL, options.only)
    if not chosen:
        names = "\n  ".join(one.name for one in cases.ALL)
        sys.exit(f"No case has {' or '.join(options.only)} in its name. There are:\n  {names}")

    effort = Effort("cpu" if options.pinned else "wall", options.rounds, options.generations)
    if options.quick:
        effort = Effort(effort.clock, rounds=1, generations=1, round_seconds=0.005)
    wanted = [name for name in contenders.MODULES if name not in options.without]
    versions = {name: version for name in wanted if (version := contenders.version(name))}
    about = {
        **clock.machine(),
        "mode": f"processor {processor} alone, one thread, CPU time" if options.pinned else "wall time",
        "rounds": f"{effort.rounds} in each of {effort.generations} generations of processes",
        "versions": versions,
        "absent": [name for name in wanted if name not in versions],
    }
    for key, value in about.items():
        print(f"{key}: {value}")
    if "torch" in about["absent"]:
        print("PyTorch is not installed here: no ratios to it. Run with an interpreter that has it to see them.")

    results, failures = [], 0
    for one in chosen:
        print(f"\n{one.name}: {one.title}", flush=True)
        of_this = []
        for row in one.rows if isinstance(one, Table) else [one]:
            try:
                measured = measure(row, list(versions), effort)
            except RuntimeError as error:  # of a library, or answers that differ; the others can still be measured
                print(f"FAILED\n{error}", flush=True)
                failures += 1
            else:
                of_this += measured
                print("\n".join(line for result in measured for line in report.lines(result)), flush=True)
        if isinstance(one, Table) and one.goal is not None:
            print(report.summary(of_this, one.goal), flush=True)
        results += of_this
    options.json.write_text(json.dumps(report.as_json(results, about), indent=1) + "\n")
    print(f"\n{report.goals(results)}\nwritten to {options.json}")
    return 1 if failures else 0


def choose(every: Iterable[Any], parts: Sequence[str]) -> list[Any]:
    """The cases with one of `parts` in their name, alone or in a table; all that run by default if nothing is named."""
    from benchmarks.case import Table

    if not parts:
        return [one for one in every if not isinstance(one, Table) or one.by_default]
    chosen = []
    for one in every:
        if isinstance(one, Table):
            table = one.only(parts)
            chosen += [table] if table.rows else []
        elif any(part in one.name for part in parts):
            chosen.append(one)
    return chosen


def measure(row: Any, present: list[str], effort: Any) -> list[Any]:
    """The results of a row of a table, or of a case by itself."""
    from benchmarks import runner
    from benchmarks.case import Case, ProcessCase

    if isinstance(row, ProcessCase):
        return runner.measure_processes(row, present, effort)
    return runner.measure_row([row] if isinstance(row, Case) else row, present, effort)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="cases with PART in their name")
    parser.add_argument("--without", action="append", default=[], metavar="LIBRARY", help="omit a contender")
    parser.add_argument("--rounds", type=int, default=6, help="interleaved rounds a generation (default: 6)")
    parser.add_argument("--generations", type=int, default=2, help="how often to start all processes anew (default: 2)")
    parser.add_argument("--quick", action="store_true", help="one short round: that it runs, not how fast")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to write (default: bench.json)")
    parser.add_argument(
        "--pinned", action="store_true", help="one processor, one thread, CPU time: quiet among neighbours"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
