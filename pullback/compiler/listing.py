"""Programs for readers: the generated source with comments, and the graph as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pullback.arrays.traced.graph import Check, Guard, Step, Value
from pullback.compiler.blocks import Group
from pullback.compiler.native.parts import NativePart
from pullback.compiler.numbers import in_words
from pullback.compiler.places import said
from pullback.compiler.plan import Plan

_COLUMN = 47  # where the comment on a line begins, if the line is not longer
# The value that a line of the source computes: in a block too. Lines that only make memory, or take a block, are none.
_MADE = re.compile(
    r"^\s*v(\d+)\b[^=]* = (?!empty\(|\w+$)|\(b(\d+) := |out=b(\d+)\)|^\s*b(\d+)(?:\[\.\.\.\])? = (?!\w+\[i:i)"
)
_NAMED = re.compile(r"\b([xc]\d+)\b")
_GUARD = re.compile(r"\b(g\d*)\(")


def annotated(plan: Plan) -> str:
    """The source of a plan; after each step the operator, its result, and the line of the user's that asked for it."""
    maker = {x.number: (step, x) for step in plan.steps for x in step.results}
    lines = []
    for line in plan.source.splitlines():
        notes = []
        if (found := _MADE.search(line)) and (number := next(filter(None, found.groups()))) and int(number) in maker:
            step, value = maker[int(number)]
            notes.append(f"{step.name}: {form(value)}")
            if step.line:
                notes.append(said(step.line, source=False))
        elif (found := _GUARD.search(line)) and isinstance(guard := plan.names.get(found[1]), Guard):
            notes.append(f"{guard.why} found {in_words(guard.expected)}")
        notes += [
            f"{name} = {_shown(plan.names[name])}" for name in dict.fromkeys(_NAMED.findall(line)) if name in plan.names
        ]
        lines.append(f"{line.ljust(_COLUMN)}  # {'; '.join(notes)}" if notes else line)
    return "\n".join(lines) + "\n"


def listed(plan: Plan) -> str:
    """The graph of a plan, a step a line."""
    lines = [_line(f"%{value.number} = input", value) for value in plan.inputs]
    used = {x.number for part in plan.parts for x in part.values()} | {x.number for x in plan.results}
    for value, array, live in plan.graph.constants:
        if value.number in used:
            what = "read where it lies" if live else in_words(array)
            lines.append(_line(f"%{value.number} = constant {what}", value))
    for part in plan.parts:
        if isinstance(part, Group):
            lines.append(f"block by block, {blocks(part)}:")
            lines += [f"    {line}" for step, _ in part.steps for line in _step(step)]
        elif isinstance(part, NativePart):
            lines.append(f"in machine code, {len(part.program.kernels)} kernels:")
            lines += [f"    {line}" for step in part.steps for line in _step(step)]
        else:
            lines += _step(part)
    lines.append(f"return {', '.join(f'%{value.number}' for value in plan.results)}")
    return "\n".join(lines)


def blocks(group: Group) -> str:
    """How the arrays of a group are taken apart: rows of the first dimension, or elements of arrays of this shape."""
    return f"{group.rows:,} rows" if group.flat is None else str(group.flat)


def form(value: Value) -> str:
    """The dtype and the shape of a value."""
    return f"{value.dtype} {value.shape}"


def _step(step: Step) -> Iterator[str]:
    args = ", ".join(map(_argument, step.args))
    if not step.results:
        if isinstance(step.what, Guard):
            yield f"guard: {step.what.why} of ({args}) found {in_words(step.what.expected)}"
        else:
            yield f"{'check' if isinstance(step.what, Check) else step.name}({args})"
        return
    yield _line(
        f"{', '.join(f'%{x.number}' for x in step.results)} = {step.name}({args})", *step.results, place=step.line
    )


def _line(text: str, *values: Value, place: Any = None) -> str:
    where = f"  {said(place, source=False)}" if place else ""
    return f"{text.ljust(_COLUMN - 1)} {', '.join(map(form, values))}{where}"


def _argument(x: Any) -> str:
    if type(x) is Value:
        return f"%{x.number}"
    if type(x) in (list, tuple):
        opening, closing = "[]" if type(x) is list else "()"
        one = "," if type(x) is tuple and len(x) == 1 else ""
        return f"{opening}{', '.join(map(_argument, x))}{one}{closing}"
    if type(x) is slice:
        start, stop, step = ("" if part is None else part for part in (x.start, x.stop, x.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return _shown(x)


def _shown(x: Any) -> str:
    return getattr(x, "__name__", None) or in_words(x).replace("\n", " ")
