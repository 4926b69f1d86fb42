"""The table for people and the JSON file for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks.case import Table
from benchmarks.runner import Result

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
WORST = 10  # how many of the slowest lines of a table are named below it


def duration(seconds: float) -> str:
    """Three significant digits and a unit."""
    scale, unit = next(((scale, unit) for scale, unit in UNITS if seconds >= scale), UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


def table(result: Result) -> str:
    """One case: a line for each contender with its median, pullback's ratio to it, and the goal where there is one."""
    lines = [f"{result.case.name}: {result.case.title}"]
    for name in result.seconds:
        extras = "".join(f"  {key} {value:,.0f}" for key, value in result.extras.get(name, {}).items())
        lines.append(f"  {name:<9}{duration(result.median(name)):>10}  {against(result, name):<34}{extras}".rstrip())
    return "\n".join(lines)


def against(result: Result, name: str) -> str:
    """How pullback stands to the contender `name`."""
    if name == "pullback" or "pullback" not in result.seconds:
        return ""
    ratio = result.ratio(name)
    text = f"pullback / {name} = {ratio:.2f}"
    goal = result.case.goals.get(name)
    if goal is None:
        return text
    return f"{text} ({'met' if ratio <= goal else 'NOT met'}: <= {goal:g})"


def heading(case: Table) -> str:
    """The lines above a table."""
    columns = f"{'pullback':>10}{'torch':>10}{'ratio':>7}"
    return f"{case.name}: {case.title}\n{'':<20}{'forward':>27}{'backward':>27}\n{'':<20}{columns}{columns}"


def line(label: str, pair: Sequence[Result]) -> str:
    """One line of a table: both times and the ratio, forward and backward."""
    cells = ""
    for result in pair:
        for name in ("pullback", "torch"):
            cells += f"{duration(result.median(name)) if name in result.seconds else '':>10}"
        cells += f"{result.ratio('torch'):>7.2f}" if _compared(result) else f"{'':>7}"
    return f"{label:<20}{cells}".rstrip()


def _compared(result: Result) -> bool:
    return {"pullback", "torch"} <= result.seconds.keys()


def summary(case: Table, pairs: Mapping[str, Sequence[Result]]) -> str:
    """Below a table: the geometric mean of all ratios, and the ten largest."""
    ratios = {
        result.case.title: result.ratio("torch") for pair in pairs.values() for result in pair if _compared(result)
    }
    if not ratios:
        return "no ratios: PyTorch takes no part"
    mean = geometric_mean(ratios.values())
    worst = sorted(ratios, key=ratios.__getitem__, reverse=True)[:WORST]
    verdict = "" if case.goal is None else f" ({'met' if mean <= case.goal else 'NOT met'}: <= {case.goal:g})"
    return (
        f"geometric mean of {len(ratios)} ratios: {mean:.2f}{verdict}\n"
        f"worst: {'; '.join(f'{title} {ratios[title]:.2f}' for title in worst)}"
    )


def as_json(results: Iterable[Result], about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was measured, the single rounds included."""
    return {"about": dict(about), "cases": {result.case.name: case_as_json(result) for result in results}}


def case_as_json(result: Result) -> dict[str, Any]:
    """One case: seconds a unit."""
    has_ours = "pullback" in result.seconds
    return {
        "title": result.case.title,
        "goals": dict(result.case.goals),
        "contenders": {
            name: {
                "median": result.median(name),
                "rounds": rounds,
                "pullback_ratio": result.ratio(name) if has_ours else None,
                **result.extras.get(name, {}),
            }
            for name, rounds in result.seconds.items()
        },
    }
