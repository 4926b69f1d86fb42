"""The table for people and the JSON file for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks.case import Goal
from benchmarks.runner import Result

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
WORST = 10  # how many of the slowest cases of a table are named below it


def figure(number: float, what: str = "seconds") -> str:
    """Three significant digits and a unit."""
    if what != "seconds":
        return f"{number:,.0f} {what}"
    scale, unit = next(((scale, unit) for scale, unit in UNITS if abs(number) >= scale), UNITS[-1])
    return f"{number / scale:.3g} {unit}"


def lines(result: Result) -> list[str]:
    """A case: a line for each contender and figure, with the goals of the case, or else pullback's ratio."""
    found = []
    for what, contenders in result.figures.items():
        for name in contenders:
            of = None if name == "pullback" else name
            goals = [goal for goal in result.case.goals if (goal.what, goal.of) == (what, of)]
            said = "; ".join(verdict(result, goal) for goal in goals or [Goal(None, of, what=what)])
            cell = figure(result.median(name, what), what)
            found.append(f"  {result.case.name:<28}{name:<9}{cell:>12}  {said}".rstrip())
    return found


def verdict(result: Result, goal: Goal) -> str:
    """How pullback stands to `goal`."""
    number = result.against(goal)
    if number is None:
        return ""
    most = goal.most
    if goal.of is None:
        shown, bound = "", most and figure(most, goal.what)
    elif goal.above:
        shown, bound = f"{figure(number, goal.what)} above {goal.of}", most and figure(most, goal.what)
    else:
        shown, bound = f"pullback / {goal.of} = {number:.2f}", most and f"{most:g}"
    if most is None:
        return shown
    return f"{shown} ({'met' if number <= most else 'NOT met'}: <= {bound})".lstrip()


def summary(results: Sequence[Result], goal: float) -> str:
    """Below a table with a goal for its mean: the geometric mean of all ratios, and the ten largest."""
    ratios = {result.case.name: result.against(Goal(goal)) for result in results}
    known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    if not known:
        return "no ratios: PyTorch takes no part"
    mean = geometric_mean(known.values())
    worst = sorted(known, key=known.__getitem__, reverse=True)[:WORST]
    return (
        f"geometric mean of {len(known)} ratios: {mean:.2f} ({'met' if mean <= goal else 'NOT met'}: <= {goal:g})\n"
        f"worst: {'; '.join(f'{name} {known[name]:.2f}' for name in worst)}"
    )


def goals(results: Iterable[Result]) -> str:
    """At the end: how many of the goals are met, and which are not."""
    judged, missed = 0, []
    for result in results:
        for goal in result.case.goals:
            number = result.against(goal)
            if goal.most is None or number is None:
                continue
            judged += 1
            if number > goal.most:
                ours = figure(result.median("pullback", goal.what), goal.what)
                missed.append(f"  {result.case.name}: {ours}, {verdict(result, goal)}")
    return "\n".join([f"{judged - len(missed)} of {judged} goals met", *missed])


def as_json(results: Iterable[Result], about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was measured, the single rounds included; seconds (bytes) are of a unit of work."""
    cases = {
        result.case.name: {
            "title": result.case.title,
            "goals": [{**vars(goal), "measured": result.against(goal)} for goal in result.case.goals],
            "rounds": result.figures,
        }
        for result in results
    }
    return {"about": dict(about), "cases": cases}
