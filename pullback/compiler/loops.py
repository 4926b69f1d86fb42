"""Writes the loop of a group over its blocks.

In the text v are whole arrays, f the same flat, b blocks of them, t memory in which blocks are computed. Memory of a
block is used again once nobody reads it, and an array that nobody reads afterwards is overwritten block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.arrays.numpy.linalg.products import contraction
from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.blocks import Group
from pullback.compiler.lowering import lowered
from pullback.compiler.rows import ByRows, elements_of, trailing
from pullback.core.types import Shape

_SHORT = 64  # elements of a row that is shorter than what NumPy's loops want
_INNER = 32  # elements of a last dimension that is as short, where NumPy cannot make one loop of several dimensions
_TURNING = 8  # short loops over an array that take as long as to turn it


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
        self._turns = self._is_turned(list(outside.values()))
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
            if step.aliases or self._is_only_copied(step):
                place = step.aliases[0] if step.aliases else 0
                self._homes[step.results[0].number] = self._home(values[place].number)
            for x in values:
                last[self._home(x.number)] = nr
        return last

    def _is_only_copied(self, step: Step) -> bool:
        """True if a step copies a block into memory of its own, which need not be: no block is written into."""
        return step.what == "clone" and step.results[0].number not in self._kept

    def _home(self, number: int) -> int:
        return self._homes.get(number, number)

    def _enter(self, x: Value, whole: str, is_result: bool = False) -> None:
        """Take blocks of a whole array."""
        self._rows[x.number] = x
        if self._group.flat is not None and len(x.shape) != 1:
            self._before.append(f"f{x.number} = {whole}.reshape(-1)")
            whole = f"f{x.number}"
        elif self._turns and not is_result and elements_of(x) > 1 and self._is_short(x):
            self._writer.names["rows_last"] = rows_last
            self._before.append(f"f{x.number} = rows_last({whole})")
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
        if not way.total and result.number not in self._kept and (product := _product(step)) is not None:
            self._multiply(nr, step, args, product)
            return
        self._give_back(nr, step)
        if way.total:
            self._total(result, f"{called}{close}")
            return
        if self._is_only_copied(step):
            self._rows[result.number] = result
            self._inside.append(f"b{result.number} = {args[0]}")
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

    def _multiply(self, nr: int, step: Step, args: Sequence[str], product: tuple[Any, Any, Any]) -> None:
        """A contraction as a product of matrices into memory of the block."""
        (result,), (left, right, order) = step.results, product
        self._rows[result.number] = result
        memory = self._memory(result)  # before that of the arguments is free: a product cannot be made in it
        self._give_back(nr, step)
        self._writer.names["matmul"] = np.matmul
        given = f"{args[0]}.transpose({left}), {args[1]}.transpose({right})"
        self._inside.append(f"matmul({given}, out=(b{result.number} := {memory}[:m]).transpose({order}))")

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
            if shape and self._is_short(result):
                # With the rows last in memory: NumPy's inner loops are as long as the block then, and not as a row.
                made = f"empty({(*shape, self._block)}, {dtype}).transpose({(len(shape), *range(len(shape)))})"
            self._before.append(f"t{result.number} = {made}")
        memory = memories.pop()
        self._lent[result.number] = (key, memory)
        return memory

    def _is_turned(self, outside: Sequence[Value]) -> bool:
        """True if blocks with short rows lie with the rows last: if much runs in short loops, and little is turned."""
        if self._group.flat is not None:
            return False
        short = sum(elements_of(step.results[0]) for step, way in self._group.steps if _in_short_loops(step, way))
        kept = [x for step, way in self._group.steps for x in step.results if not way.total and x.number in self._kept]
        turned = [x for x in (*outside, *kept) if len(x.shape) > 1 and 1 < x.shape[-1] <= _INNER]
        return short > _TURNING * sum(map(elements_of, turned))

    def _is_short(self, x: Value) -> bool:
        return elements_of(x) <= _SHORT or (self._turns and x.shape[-1] <= _INNER)

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
        self._enter(result, self._writer.name(result), is_result=True)

    def _total(self, result: Value, called: str) -> None:
        name = self._writer.name(result)
        self._writer.names["add"] = np.add
        if result.shape == ():
            self._inside.append(f"{name} = {name} + {called} if i else {called}")
        else:
            self._inside += [f"p = {called}", f"{name} = add({name}, p, {name}) if i else p.copy()"]


def rows_last(x: np.ndarray) -> np.ndarray:
    """A copy whose first dimension is the last in memory."""
    made = np.empty((*x.shape[1:], x.shape[0]), x.dtype).transpose((x.ndim - 1, *range(x.ndim - 1)))
    made[...] = x
    return made


def _in_short_loops(step: Step, way: ByRows) -> bool:
    """True if NumPy runs a step in loops that are as short as the last dimension of its result, which is short."""
    shape = trailing(step.results[0])
    if way.total or len(shape) < 2 or not 1 < shape[-1] <= _INNER:
        return False
    if step.what == "einsum_pair":
        return True
    others = [x.shape for x in step.values() if x.shape]
    return any(_runs_apart(x[max(len(x) - len(shape), 0) :], shape) for x in others)


def _runs_apart(shape: Shape, result: Shape) -> bool:
    """True if an array is broadcast along one of the last two dimensions of a result, and not along the other."""
    shape = (1,) * (len(result) - len(shape)) + shape
    return result[-2] > 1 and (shape[-1] == 1) != (shape[-2] == 1)


def _product(step: Step) -> tuple[Any, Any, Any] | None:
    """(the order of the dimensions of either factor, of the result) of a contraction that is a product of matrices."""
    if step.what != "einsum_pair" or any(type(x) is not Value for x in step.args[:2]):
        return None
    a, b, equation = step.args
    (result,) = step.results
    shared, batch, left, right, summed, order = contraction(equation)
    single = summed == 1 and len(left) == batch + 2 and len(right) == batch + 2
    if not single or a.dtype != result.dtype or b.dtype != result.dtype or result.dtype.kind not in "fc":
        return None
    if any(a.shape[i] != b.shape[j] for i, j in shared):
        return None
    return left, right, tuple(order.index(nr) for nr in range(len(order)))


def _taken(step: Step, way: ByRows) -> list[Value]:
    return [step.args[nr] for nr in way.places]
