"""A plan: steps of a graph as one generated function over NumPy, which runs them without the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.arrays.traced.calls import PlainCall, run_alone
from pullback.arrays.traced.graph import Graph, Step, Value
from pullback.compiler.blocks import grouped
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

    Attributes
    ----------
    graph, inputs, results
        As given.
    source : str
        The text of the function.
    steps : list of Step
        Those that it runs, in order.
    parts : list of Step or Group
        The same, those that run block by block in groups.
    names : dict
        The globals of the function.
    """

    def __init__(self, graph: Graph, inputs: Sequence[Value], steps: Sequence[Step], results: Sequence[Value]) -> None:
        self.steps = added_in_place(steps, results)
        self.graph, self.inputs, self.results = graph, inputs, results
        self.parts = grouped(self.steps, results)
        writer = Writer(graph, inputs, self.parts, results)
        self.source, self.names = writer.source, writer.names
        exec(compile(self.source, "<plan of pullback.compile>", "exec"), self.names)  # noqa: S102 - our own text
        self.call: Callable[..., Sequence[Any]] = self.names["plan"]
        if any(type(step.what) is PlainCall for step in self.steps):
            self.call = run_alone(graph, self.call)
