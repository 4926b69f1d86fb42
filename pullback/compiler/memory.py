"""The memory of a program's values: which may lie in the same, and which is the program's own."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.arrays.traced.graph import Graph, Step, Value
from pullback.compiler.blocks import Group
from pullback.compiler.native.parts import NativePart


class Memory:
    """Which values may lie in the same memory, and which memory is the plan's own."""

    def __init__(self, graph: Graph, inputs: Sequence[Value], steps: Sequence[Step | Group | NativePart]) -> None:
        self._home: dict[int, int] = {}
        self.foreign: set[int] = set()  # the homes of what is not the plan's own
        for value in [*inputs, *(x for x, _, _ in graph.constants)]:
            self.foreign.add(value.number)
        for step in steps:
            if not isinstance(step, Step):
                continue  # what is made together has memory of its own
            values = step.values()
            for result in step.results:
                for place in step.aliases:
                    self._join(result.number, values[place].number)

    def home(self, number: int) -> int:
        """The value that stands for all those in the same memory."""
        while (above := self._home.get(number)) is not None:
            number = above
        return number

    def _join(self, a: int, b: int) -> None:
        a, b = self.home(a), self.home(b)
        if a != b:
            self._home[a] = b
            if a in self.foreign:
                self.foreign.add(b)

    def is_own(self, number: int) -> bool:
        """True if the plan has made this memory itself."""
        return self.home(number) not in self.foreign
