"""A plan: the graph of a trace as one generated Python function over NumPy, which runs it without the rules.

Each step is a line. What nobody reads any more is let go at once, or written over: a kernel that can write into a given
array gets one that is free. Nothing is written before all guards have held, but into arrays of the plan's own, so a
caller can leave in the middle and do the call in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from pullback.arrays.traced.calls import PlainCall, run_alone
from pullback.arrays.traced.graph import GUARD, ONE, Graph, LeftError, Step, Value, key_of, spread
from pullback.compiler.simplify import Simplified
from pullback.compiler.tracing import AS_IT_IS, Trace
from pullback.core.array_type import NUMPY
from pullback.core.late import ready

_REUSED = 2048  # elements, from which on an array of the plan's own is written into again: below, a new one is as quick


class Plan:
    """The program of a trace.

    Attributes
    ----------
    source : str
        The generated function, `plan(inputs...)`, which returns the arrays of the outputs and of what is written.
    steps : list of Step
        Those that it runs, in order.
    """

    def __init__(self, trace: Trace) -> None:
        graph = trace.graph
        self.inputs = len(graph.inputs)
        found = Simplified(graph, graph.steps)
        returned = [found.of(x) for how, x in trace.outputs if how is not AS_IT_IS]
        written = [found.of(x) for _, x in trace.written]
        self.steps = needed(found.steps, [*returned, *written])
        writer = _Writer(graph, self.steps, returned, written)
        self.source, names = writer.source, writer.names
        exec(compile(self.source, "<plan of pullback.compile>", "exec"), names)  # noqa: S102 - our own text
        self.call: Callable[..., Sequence[Any]] = names["plan"]
        if any(type(step.what) is PlainCall for step in self.steps):
            self.call = run_alone(graph, self.call)


def needed(steps: Sequence[Step], wanted: Iterable[Value]) -> list[Step]:
    """The steps that the wanted values, and the guards, are computed by."""
    alive, kept = {x.number for x in wanted}, []
    for step in reversed(steps):
        if step.form is GUARD or step.kept or not alive.isdisjoint(x.number for x in step.results):
            alive.update(x.number for x in step.values())
            kept.append(step)
    return kept[::-1]


class _Memory:
    """Which values may lie in the same memory, and which memory is the plan's own."""

    def __init__(self, graph: Graph, steps: Sequence[Step]) -> None:
        self._home: dict[int, int] = {}
        self.foreign: set[int] = set()  # the homes of what is not the plan's own
        for value in [*graph.inputs, *(x for x, _, _ in graph.constants)]:
            self.foreign.add(value.number)
        for step in steps:
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


class _Writer:
    """Writes the function of one graph."""

    def __init__(
        self, graph: Graph, steps: Sequence[Step], returned: Sequence[Value], written: Sequence[Value]
    ) -> None:
        self.names: dict[str, Any] = {"asarray": np.asarray}
        self._constants: dict[int, str] = {}
        for value, array, _ in graph.constants:
            self.names[name := f"c{value.number}"] = array
            self._constants[value.number] = name
        self._by_key: dict[Any, str] = {}
        self._memory = _Memory(graph, steps)
        self._last: dict[int, int] = {}  # the last step that reads each memory
        for at, step in enumerate(steps):
            for value in (*step.values(), *step.results):
                self._last[self._memory.home(value.number)] = at
        for value in (*returned, *written):
            self._last[self._memory.home(value.number)] = len(steps)
        self._arrays: set[int] = set()  # numbers that have been made arrays
        lines = [line for at, step in enumerate(steps) for line in self._step(at, step)]
        head = f"def plan({', '.join(self._name(x) for x in graph.inputs)}):"
        self.source = "\n    ".join([head, *lines, f"return {self._returned(returned, written)}"]) + "\n"

    # -- names ---------------------------------------------------------------------------------------------------------
    def _name(self, value: Value) -> str:
        return self._constants.get(value.number) or f"v{value.number}"

    def _global(self, stem: str, x: Any) -> str:
        key = (stem, key_of(x))
        if (name := self._by_key.get(key)) is None:
            name = self._by_key[key] = f"{stem}{len(self._by_key)}"
            self.names[name] = x
        return name

    def _argument(self, x: Any, numbers: bool) -> str:
        if type(x) is Value:
            if x.single and not numbers and x.number not in self._arrays:
                return f"asarray({self._name(x)})"
            return self._name(x)
        if type(x) is tuple:
            return f"({''.join(f'{self._argument(y, numbers)}, ' for y in x)})"
        if type(x) is list:
            return f"[{', '.join(self._argument(y, numbers) for y in x)}]"
        if x is None or type(x) in (bool, int, str):
            return repr(x)
        return self._global("x", x)

    # -- steps ---------------------------------------------------------------------------------------------------------
    def _step(self, at: int, step: Step) -> list[str]:
        if step.form is GUARD:
            return self._guard(step)
        kernel = ready(NUMPY.kernels[step.what]) if isinstance(step.what, str) else step.what
        ufunc = isinstance(kernel, np.ufunc)
        args = [self._argument(x, ufunc) for x in step.args]
        if step.writes and not self._may_write(at, step, step.args[0]):
            args[0] += ".copy()"
        if ufunc and (target := self._target(at, step)) is not None:
            args.append(f"out={target}")
        called = f"{self._kernel(step, kernel)}({', '.join(args)})"
        results = ", ".join(map(self._name, step.results))
        results += "," if step.form is not ONE and len(step.results) == 1 else ""
        lines = [f"{results} = {called}" if results else called]
        if dead := self._dead(at, step):
            lines.append(f"del {', '.join(dead)}")
        return lines

    def _kernel(self, step: Step, kernel: Any) -> str:
        name = step.what if isinstance(step.what, str) and step.what.isidentifier() else self._global("f", kernel)
        name = name if name.startswith("f") and name[1:].isdigit() else f"{name}_"
        self.names[name] = kernel
        return name

    def _guard(self, step: Step) -> list[str]:
        guard = step.what
        if step.args and (isinstance(step.args[0], str) or callable(step.args[0])):
            what, args = step.args[0], step.args[1]
            kernel = ready(NUMPY.kernels[what]) if isinstance(what, str) else what
            found = f"{self._global('f', kernel)}({', '.join(self._argument(x, False) for x in args)})"
        else:
            found = ", ".join(self._argument(x, False) for x in step.args)
        name = self._global("g", guard)
        self.names["LeftError"] = LeftError
        return [f"if not {name}({found}): raise LeftError({name})"]

    def _may_write(self, at: int, step: Step, target: Any) -> bool:
        """True if nothing but this step's results needs the memory of its first argument from here on."""
        if type(target) is not Value or not self._memory.is_own(target.number):
            return False
        others = [x for x in spread(step.args[1:]) if type(x) is Value]
        home = self._memory.home(target.number)
        return self._last[home] == at and all(self._memory.home(x.number) != home for x in others)

    def _target(self, at: int, step: Step) -> str | None:
        """An array that the step reads, and nobody after it, into which it may write its result."""
        result = step.results[0]
        if len(step.results) != 1 or result.single or prod(result.shape) < _REUSED:
            return None
        for x in step.args:
            if type(x) is Value and x.shape == result.shape and x.dtype == result.dtype and self._is_free(at, x):
                return self._name(x)
        return None

    def _is_free(self, at: int, x: Value) -> bool:
        home = self._memory.home(x.number)
        return home == x.number and self._memory.is_own(home) and self._last[home] == at and not x.single

    def _dead(self, at: int, step: Step) -> list[str]:
        """The large arrays that nobody reads after this step."""
        found = {x.number: x for x in (*step.values(), *step.results) if prod(x.shape) >= _REUSED}
        return [
            self._name(x)
            for x in found.values()
            if self._memory.is_own(x.number) and self._last[self._memory.home(x.number)] == at
        ]

    def _returned(self, returned: Sequence[Value], written: Sequence[Value]) -> str:
        """What the caller gets: nothing in it shares memory with anything else."""
        seen, found = set[int](), []
        for x in (*returned, *written):
            home = self._memory.home(x.number)
            name = self._name(x)
            if not x.single and (home in seen or not self._memory.is_own(home)):
                name = f"{name}.copy()"
            seen.add(home)
            found.append(name)
        return f"({''.join(f'{x}, ' for x in found)})"
