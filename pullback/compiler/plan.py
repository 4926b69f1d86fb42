"""A plan: steps of a graph as one generated function over NumPy, which runs them without the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.arrays.traced.calls import PlainCall, run_alone
from pullback.arrays.traced.graph import Graph, Step, Value
from pullback.compiler.blocks import Group, grouped
from pullback.compiler.native.cache import say_once
from pullback.compiler.native.parts import NativePart, in_parts
from pullback.compiler.native.toolchain import CompilerError, chosen
from pullback.compiler.parts import taken_apart
from pullback.compiler.sums import added_in_place
from pullback.compiler.writer import Writer


class Plan:
    """Steps of a graph that compute some of its values from others.

    Parameters
    ----------
    graph : Graph
    inputs : sequence of Value
        The arguments of the function; the graph's constants are known to it.
    steps : sequence of Step
    results : sequence of Value
        The arrays that the function returns, none of which shares memory with another one or with anything outside.
    native : bool
        Machine code is made where there is a compiler.

    Attributes
    ----------
    graph, inputs, results
        As given.
    source : str
        The text of the function.
    steps : list of Step
        Those that it runs, in order.
    parts : list of Step, Group or NativePart
        The same, those that run block by block in groups, those that run in machine code in parts.
    names : dict
        The globals of the function.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Value],
        steps: Sequence[Step],
        results: Sequence[Value],
        native: bool = True,
    ) -> None:
        self.graph, self.inputs, self.results = graph, inputs, results
        self.steps = added_in_place(steps, results)
        self.parts: list[Step | Group | NativePart] = []
        if native and (tool := chosen(graph.asked_for)) is not None:
            try:
                parts = in_parts(graph, inputs, self.steps, results, tool, _by_numpy)
            except Exception as error:  # noqa: BLE001 - a mistake in the making of machine code, too
                what = error if isinstance(error, CompilerError) else f"{type(error).__name__}: {error}"
                say_once(f"a program runs without machine code: {what}")
                parts = []
            if any(isinstance(part, NativePart) for part in parts):
                self.parts = [
                    x
                    for part in parts
                    for x in ([part] if isinstance(part, NativePart) else taken_apart(graph, [part]))
                ]
        if not self.parts:
            self.steps = taken_apart(graph, self.steps)
            self.parts = [*grouped(self.steps, results)]
        writer = Writer(graph, inputs, self.parts, results)
        self.source, self.names = writer.source, writer.names
        exec(compile(self.source, "<plan of pullback.compile>", "exec"), self.names)  # noqa: S102 - our own text
        self.call: Callable[..., Sequence[Any]] = self.names["plan"]
        if any(type(step.what) is PlainCall for step in self.steps):
            self.call = run_alone(graph, self.call)


def _by_numpy(part: NativePart) -> Callable[..., Any]:
    """A part by NumPy's kernels."""
    return Plan(part.graph, part.given, part.steps, part.results, native=False).call
