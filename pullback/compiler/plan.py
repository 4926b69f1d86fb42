"""A plan: the graph of a trace as one generated function over NumPy, which runs it without the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.compiler.blocks import grouped
from pullback.compiler.cleaning import needed, without_cleaning
from pullback.compiler.simplify import Simplified
from pullback.compiler.sums import added_in_place
from pullback.compiler.tracing import AS_IT_IS, Trace
from pullback.compiler.writer import Writer


class Plan:
    """The program of a trace.

    Attributes
    ----------
    source : str
        The generated function, `plan(inputs...)`, which returns the arrays of the outputs and of what is written.
    steps : list of Step
        Those that it runs, in order.
    suspect : list of int
        The results in which a NaN would show that a mask was missing: none in the careful form.
    """

    def __init__(self, trace: Trace, careful: bool) -> None:
        graph = trace.graph
        simplified = Simplified(graph, graph.steps)
        wanted = [x for how, x in trace.outputs if how is not AS_IT_IS] + [x for _, x in trace.written]
        results = [simplified.of(x) for x in wanted]
        steps = needed(simplified.steps, results)
        self.suspect: list[int] = []
        if not careful:
            steps, results, self.suspect = without_cleaning(steps, results)
        self.steps = added_in_place(steps, results)
        writer = Writer(graph, grouped(self.steps, results), results)
        self.source, names = writer.source, writer.names
        exec(compile(self.source, "<plan of pullback.compile>", "exec"), names)  # noqa: S102 - our own text
        self.call: Callable[..., Sequence[Any]] = names["plan"]
