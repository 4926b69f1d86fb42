"""Tells what has become of a compiled function: its programs, what they look at, and why calls run eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pullback.arrays.traced.calls import PlainCall
from pullback.arrays.traced.graph import Check, Guard, Step
from pullback.compiler.advice import remedy
from pullback.compiler.backward import DifferentiableProgram
from pullback.compiler.blocks import Group
from pullback.compiler.footprint import footprint
from pullback.compiler.listing import annotated, blocks, form, listed
from pullback.compiler.native.parts import NativePart
from pullback.compiler.numbers import in_words
from pullback.compiler.places import said
from pullback.compiler.plan import Plan
from pullback.compiler.program import Program
from pullback.core import slots
from pullback.func.loops.run import Loop


class Explanation:
    """Tells what has become of a compiled function; it prints as a text. Made by `Compiled.explain`.

    Parameters
    ----------
    compiled : Compiled
    watches : bool
        Name each watch.

    Examples
    --------
    >>> f = pb.compile(lambda x: np.sin(x) * 2.0)
    >>> x = np.array([0.0, 1.0])
    >>> for _ in range(5):
    ...     y = f(x)
    >>> print(f.explain().text)
    program 1 of <lambda>(float64 (2,))
    %0 = input                                     float64 (2,)
    %1 = sin(%0)                                   float64 (2,) ...
    %2 = mul(%1, 2.0)                              float64 (2,) ...
    return %2
    """

    def __init__(self, compiled: Any, watches: bool) -> None:
        self._compiled, self._watches = compiled, watches

    # -- the programs --------------------------------------------------------------------------------------------------
    def _programs(self) -> Iterator[tuple[str, Program | DifferentiableProgram]]:
        """Each program with its call in words."""
        for variants in [*self._compiled._by_signature.values()]:
            for program in variants.programs:  # one may be in an audit
                yield f"{self._compiled._name}{variants.called}", getattr(program, "program", program)

    def _plans(self) -> Iterator[tuple[str, Plan]]:
        """Each plan with its title."""
        for nr, (call, program) in enumerate(self._programs(), start=1):
            yield f"program {nr} of {call}", program.plan
            if not isinstance(program, Program):
                yield f"program {nr} of {call}, backward", program.backward

    @property
    def source(self) -> str:
        """The programs as they run, in Python, with the operator, the form, and the user's line after each step.

        Examples
        --------
        >>> f = pb.compile(lambda x: np.sin(x) * 2.0)
        >>> for _ in range(5):
        ...     y = f(np.array([0.0, 1.0]))
        >>> print(f.explain().source.splitlines()[0])
        # program 1 of <lambda>(float64 (2,))
        """
        return "\n".join(f"# {title}\n{annotated(plan)}" for title, plan in self._plans())

    @property
    def text(self) -> str:
        """The graphs of the programs, a step a line.

        Examples
        --------
        >>> f = pb.compile(lambda x: np.sin(x) * 2.0)
        >>> for _ in range(5):
        ...     y = f(np.array([0.0, 1.0]))
        >>> print(f.explain().text.splitlines()[-1])
        return %2
        """
        return "\n\n".join(f"{title}\n{listed(plan)}" for title, plan in self._plans())

    def picture(self, path: Any = None, program: int = 1) -> Any:
        """Draw a program: a box for each step, and one for steps that run together, block by block.

        Parameters
        ----------
        path : str or Path, optional
            Where to save it; the ending says how, as in `pullback.viz.Graph.save`.
        program : int, default 1
            Its number in the text.

        Returns
        -------
        pullback.viz.Graph
            It shows itself in notebooks.

        Raises
        ------
        ValueError
            There is no program of this number.

        Examples
        --------
        >>> f = pb.compile(lambda x: np.sin(x) * 2.0)
        >>> for _ in range(5):
        ...     y = f(np.array([0.0, 1.0]))
        >>> f.explain().picture()
        <pullback.viz.Graph: 4 boxes, 3 arrows>
        """
        programs = [one for _, one in self._programs()]
        if not 1 <= program <= len(programs):
            there = f"there are {len(programs)}" if programs else "there is none: two calls that do the same make one"
            raise ValueError(f"picture: there is no program {program}; {there}.")
        one = programs[program - 1]
        drawing = slots.drawing(*_boxes([one.plan] if isinstance(one, Program) else [one.plan, one.backward]))
        if path is not None:
            drawing.save(path)
        return drawing

    # -- the text ------------------------------------------------------------------------------------------------------
    def __str__(self) -> str:
        """All of it."""
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        compiled = self._compiled
        reach = compiled._reach
        known = [*compiled._by_signature.values()]
        counts = [
            _counted(len(known), "signature"),
            _counted(sum(len(variants.programs) for variants in known), "program"),
            _counted(len(reach.watches) if reach else 0, "watch", "watches"),
        ]
        yield f"compile({compiled._name}): {', '.join(counts)}"
        told = set[str]()
        if compiled._eager is not None:
            told.add(compiled._eager)
            yield from self._eagerly("  all calls run eagerly", compiled._eager)
        elif reach is None:
            yield "  not called yet"
        nr = 0
        for variants in known:
            read = f", reads {_counted(variants.captured, 'Tensor')}" if variants.captured else ""  # gradients too
            yield f"{compiled._name}{variants.called}{read}"
            if variants.eager is not None:
                told.add(variants.eager)
                yield from self._eagerly("  runs eagerly", variants.eager)
            elif not variants.programs:
                runs = len(variants.candidates)
                yield f"  no program yet: {_counted(runs, 'run')} recorded, and two that do the same make one"
            for program in variants.programs:
                nr += 1
                yield from _program(nr, getattr(program, "program", program))
        for why in compiled._fallbacks.keys() - told:
            yield from self._eagerly("calls have run eagerly", why)
        for refusal in reach.told if reach else ():
            yield f"only while recording: {refusal.what} {said((refusal.filename, refusal.lineno))}"
        if self._watches and reach:
            yield "watches, at each call:"
            yield from (f"  {watch.said}" for watch in reach.watches.all)

    def _eagerly(self, head: str, why: str) -> Iterator[str]:
        yield f"{head}: {why}"
        if place := self._compiled._fallbacks.get(why):
            yield f"    at {said(place)}"
        if instead := remedy(why):
            yield f"    instead, {instead}"


def _loops(plan: Plan) -> Iterator[str]:
    """How the loops among the steps of a plan have run."""
    held = [x for step in plan.steps if isinstance(step.what, PlainCall) for x in step.what.leaves]
    for loop in {id(x): x for x in held if isinstance(x, Loop)}.values():
        runs = ", ".join(f"{sweep} {how}" for sweep, how in loop.runs.items()) or "in Python"
        yield f"    {loop.name}, {_counted(loop.ended_at, 'step')}: {runs}"


def _program(nr: int, program: Program | DifferentiableProgram) -> Iterator[str]:
    """The lines about one program."""
    plans = [program.plan] if isinstance(program, Program) else [program.plan, program.backward]
    before, steps = len(program.trace.graph.steps), sum(len(plan.steps) for plan in plans)
    groups = [part for plan in plans for part in plan.parts if isinstance(part, Group)]
    backward = "" if isinstance(program, Program) else f", {len(plans[1].steps)} of them in backward"
    yield f"  program {nr}: {_counted(steps, 'step')} of {before} recorded{backward}; {_counted(program.calls, 'call')}"
    if groups:
        count = sum(len(group.steps) for group in groups)
        yield f"    {_counted(count, 'step')} run block by block, in {_counted(len(groups), 'group')}"
    if native := [part for plan in plans for part in plan.parts if isinstance(part, NativePart)]:
        count, kernels = sum(len(part.steps) for part in native), sum(len(part.program.kernels) for part in native)
        yield f"    {_counted(count, 'step')} in machine code, {_counted(kernels, 'kernel')}"
    for plan in plans:
        yield from _loops(plan)
    found = [footprint(plan) for plan in plans]
    made, most = sum(x.made for x in found), max(x.most for x in found)
    yield f"    memory: about {_bytes(made)} in arrays that it makes, {_bytes(most)} of them at once"
    if program.calls and program.seconds < float("inf"):
        yield f"    time: {_time(program.seconds)}, the function {_time(program.eager_seconds)}"
    if isinstance(program, Program):
        if program.plan is program.careful:
            yield "    careful form: with the masks for infinite slopes, which a NaN has asked for"
        elif program.suspect:
            yield "    fast form: without masks for infinite slopes, as long as no result is NaN"
    if program.audits:
        yield f"    audits: at {'calls' if len(program.audits) > 1 else 'call'} {', '.join(map(str, program.audits))}"
    for step in program.trace.graph.steps:
        if isinstance(step.what, (Guard, Check)):
            yield f"    {_guard(step)}"


def _guard(step: Step) -> str:
    where = f" at {said(step.line)}" if step.line else ""
    if isinstance(step.what, Check):
        return f"check: what an operator demands of numbers{where}"
    assert isinstance(step.what, Guard)
    return f"guard: {step.what.why} found {in_words(step.what.expected)}{where}"


def _boxes(plans: list[Plan]) -> tuple[list[tuple[str, str, str, str]], list[tuple[str, str]]]:
    """(the boxes of a program as (key, kind, label, detail), the arrows between them as (from, to))."""
    boxes: list[tuple[str, str, str, str]] = []
    arrows: dict[tuple[str, str], None] = {}
    maker: dict[int, str] = {}
    for plan in plans:
        for nr, value in enumerate(plan.inputs):
            if value.number not in maker:
                maker[value.number] = key = f"in{value.number}"
                boxes.append((key, "leaf", "cotangent" if plan is not plans[0] else f"input {nr}", form(value)))
        for nr, part in enumerate(plan.parts):
            key = f"p{len(boxes)}_{nr}"
            if isinstance(part, Group):
                inside = "\n".join(step.name for step, _ in part.steps)
                boxes.append((key, "fused", f"{len(part.steps)} steps, block by block", f"{inside}\n{blocks(part)}"))
            elif isinstance(part, NativePart):
                inside = "\n".join(step.name for step in part.steps[:20])
                boxes.append((key, "fused", f"{len(part.steps)} steps, in machine code", inside))
            else:
                boxes.append((key, "operator", part.name, "\n".join(map(form, part.results))))
            arrows |= dict.fromkeys((maker[x.number], key) for x in part.values() if x.number in maker)
            maker |= {x.number: key for x in part.results}
        for nr, value in enumerate(plan.results):
            if plan is plans[-1] or value.number not in {x.number for x in plans[1].inputs}:
                what = "gradient" if plan is not plans[0] else "result"
                boxes.append((key := f"{what}{nr}", "result", what, form(value)))
                if value.number in maker:
                    arrows[maker[value.number], key] = None
    return boxes, [*arrows]


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _bytes(count: int) -> str:
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def _time(seconds: float) -> str:
    scale, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "us"))
    return f"{seconds / scale:.3g} {unit}"
