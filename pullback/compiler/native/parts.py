"""Which steps of a program run in machine code, and which stay calls of NumPy between them.

Native steps and calls alternate: a part of native steps, then calls that read what it gives, and so on. Each step is in
the first part where all that it reads is there. Views cost nothing in either: one that a call reads is made by NumPy,
of an array that the part gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.arrays.traced.graph import GUARD, Graph, Step, Value
from pullback.compiler.cleaning import needed
from pullback.compiler.native.lowering import Lowering, is_view
from pullback.compiler.native.program import Native, load_rules
from pullback.compiler.native.toolchain import Toolchain


class NativePart:
    """Steps that run as one call of machine code.

    Attributes
    ----------
    steps : list of Step
    given : list of Value
        What it reads from outside, besides constants.
    results : list of Value
        What others read of it.
    program : Native
    call : callable
        (*arrays) -> the results as a tuple; NotImplemented for arrays of another form than at the trace.

    Parameters
    ----------
    numpys : callable
        (part) -> a function that does the same by NumPy's kernels.
    """

    def __init__(
        self,
        graph: Graph,
        steps: Sequence[Step],
        given: Sequence[Value],
        results: Sequence[Value],
        toolchain: Toolchain,
        numpys: Callable[[NativePart], Callable[..., Any]],
    ) -> None:
        self.graph, self.steps, self.given, self.results = graph, list(steps), list(given), list(results)
        self._numpys = numpys
        self._by_numpy: Callable[..., Any] | None = None
        self.program = Native(graph, given, steps, results, toolchain)
        self.call: Callable[..., Any] = self.program.loaded()

    def by_numpy(self, *arrays: Any) -> Any:
        """The same by NumPy's kernels, for arrays that lie in memory otherwise than at the trace."""
        if self._by_numpy is None:
            self._by_numpy = self._numpys(self)
        return self._by_numpy(*arrays)

    def values(self) -> list[Value]:
        """The values that it reads."""
        return self.given


def in_parts(
    graph: Graph,
    inputs: Sequence[Value],
    steps: Sequence[Step],
    results: Sequence[Value],
    toolchain: Toolchain,
    numpys: Callable[[NativePart], Callable[..., Any]],
) -> list[Step | NativePart]:
    """The steps, those that can run natively in parts; the other arguments are those of a NativePart."""
    lowered = _lowered(graph, inputs, steps, results)
    if not any(step in lowered and not is_view(step) for step in steps):
        return list(steps)
    made = {x.number for step in steps for x in step.results}
    ends = {x.number: x for x in results if x.number in made}
    if len(lowered) == len(steps) and ends:  # one part, which is given and gives what the plan does
        return [NativePart(graph, steps, inputs, list(ends.values()), toolchain, numpys)]
    seen = _seen_by_calls(steps, lowered)
    stages = _stages(steps, lowered)
    constants = {value.number for value, _, _ in graph.constants}
    found: list[Step | NativePart] = []
    for stage in range(1 + max(stages.values())):
        here = [step for step in steps if stages[step] == stage]
        own = [step for step in here if step in lowered]
        known = constants | {x.number for step in own for x in step.results}
        read = {
            x.number
            for step in steps
            if step not in lowered or step in seen or stages[step] > stage
            for x in step.values()
        }
        wanted = {
            x.number: x
            for step in own
            for x in step.results
            if x.number in ends or (step not in seen and x.number in read)
        }
        if not wanted:
            found += needed(own, ())  # what may raise an error
        else:
            own = needed(own, wanted.values())
            given = {x.number: x for step in own for x in step.values() if x.number not in known}
            found.append(NativePart(graph, own, list(given.values()), list(wanted.values()), toolchain, numpys))
        found += [
            step
            for step in here
            if step not in lowered or (step in seen and not all(x.number in wanted for x in step.results))
        ]
    return found


def _lowered(graph: Graph, inputs: Sequence[Value], steps: Sequence[Step], results: Sequence[Value]) -> set[Step]:
    """The steps that have nodes; what others give is taken as given."""
    load_rules()
    lowering = Lowering(graph, results)
    for value in inputs:
        lowering.input(value)
    found = set[Step]()
    for step in steps:
        if lowering.take(step):
            found.add(step)
        else:
            for value in step.results:
                lowering.input(value)
    return found


def without_nodes(graph: Graph, inputs: Sequence[Value], steps: Sequence[Step], results: Sequence[Value]) -> str | None:
    """The name of the first step that stays a call of NumPy; None if all run in machine code."""
    lowered = _lowered(graph, inputs, steps, results)
    return next((step.name for step in steps if step not in lowered), None)


def _seen_by_calls(steps: Sequence[Step], lowered: set[Step]) -> set[Step]:
    """The views that calls read, which NumPy makes too."""
    found, read = set[Step](), set[int]()
    for step in reversed(steps):
        if step not in lowered or (is_view(step) and not read.isdisjoint(x.number for x in step.results)):
            if step in lowered:
                found.add(step)
            read.update(x.number for x in step.values())
    return found


def _stages(steps: Sequence[Step], lowered: set[Step]) -> dict[Step, int]:
    """The part in which each step is, or after which."""
    made: dict[int, tuple[int, bool]] = {}
    found: dict[Step, int] = {}
    last = 0  # of what must stay in order
    for step in steps:
        is_native = step in lowered
        stage = max(
            (
                at + (is_native and not by_native)
                for at, by_native in (made.get(x.number, (0, True)) for x in step.values())
            ),
            default=0,
        )
        if step.kept or step.form is GUARD:
            stage = last = max(stage, last)
        found[step] = stage
        made.update((x.number, (stage, is_native)) for x in step.results)
    return found
