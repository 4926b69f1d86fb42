"""Random numbers in a trace: each draw is a step, which draws afresh from the same generator at each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pullback.arrays.traced.array import TracedArray
from pullback.arrays.traced.graph import Graph
from pullback.core.tensor import Tensor, ndarray, wrap


class TracedDraws:
    """How a trace treats random numbers: see `core.drawing.Drawing`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def check(self) -> None:
        """Let numbers be drawn that are the same for all samples."""

    def create(self, op: Any, kernel: Callable[..., Any], args: Sequence[Any]) -> Any:
        """An array of random numbers, as a step."""
        graph, found = self._graph, kernel(*args)
        if not graph.records:
            if graph.reads is not None:
                graph.reads.drew = True
            return found
        step = graph.note(op.kernel, tuple(args), found)
        step.kept = True
        return wrap(TracedArray(step.results[0], found), 0)

    def each(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of an operator that draws for arrays; one of them is traced, so that the draw is a step."""
        graph = self._graph
        places = [n for n, _ in op.tensors if isinstance(args[n], Tensor) or type(args[n]) is ndarray]
        raws: list[Any] = [x._array if isinstance(x := args[n], Tensor) else x for n in places]
        if not graph.records:
            if graph.reads is not None:
                graph.reads.drew = True
            return args
        if op.mutates or not places or any(type(x) is not ndarray for x in raws):
            return args
        n, given = places[0], raws[0]
        made = wrap(TracedArray(graph.constant(given), given), 0)
        return [*args[:n], made, *args[n + 1 :]]

    def again(self) -> AbstractContextManager[None]:
        """Draw once more, as steps too."""
        return nullcontext()
