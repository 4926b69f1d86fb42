"""Writes a program as one Python function over NumPy.

Each step is a line. What nobody reads any more is let go at once, or written over: a kernel that can write into a given
array gets one that is free. Nothing is written before all guards have held, but into arrays of the program's own, so a
caller can leave in the middle and do the call in another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import getitem
from typing import Any

import numpy as np

from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.arrays.traced.graph import GUARD, ONE, Graph, LeftError, Step, Value, key_of, spread
from pullback.compiler.blocks import Group, in_order
from pullback.compiler.loops import Loop
from pullback.compiler.lowering import TRANSPOSED, lowered
from pullback.compiler.memory import Memory
from pullback.compiler.native.parts import NativePart
from pullback.core.array_type import NUMPY
from pullback.core.late import ready
from pullback.graph.strides import copied

_REUSED = 512  # elements, from which on an array of the program's own is written into again: below a new one is quick


def _is_like(x: Value, result: Value) -> bool:
    return x.shape == result.shape and x.dtype == result.dtype and x.strides == result.strides


class Writer:
    """Writes the function of one graph."""

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Value],
        steps: Sequence[Step | Group | NativePart],
        results: Sequence[Value],
    ) -> None:
        self.names: dict[str, Any] = {
            "asarray": np.asarray, "warning_state": warning_state, "ignore_warnings": ignore_warnings,
            "restore": restore,
        }  # fmt: skip
        self._constants: dict[int, str] = {}
        for value, array, _ in graph.constants:
            self.names[name := f"c{value.number}"] = array
            self._constants[value.number] = name
        self._by_key: dict[Any, str] = {}
        self.memory = Memory(graph, inputs, steps)
        self._last: dict[int, int] = {}  # the last step that reads each memory
        for at, step in enumerate(steps):
            for value in (*step.values(), *step.results):
                self._last[self.memory.home(value.number)] = at
        for value in results:
            self._last[self.memory.home(value.number)] = len(steps)
        self._arrays: set[int] = set()  # numbers that have been made arrays
        lines = [line for at, step in enumerate(steps) for line in self._step(at, step)]
        head = f"def plan({', '.join(self.name(x) for x in inputs)}):"
        if all(isinstance(step, NativePart) for step in steps):  # nothing that could warn
            self.source = "\n    ".join([head, *lines, f"return {self._returned(results)}"]) + "\n"
            return
        before = ["before = warning_state()", "try:", "    ignore_warnings()"]  # eager operators give none either
        body = [f"    {line}" for line in (*lines, f"return {self._returned(results)}")]
        self.source = "\n    ".join([head, *before, *body, "finally:", "    restore(before)"]) + "\n"

    # -- names ---------------------------------------------------------------------------------------------------------
    def name(self, value: Value) -> str:
        """The name of a value in the text."""
        return self._constants.get(value.number) or f"v{value.number}"

    def shared(self, stem: str, x: Any) -> str:
        """The name of an object that the function finds among its globals."""
        key = (stem, key_of(x))
        if (name := self._by_key.get(key)) is None:
            name = self._by_key[key] = (
                stem if stem not in self.names and stem[-1] == "_" else f"{stem}{len(self.names)}"
            )
            self.names[name] = x
        return name

    def argument(self, x: Any, numbers: bool) -> str:
        """An argument of a call in the text; with `numbers` one of NumPy's numbers will do for an array."""
        if type(x) is Value:
            if x.single and not numbers and x.number not in self._arrays:
                return f"asarray({self.name(x)})"
            return self.name(x)
        if type(x) is tuple:
            return f"({''.join(f'{self.argument(y, numbers)}, ' for y in x)})"
        if type(x) is list:
            return f"[{', '.join(self.argument(y, numbers) for y in x)}]"
        if x is None or type(x) in (bool, int, str):
            return repr(x)
        return self.shared("x", x)

    # -- steps ---------------------------------------------------------------------------------------------------------
    def _step(self, at: int, step: Step | Group | NativePart) -> list[str]:
        if isinstance(step, Group):
            lines = Loop(self, step, at).lines()
            return [*lines, f"del {', '.join(dead)}"] if (dead := self._dead(at, step)) else lines
        if isinstance(step, NativePart):
            return [*self._native(step), *([f"del {', '.join(dead)}"] if (dead := self._dead(at, step)) else [])]
        if step.form is GUARD:
            return self._guard(step)
        kernel, given = lowered(step)
        ufunc = isinstance(kernel, np.ufunc)
        args = [self.argument(x, ufunc) for x in given]
        if step.writes and not self._may_write(at, step, step.args[0]):
            args[0] = self._copied(args[0], step.args[0])
        if ufunc and (target := self._target(at, step)) is not None:
            args.append(f"out={target}")
        called = self.called(step, kernel, args)
        results = ", ".join(map(self.name, step.results))
        results += "," if step.form is not ONE and len(step.results) == 1 else ""
        lines = [f"{results} = {called}" if results else called]
        if dead := self._dead(at, step):
            lines.append(f"del {', '.join(dead)}")
        return lines

    def _native(self, part: NativePart) -> list[str]:
        """A call of machine code, or of NumPy for arrays that lie otherwise than at the trace."""
        given = ", ".join(self.argument(x, False) for x in part.given)
        native, other = self.shared("native", part.call), self.shared("by_numpy", part.by_numpy)
        return [
            f"if (found := {native}({given})) is NotImplemented: found = {other}({given})",
            f"{', '.join(map(self.name, part.results))}, = found",
        ]

    def called(self, step: Step, kernel: Any, args: Sequence[str]) -> str:
        """The text of a call."""
        if kernel is getitem:
            return f"{args[0]}[{args[1]}]"
        return f"{args[0]}.T" if kernel is TRANSPOSED else f"{self.kernel(step, kernel)}({', '.join(args)})"

    def kernel(self, step: Step, kernel: Any) -> str:
        """The name of the function that a step calls."""
        stem = getattr(kernel, "__name__", step.name)
        return self.shared(f"{stem}_" if stem.isidentifier() else "function_", kernel)

    def _guard(self, step: Step) -> list[str]:
        guard = step.what
        if step.args and (isinstance(step.args[0], str) or callable(step.args[0])):
            what, args = step.args[0], step.args[1]
            kernel = ready(NUMPY.kernels[what]) if isinstance(what, str) else what
            found = f"{self.shared('f', kernel)}({', '.join(self.argument(x, False) for x in args)})"
        else:
            found = ", ".join(self.argument(x, False) for x in step.args)
        name = self.shared("g", guard)
        self.names["LeftError"] = LeftError
        return [f"if not {name}({found}): raise LeftError({name})"]

    def _may_write(self, at: int, step: Step, target: Any) -> bool:
        """True if nothing but this step's results needs the memory of its first argument from here on."""
        if type(target) is not Value or not self.memory.is_own(target.number):
            return False
        others = [x for x in spread(step.args[1:]) if type(x) is Value]
        home = self.memory.home(target.number)
        if home != target.number or target.strides != step.results[0].strides:
            return False  # a view may name an element twice, and what follows counts on the order in memory
        return self._last[home] == at and all(self.memory.home(x.number) != home for x in others)

    def _copied(self, name: str, x: Any) -> str:
        """The text of a copy to write into, which lies in memory as the array does."""
        return (
            f"{self.shared('copied_', copied)}({name})"
            if type(x) is Value and not in_order(x, x.shape)
            else f"{name}.copy()"
        )

    def _target(self, at: int, step: Step) -> str | None:
        """An array that the step reads, and nobody after it, into which it may write its result."""
        result = step.results[0]
        if len(step.results) != 1 or result.single or prod(result.shape) < _REUSED:
            return None
        for x in step.args:
            if type(x) is Value and _is_like(x, result) and 0 not in x.strides and self.is_free(at, x):
                return self.name(x)
        return None

    def is_free(self, at: int, x: Value) -> bool:
        """True if an array is the program's own, and nobody reads it after this step."""
        home = self.memory.home(x.number)
        return home == x.number and self.memory.is_own(home) and self._last[home] == at and not x.single

    def _dead(self, at: int, step: Step | Group | NativePart) -> list[str]:
        """The arrays that nobody reads after this step: memory that is given back at once is still in the cache."""
        found = {x.number: x for x in (*step.values(), *step.results)}
        return [
            self.name(x)
            for x in found.values()
            if self.memory.is_own(x.number) and self._last[self.memory.home(x.number)] == at
        ]

    def _returned(self, results: Sequence[Value]) -> str:
        """The text of what the caller gets: nothing in it shares memory with anything else."""
        seen, found = set[int](), []
        for x in results:
            home = self.memory.home(x.number)
            name = self.name(x)
            if not x.single and (home in seen or not self.memory.is_own(home)):
                name = f"{name}.copy()"
            seen.add(home)
            found.append(name)
        return f"({''.join(f'{x}, ' for x in found)})"
