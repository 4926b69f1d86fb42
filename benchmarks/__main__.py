"""``python -m benchmarks``: time every case, print a table, write JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import clock

FAILURES = (RuntimeError, AssertionError)  # of a library, or answers that differ


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    options = parse(argv)
    processor = clock.pin() if options.pinned else None
    # Only now, since these import NumPy, which must find the environment that pin() has set.
    from benchmarks import cases, contenders, report
    from benchmarks.case import Table

    chosen = choose(cases.ALL, options.only)
    if not chosen:
        names = "\n  ".join(case.name for case in cases.ALL)
        sys.exit(f"No case has {' or '.join(options.only)} in its name. There are:\n  {names}")

    wanted = [name for name in contenders.MODULES if name not in options.without]
    versions = {name: version for name in wanted if (version := contenders.version(name))}
    about = {
        **clock.machine(),
        "mode": f"processor {processor} alone, one thread, CPU time" if options.pinned else "wall time",
        "rounds": f"{options.rounds} in each of {options.generations} generations of processes",
        "versions": versions,
        "absent": [name for name in wanted if name not in versions],
    }
    for key, value in about.items():
        print(f"{key}: {value}")

    results, failures = [], 0
    for case in chosen:
        if isinstance(case, Table):
            pairs = dict(measured_lines(case, list(versions), options))
            print(report.summary(case, pairs), flush=True)
            results += [result for pair in pairs.values() for result in pair]
            failures += len(case.rows) - len(pairs)
            continue
        try:
            results.append(measure(case, list(versions), options))
        except FAILURES as error:  # the other cases can still be measured
            print(f"\n{case.name}: FAILED\n{error}", flush=True)
            failures += 1
        else:
            print("\n" + report.table(results[-1]), flush=True)
    options.json.write_text(json.dumps(report.as_json(results, about), indent=1) + "\n")
    print(f"\nwritten to {options.json}")
    return 1 if failures else 0


def measured_lines(table: Any, present: list[str], options: argparse.Namespace) -> Iterator[tuple[str, list[Any]]]:
    """Label and results of each line of a table that could be measured; prints it as it goes."""
    from benchmarks import report

    print("\n" + report.heading(table), flush=True)
    for label, pair in table.rows.items():
        try:
            results = measure_together(pair, present, options)
        except FAILURES as error:
            print(f"{label}: FAILED\n{error}", flush=True)
        else:
            print(report.line(label, results), flush=True)
            yield label, results


def choose(every: Iterable[Any], parts: Sequence[str]) -> list[Any]:
    """The cases with one of `parts` in their name, and of a table the lines with one in their label; else all."""
    from benchmarks.case import Table

    if not parts:
        return [one for one in every if not isinstance(one, Table) or one.by_default]
    tables = {one.name: one.only(parts) for one in every if isinstance(one, Table)}
    chosen = [one for one in every if one.name in tables or any(part in one.name for part in parts)]
    return [tables.get(one.name, one) for one in chosen if one.name not in tables or tables[one.name].rows]


def measure(case: Any, present: list[str], options: argparse.Namespace) -> Any:
    """The result of one case."""
    from benchmarks import runner
    from benchmarks.case import Case

    if not isinstance(case, Case):
        return runner.run_process_case(case, present, "cpu" if options.pinned else "wall", options.rounds)
    return measure_together([case], present, options)[0]


def measure_together(together: Sequence[Any], present: list[str], options: argparse.Namespace) -> list[Any]:
    """The results of cases that share a process of each library; all are built for the same ones."""
    from benchmarks import runner

    clock_name, threads = ("cpu", 1) if options.pinned else ("wall", None)
    results = [runner.Result(case) for case in together]
    for _ in range(options.generations):
        with started([name for name in present if name in together[0].build], clock_name, threads) as workers:
            for result in results:
                runner.add_rounds(result, workers, options.rounds)
    return results


@contextmanager
def started(names: Iterable[str], clock_name: str, threads: int | None) -> Iterator[dict[str, Any]]:
    """A worker for each name, ended whatever happens."""
    from benchmarks.worker import Worker

    workers = {name: Worker(name, clock_name, threads) for name in names}
    try:
        yield workers
    finally:
        for worker in workers.values():
            worker.stop()


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="cases with PART in their name")
    parser.add_argument("--without", action="append", default=[], metavar="LIBRARY", help="leave a contender out")
    parser.add_argument("--rounds", type=int, default=4, help="interleaved rounds a generation (default: 4)")
    parser.add_argument("--generations", type=int, default=3, help="how often to start all processes anew (default: 3)")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to write (default: bench.json)")
    parser.add_argument(
        "--pinned", action="store_true", help="one processor, one thread, CPU time: quiet among neighbours"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
