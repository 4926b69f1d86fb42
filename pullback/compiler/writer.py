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
from pullback.arrays.traced.graph import GUARD, ONE, Graph, Guard, Step, Value, key_of, spread
from pullback.compiler.blocks import BLOCK, Group, is_sum
from pullback.compiler.lowering import lowered
from pullback.compiler.memory import Memory
from pullback.core.array_type import NUMPY
from pullback.core.late import ready

_REUSED = (
    2048  # elements, from which on an array of the program's own is written into again: below, a new one is as quick
)


class LeftError(Exception):
    """A guard has not held: the program is not that of this call."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard


class Writer:
    """Writes the function of one graph."""

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], steps: Sequence[Step | Group], results: Sequence[Value]
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
        self._memory = Memory(graph, inputs, steps)
        self._last: dict[int, int] = {}  # the last step that reads each memory
        for at, step in enumerate(steps):
            for value in (*step.values(), *step.results):
                self._last[self._memory.home(value.number)] = at
        for value in results:
            self._last[self._memory.home(value.number)] = len(steps)
        self._arrays: set[int] = set()  # numbers that have been made arrays
        lines = [line for at, step in enumerate(steps) for line in self._step(at, step)]
        head = f"def plan({', '.join(self._name(x) for x in inputs)}):"
        before = ["before = warning_state()", "try:", "    ignore_warnings()"]  # eager operators give none either
        body = [f"    {line}" for line in (*lines, f"return {self._returned(results)}")]
        self.source = "\n    ".join([head, *before, *body, "finally:", "    restore(before)"]) + "\n"

    # -- names ---------------------------------------------------------------------------------------------------------
    def _name(self, value: Value) -> str:
        return self._constants.get(value.number) or f"v{value.number}"

    def _global(self, stem: str, x: Any) -> str:
        key = (stem, key_of(x))
        if (name := self._by_key.get(key)) is None:
            name = self._by_key[key] = (
                stem if stem not in self.names and stem[-1] == "_" else f"{stem}{len(self.names)}"
            )
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
    def _step(self, at: int, step: Step | Group) -> list[str]:
        if isinstance(step, Group):
            return self._group(at, step)
        if step.form is GUARD:
            return self._guard(step)
        kernel, given = lowered(step)
        ufunc = isinstance(kernel, np.ufunc)
        args = [self._argument(x, ufunc) for x in given]
        if step.writes and not self._may_write(at, step, step.args[0]):
            args[0] += ".copy()"
        if ufunc and (target := self._target(at, step)) is not None:
            args.append(f"out={target}")
        called = f"{args[0]}[{args[1]}]" if kernel is getitem else f"{self._kernel(step, kernel)}({', '.join(args)})"
        results = ", ".join(map(self._name, step.results))
        lines = [f"{results}{',' if step.form is not ONE and len(step.results) == 1 else ''} = {called}"]
        if dead := self._dead(at, step):
            lines.append(f"del {', '.join(dead)}")
        return lines

    def _group(self, at: int, group: Group) -> list[str]:
        """The loop over the blocks of a group: f are whole arrays, flat, b blocks of them, t the memory of blocks."""
        self.names |= {"empty": np.empty, "BLOCK": BLOCK}
        arrays = [x for x in group.values() if x.shape == group.shape]
        kept = {x.number for x in group.results}
        before = [f"f{x.number} = {self._name(x)}.reshape(-1)" for x in arrays]
        inside = [f"b{x.number} = f{x.number}[i:i + BLOCK]" for x in arrays]
        after: list[str] = []
        own = [x for x in arrays if self._is_free(at, x)]
        last = {x.number: step for step in group.steps for x in step.values()}
        spare: dict[Any, list[str]] = {}
        lent: dict[int, str] = {}  # by value: the memory of its block
        blocks = {x.number for x in arrays}
        for step in group.steps:
            (result,) = step.results
            name, dtype = f"b{result.number}", self._global("d", result.dtype)
            kernel, given = lowered(step)
            ufunc = isinstance(kernel, np.ufunc)
            args = ", ".join(
                f"b{x.number}" if type(x) is Value and x.number in blocks else self._argument(x, True) for x in given
            )
            called = f"{self._kernel(step, kernel)}({args}"
            for x in step.values():
                if last[x.number] is step and (memory := lent.pop(x.number, "")):
                    spare[x.dtype].append(memory)
            if is_sum(step):
                total = self._name(result)
                before.append(f"{total} = 0.0")
                inside.append(f"{total} += float({called}))")
                after.append(f"{total} = {dtype}.type({total})")
                continue
            blocks.add(result.number)
            if result.number in kept:
                # Where an array is read for the last time, block by block, its memory serves.
                taken = next((x for x in own if x.dtype == result.dtype and last[x.number] is step), None)
                if taken is not None:
                    own.remove(taken)
                    before.append(f"{self._name(result)}, f{result.number} = {self._name(taken)}, f{taken.number}")
                else:
                    before.append(f"{self._name(result)} = empty({result.shape}, {dtype})")
                    before.append(f"f{result.number} = {self._name(result)}.reshape(-1)")
                inside.append(f"{name} = f{result.number}[i:i + BLOCK]")
                inside.append(f"{called}, out={name})" if ufunc else f"{name}[...] = {called})")
            elif ufunc:
                memories = spare.setdefault(result.dtype, [])
                if not memories:
                    memories.append(f"t{result.number}")
                    before.append(f"t{result.number} = empty(BLOCK, {dtype})")
                lent[result.number] = memory = memories.pop()
                inside.append(f"{called}, out=({name} := {memory}[:m]))")
            else:
                inside.append(f"{name} = {called})")
        dead, count = self._dead(at, group), prod(group.shape)
        loop = [f"for i in range(0, {count}, BLOCK):", *(f"    {x}" for x in (f"m = min(BLOCK, {count} - i)", *inside))]
        return [*before, *loop, *after, *([f"del {', '.join(dead)}"] if dead else [])]

    def _kernel(self, step: Step, kernel: Any) -> str:
        stem = getattr(kernel, "__name__", step.name)
        return self._global(f"{stem}_" if stem.isidentifier() else "function_", kernel)

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

    def _dead(self, at: int, step: Step | Group) -> list[str]:
        """The large arrays that nobody reads after this step."""
        found = {x.number: x for x in (*step.values(), *step.results) if prod(x.shape) >= _REUSED}
        return [
            self._name(x)
            for x in found.values()
            if self._memory.is_own(x.number) and self._last[self._memory.home(x.number)] == at
        ]

    def _returned(self, results: Sequence[Value]) -> str:
        """What the caller gets: nothing in it shares memory with anything else."""
        seen, found = set[int](), []
        for x in results:
            home = self._memory.home(x.number)
            name = self._name(x)
            if not x.single and (home in seen or not self._memory.is_own(home)):
                name = f"{name}.copy()"
            seen.add(home)
            found.append(name)
        return f"({''.join(f'{x}, ' for x in found)})"
