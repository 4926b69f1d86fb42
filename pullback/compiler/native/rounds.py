"""The programs of a step, run many times by one call of machine code: the loop itself runs there.

Every input and output of a round lies in memory that the caller has: the same at each round, or a row of an array, from
which the next round goes on to the next row. A carry that nobody keeps has two rows, one to be read and one to be
written, which change places.

A step whose programs have guards on truth values has several ways through a round. They are tried in order. Where none
fits, or a mask may have been missing, the loop is left before that round, which nothing has changed but its outputs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import GUARD, Guard, Step, Value
from pullback.compiler.native.entry import rows_of, runtime_library
from pullback.compiler.native.nodes import contiguous
from pullback.compiler.native.parts import without_nodes
from pullback.compiler.native.program import Native
from pullback.compiler.native.runge_kutta import ENDED, FULL, Stepper
from pullback.compiler.native.runtime import WAY
from pullback.compiler.native.toolchain import Toolchain
from pullback.core.tensor import ndarray
from pullback.func.repeated import Stream

_ROOM = 64  # steps of a solver for which there is room at a time
_WORK = 50_000_000  # elements that one call of machine code computes, after which Python looks for signals


class UnfitError(Exception):
    """A step cannot run in machine code; the text says why."""


class Rounds:
    """A step of which each program is a way through a round.

    Parameters
    ----------
    programs : sequence of Program
        Of equal inputs and outputs.
    wanted : sequence of int
        The outputs that the rounds write, by number.
    ends : int or None
        The output that says whether there is another round.
    tool : Toolchain

    Raises
    ------
    UnfitError
        Something in a program is no machine code.
    """

    def __init__(self, programs: Sequence[Any], wanted: Sequence[int], ends: int | None, tool: Toolchain) -> None:
        self._ways = [_Way(program, wanted, ends, tool) for program in programs]
        self.inputs, self.outputs = self._ways[0].inputs, self._ways[0].outputs
        if any(_forms(way.inputs) != _forms(self.inputs) for way in self._ways) or any(
            _forms(way.outputs) != _forms(self.outputs) for way in self._ways
        ):
            raise UnfitError("what it gives has other shapes or dtypes at some steps")
        self._work = max(way.native.work for way in self._ways) + 64
        self._tool, library = tool, runtime_library(tool)
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(
            library.address("rounds")
        )

    def fits(self, inputs: Sequence[Stream], outputs: Sequence[Stream]) -> bool:
        """True if these have the forms of its inputs and outputs."""
        return (
            len(inputs) == len(self.inputs)
            and len(outputs) == len(self.outputs)
            and all(map(_is_like, (*inputs, *outputs), (*self.inputs, *self.outputs)))
        )

    def run(self, count: int, inputs: Sequence[Stream], outputs: Sequence[Stream]) -> int:
        """How many rounds have run, of at most so many: fewer after the last one, or before one that nothing fits."""
        tables = [way.tables(inputs, outputs) for way in self._ways]
        ways = np.array([table.row() for table in tables], np.int64)
        status, done, most = np.zeros(1, np.int64), 0, max(1, _WORK // self._work)
        while done < count and not status[0]:
            done += self._run(ways.ctypes.data, len(ways), min(most, count - done), status.ctypes.data)
        return done

    def solution(self, solver: Any, args: Sequence[Stream], ends: Sequence[float]) -> Any:
        """A list of (times, y at each, slopes of all stages of each step), one for each of the ends, in order.

        Of a step (t, y, *args) that gives the slope of y, a vector, by an explicit Runge-Kutta method. `solver` is
        SciPy's, at its start. None where its steps become too short, or a round does not fit.
        """
        y, t = np.array(solver.y), np.array(solver.t)
        inputs, outputs = [Stream(t), Stream(y), *args], [Stream(np.empty_like(y))]
        if len(self._ways) > 1 or not self.fits(inputs, outputs):
            return None
        tables, stepper = self._ways[0].tables(inputs, outputs), Stepper(self._tool, type(solver))
        slot = 1 + len(inputs) + len(self._ways[0].native.constants)
        found = []
        for solver.t_bound in ends:
            parts, why = [], FULL
            while why == FULL:
                why, *part = stepper.run(tables, (t, y, slot), solver, _ROOM)
                parts.append(part)
            if why != ENDED:
                return None
            found.append(parts[0] if len(parts) == 1 else [np.concatenate(x) for x in zip(*parts, strict=True)])
        return found


class _Way:
    """One program, with results in C order."""

    def __init__(self, program: Any, wanted: Sequence[int], ends: int | None, tool: Toolchain) -> None:
        plan, looks = program.plan, list[tuple[str, int, bool]]()
        steps, seen = list[Step](), list[tuple[Value, bool]]()
        for step in plan.steps:
            if step.form is GUARD:
                seen.append(_looked_at(step))
            else:
                steps.append(step)
        self.inputs, self.outputs = plan.inputs, [plan.results[nr] for nr in wanted]
        results = [*self.outputs, *(x for x, _ in seen)]
        looks += [("expect", len(wanted) + nr, expected) for nr, (_, expected) in enumerate(seen)]
        if ends is not None:
            if plan.results[ends].dtype != np.bool_ or plan.results[ends].shape:
                raise UnfitError("its test gives something else than one truth value")
            looks.append(("goes_on", len(results), True))
            results.append(plan.results[ends])
        if not all(x.strides == tuple(s * x.dtype.itemsize for s in contiguous(x.shape)) for x in self.inputs):
            raise UnfitError("what it is given does not lie in C order")
        if (other := without_nodes(plan.graph, plan.inputs, steps, results)) is not None:
            raise UnfitError(f"{other} is a function of NumPy's or of others")
        self.native = Native(plan.graph, plan.inputs, steps, results, tool, ordered=True)
        suspect = [wanted.index(nr) for nr in program.suspect if nr in wanted]
        self._steps, self._libraries = self.native.table(suspect, looks)
        self._rows = rows_of(self._steps)
        self._more = len(results) - len(wanted)  # truth values, in memory of its own

    def tables(self, inputs: Sequence[Stream], outputs: Sequence[Stream]) -> _Tables:
        """The memory for a loop."""
        native, first = self.native, 1 + len(inputs) + len(self.native.constants)
        own = np.empty(native.workspace + 128 + 64 * self._more, np.uint8)
        start = own.ctypes.data + -own.ctypes.data % 64
        flags = [start + native.workspace + 64 * nr for nr in range(self._more)]
        flags = [x + -x % 64 for x in flags]
        at = [x.address for x in inputs], [x.ctypes.data for x in native.constants], [x.address for x in outputs]
        bases = np.array([start, *at[0], *at[1], *at[2], *flags], np.int64)
        places = (*enumerate(inputs, 1), *enumerate(outputs, first))
        moves = [(nr, x.by, -1 if x.turns else 1) for nr, x in places if x.by]
        return _Tables(bases, self._steps, self._rows, np.array(moves, np.int64).reshape(-1, 3), own)


class _Tables:
    """The memory of a way for one loop: it holds all that it points to."""

    def __init__(self, bases: ndarray, steps: ndarray, rows: int, moves: ndarray, own: ndarray) -> None:
        self._bases, self._steps, self._rows, self._moves, self._own = bases, steps, rows, moves, own

    def fields(self) -> dict[str, int]:
        """The addresses of the tables, and how long they are."""
        return {
            "bases": self._bases.ctypes.data, "steps": self._steps.ctypes.data, "rows": self._rows,
            "moves": self._moves.ctypes.data, "moving": len(self._moves),
        }  # fmt: skip

    def row(self) -> list[int]:
        """Its row in the table of ways."""
        fields = self.fields()
        return [fields[name] for name in WAY]


def _looked_at(step: Step) -> tuple[Value, bool]:
    """(the truth value that a guard looks at, what it must be)."""
    guard, (x, *others) = step.what, step.args or (None,)
    expected = getattr(guard, "expected", None)
    if type(guard) is Guard and type(x) is Value and not others and x.dtype == np.bool_ and prod(x.shape) == 1:
        return x, bool(np.asarray(expected).item())
    raise UnfitError(f"it looks at numbers, or checks them ({getattr(guard, 'why', 'a check')})")


def _forms(values: Sequence[Value]) -> list[Any]:
    return [(x.shape, x.dtype) for x in values]


def _is_like(stream: Stream, value: Value) -> bool:
    return bool(stream.dtype == value.dtype and stream.shape == value.shape)
