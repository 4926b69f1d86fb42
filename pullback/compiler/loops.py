"""Writes the loop of a group over its blocks.

In the text v are whole arrays, f the same flat, b blocks of them, t memory in which blocks are computed. Memory of a
block is used again once nobody reads it, and an array that nobody reads afterwards is overwritten block by block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.blocks import Group
from pullback.compiler.lowering import lowered
from pullback.compiler.rows import ByRows, elements_of, trailing

_SHORT = 64  # elements of a row that is shorter than what NumPy's loops want


class Loop:
    """The text of one group."""

    def __init__(self, writer: Any, group: Group, at: int) -> None:
        self._writer, self._group = writer, group
        writer.names["empty"] = np.empty
        self._block = min(group.block(), group.rows)
        self._before: list[str] = []
        self._inside: list[str] = []
        self._rows: dict[int, Value] = {}  # by number, the values of which there are blocks
        self._kept = {x.number for x in group.results}
        self._homes: dict[int, int] = {}  # of blocks that are views: whose memory they are in
        self._last = self._last_uses()
        self._spare: dict[Any, list[str]] = {}
        self._lent: dict[int, tuple[Any, str]] = {}  # by value: the memory of its block
        outside = {x.number: x for step, way in group.steps for x in _taken(step, way) if x.number not in group.made}
        for x in outside.values():
            self._enter(x, writer.name(x))
        homes = [writer.memory.home(x.number) for x in group.values()]
        self._own = [x for x in outside.values() if writer.is_free(at, x) and homes.count(x.number) == 1]
        for nr, (step, way) in enumerate(group.steps):
            self._step(nr, step, way)

    def lines(self) -> list[str]:
        """The lines of the loop, and of what comes before it."""
        count = self._group.rows
        head = [f"for i in range(0, {count}, {self._block}):", f"    m = min({self._block}, {count} - i)"]
        return [*self._before, *head, *(f"    {line}" for line in self._inside)]

    def _last_uses(self) -> dict[int, int]:
        """By the memory of a block, the number of the last step that reads it."""
        last: dict[int, int] = {}
        for nr, (step, _) in enumerate(self._group.steps):
            values = step.values()
            if step.aliases:
                self._homes[step.results[0].number] = self._home(values[step.aliases[0]].number)
            for x in values:
                last[self._home(x.number)] = nr
        return last

    def _home(self, number: int) -> int:
        return self._homes.get(number, number)

    def _enter(self, x: Value, whole: str) -> None:
        """Take blocks of a whole array."""
        self._rows[x.number] = x
        if self._group.flat is not None and len(x.shape) != 1:
            self._before.append(f"f{x.number} = {whole}.reshape(-1)")
            whole = f"f{x.number}"
        self._inside.append(f"b{x.number} = {whole}[i:i + {self._block}]")

    def _step(self, nr: int, step: Step, way: ByRows) -> None:
        (result,) = step.results
        kernel, given = lowered(step)
        ufunc = isinstance(kernel, np.ufunc)
        args = [self._argument(x, ufunc) for x in given]
        if way.sized is not None:
            shapes = (step.args[way.sized], result.shape)  # in which the number of rows is that of the block
            args = [
                f"(m, {''.join(f'{n}, ' for n in x[1:])})" if type(x) is tuple and x in shapes else text
                for x, text in zip(given, args, strict=True)
            ]
        if step.writes:
            args[0] += ".copy()"
        called, close = (text := self._writer.called(step, kernel, args))[:-1], text[-1]
        self._give_back(nr, step)
        if way.total:
            self._total(result, f"{called}{close}")
            return
        name = f"b{result.number}"
        self._rows[result.number] = result
        if result.number in self._kept:
            self._keep(nr, step, result)
            self._inside.append(f"{called}, out={name})" if ufunc else f"{name}[...] = {called}{close}")
        elif ufunc:
            self._inside.append(f"{called}, out=({name} := {self._memory(result)}[:m]))")
        else:
            self._inside.append(f"{name} = {called}{close}")

    def _argument(self, x: Any, numbers: bool) -> str:
        return f"b{x.number}" if type(x) is Value and x.number in self._rows else self._writer.argument(x, numbers)

    def _give_back(self, nr: int, step: Step) -> None:
        """The memory of blocks that are read for the last time is free again, for the result of this step too."""
        for x in step.values():
            home = self._home(x.number)
            if self._last[home] == nr and home in self._lent:
                key, memory = self._lent.pop(home)
                self._spare[key].append(memory)

    def _memory(self, result: Value) -> str:
        shape = () if self._group.flat is not None else trailing(result)
        key = (result.dtype, shape)
        memories = self._spare.setdefault(key, [])
        if not memories:
            memories.append(f"t{result.number}")
            dtype = self._writer.shared("d", result.dtype)
            made = f"empty({(self._block, *shape)}, {dtype})"
            if shape and elements_of(result) <= _SHORT:
                # With the rows last in memory: NumPy's inner loops are as long as the block then, and not as a row.
                made = f"empty({(*shape, self._block)}, {dtype}).transpose({(len(shape), *range(len(shape)))})"
            self._before.append(f"t{result.number} = {made}")
        memory = memories.pop()
        self._lent[result.number] = (key, memory)
        return memory

    def _keep(self, nr: int, step: Step, result: Value) -> None:
        """Let a result that others read be whole: in an array that nobody reads any more, or a new one."""
        for x in self._own:
            if x.dtype == result.dtype and x.shape == result.shape and self._last[x.number] == nr and not step.aliases:
                self._own.remove(x)
                self._before.append(f"{self._writer.name(result)} = {self._writer.name(x)}")
                break
        else:
            dtype = self._writer.shared("d", result.dtype)
            self._before.append(f"{self._writer.name(result)} = empty({result.shape}, {dtype})")
        self._enter(result, self._writer.name(result))

    def _total(self, result: Value, called: str) -> None:
        name = self._writer.name(result)
        self._writer.names["add"] = np.add
        if result.shape == ():
            self._inside.append(f"{name} = {name} + {called} if i else {called}")
        else:
            self._inside += [f"p = {called}", f"{name} = add({name}, p, {name}) if i else p.copy()"]


def _taken(step: Step, way: ByRows) -> list[Value]:
    return [step.args[nr] for nr in way.places]
