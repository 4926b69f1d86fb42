"""The table for people and the JSON file for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.runner import Result

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


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
