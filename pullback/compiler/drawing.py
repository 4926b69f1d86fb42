"""Random numbers in a trace: each draw is a step, which draws afresh from the same generator at each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from pullback.arrays.numpy.random.draws import default_generator
from pullback.arrays.traced.array import TracedArray
from pullback.arrays.traced.graph import Graph
from pullback.core.tensor import Tensor, ndarray, wrap

States = list[tuple[Any, Any]]  # generators, each with a state


class TracedDraws:
    """How a trace treats random numbers: see `core.drawing.Drawing`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def check(self) -> None:
        """Let numbers be drawn that are the same for all samples."""

    def seeded(self) -> None:
        """Refuse a function that seeds the default generator."""
        self._graph.refuse(
            "it seeds the default generator, or sets its state, which a program would not do. Do so before the call, or "
            "draw from a generator of your own"
        )

    def create(self, op: Any, kernel: Callable[..., Any], args: Sequence[Any]) -> Any:
        """An array of random numbers, as a step."""
        graph = self._graph
        graph.note_generator(next((x for x in args if isinstance(x, np.random.Generator)), None) or default_generator())
        found = kernel(*args)
        if not graph.records:
            return found
        step = graph.note(op.kernel, tuple(args), found)
        step.kept = True
        return wrap(TracedArray(step.results[0], found), 0)

    def each(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of an operator that draws for arrays; one of them is traced, so that the draw is a step."""
        places = [n for n, _ in op.tensors if isinstance(args[n], Tensor) or type(args[n]) is ndarray]
        raws: list[Any] = [x._array if isinstance(x := args[n], Tensor) else x for n in places]
        if op.mutates or not self._graph.records or not places or any(type(x) is not ndarray for x in raws):
            return args
        n, given = places[0], raws[0]
        made = wrap(TracedArray(self._graph.constant(given), given), 0)
        return [*args[:n], made, *args[n + 1 :]]

    def again(self) -> AbstractContextManager[None]:
        """Draw once more, as steps too."""
        return nullcontext()


def states_of(generators: Sequence[Any]) -> States:
    """The states that these generators have now."""
    return [(generator, generator.bit_generator.state) for generator in generators]


def put_back(states: States) -> None:
    """Give generators the states that they had."""
    for generator, state in states:
        generator.bit_generator.state = state
