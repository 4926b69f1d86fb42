"""Steps of a loop in machine code: as many as there are, in one call, as soon as there is a program of the step.

Python runs the first steps, and those that no program fits. Carries that are kept lie one after the other in memory,
others in two rows by turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.tensor import ndarray
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.repeated import Repeated, Stream

_CHUNK = 1024  # steps of a loop that a test ends, for whose carries there is room at a time
_MISSES = 8  # attempts that led nowhere, after which Python runs the other steps too


class Segment:
    """The carries before steps that ran in machine code, row by row; at `whole` are Python's whole numbers."""

    def __init__(self, rows: Leaves, whole: Sequence[int]) -> None:
        self.rows, self._whole = rows, whole

    def at(self, row: int) -> Leaves:
        """One of them."""
        return [int(x[row]) if i in self._whole else x[row] for i, x in enumerate(self.rows)]


class Sweep:
    """The rounds of one sweep over a loop, forward or backward.

    Parameters
    ----------
    loop : Loop
    step : Repeated
        What Python calls for a step, and what has its machine code.
    what : str
        The name of the sweep, for `loop.runs`.
    """

    def __init__(self, loop: Any, step: Repeated, what: str) -> None:
        self._loop, self._step, self._what, self._misses = loop, step, what, 0
        self._direction = -1 if loop.backwards else 1

    def step(self, k: int, carry: Leaves, x: Leaves, args: Leaves) -> tuple[Leaves, Leaves]:
        """Step k forward by itself."""
        found, y, *_ = self._step(np.int64(k), *map(bare, (*self._loop.with_numpys(carry), *x, *args)))
        return [int(part) if i in self._loop.whole else part for i, part in enumerate(found)], y

    def forward(
        self, k: int, end: int | None, carry: Leaves, xs: Leaves, args: Leaves, ys: Leaves, keeps: bool
    ) -> tuple[int, Leaves, Segment | None]:
        """(how many steps from step k on have run, the carry after these, the carries before them if it `keeps` them).

        `end` is the step before which it stops; None if the test says so. `ys` are the arrays for all y's.
        """
        loop = self._loop
        count = min(_CHUNK, _CHUNK if loop.limit is None else loop.limit - k) if end is None else end - k
        wanted = [*range(len(carry) + len(ys))]
        point = [np.int64(k), *loop.with_numpys(carry), *loop.slices(xs, k), *args]
        if count < 1 or (found := self._code(point, wanted, len(wanted) if end is None else None)) is None:
            return 0, carry, None
        rows = [_room(x, count + 1 if keeps else 2) for x in carry]
        place = loop.place(k) if end is not None else k
        inputs = [Stream(np.arange(k, k + count), 0), *(Stream(x, 0, 1, not keeps) for x in rows)]
        inputs += [*(Stream(x, place, self._direction) for x in xs), *_constant(args)]
        outputs = [Stream(x, 1, 1 if keeps else -1, not keeps) for x in rows]
        outputs += [Stream(y, place, self._direction) for y in ys]
        done = self._run(found, count, inputs, outputs)
        if not done:
            return 0, carry, None
        segment = Segment(rows, loop.whole)
        after = [x.copy() if type(x) is ndarray else x for x in segment.at(done if keeps else done % 2)]
        return done, after, segment if keeps else None

    def backward(
        self, k: int, segment: Segment, row: int, xs: Leaves, args: Leaves,
        pulled: Leaves, by_y: Leaves, gathered: Leaves, by_x: Leaves,
    ) -> tuple[int, Leaves, Leaves]:  # fmt: skip
        """(how many steps from step k on, backwards, have been reversed, the cotangents of carry and of args then).

        The carry before step k is in this row of a segment; `by_y` has cotangents of all steps, `by_x` room for them.
        """
        loop, n, place = self._loop, len(pulled), self._loop.place(k)
        carry = loop.with_numpys(segment.at(row))
        point = [
            np.int64(k), *carry, *loop.slices(xs, k), *args, *pulled, *(g[place] for g in by_y), *gathered
        ]  # fmt: skip
        wanted = [*range(n, n + n + len(by_x) + len(gathered))]
        if (found := self._code(point, wanted, None)) is None:
            return 0, pulled, gathered
        count, back = row + 1, -self._direction
        moving, sums = ([_room(x, 2) for x in leaves] for leaves in (pulled, gathered))
        inputs = [Stream(np.arange(k - row, k + 1), row, -1), *(Stream(x, row, -1) for x in segment.rows)]
        inputs += [*(Stream(x, place, back) for x in xs), *_constant(args)]
        inputs += [Stream(x, 0, 1, True) for x in moving]
        inputs += [*(Stream(g, place, back) for g in by_y), *(Stream(x, 0, 1, True) for x in sums)]
        outputs = [Stream(x, 1, -1, True) for x in moving]
        outputs += [*(Stream(x, place, back) for x in by_x), *(Stream(x, 1, -1, True) for x in sums)]
        done = self._run(found, count, inputs, outputs)
        if not done:
            return 0, pulled, gathered
        last = done % 2
        return done, [np.array(x[last])[()] for x in moving], [np.array(x[last])[()] for x in sums]

    def _code(self, point: Leaves, wanted: Sequence[int], ends: int | None) -> Any:
        """The machine code of the step, of which these are the first arguments; None as long as there is none."""
        if self._misses >= _MISSES:
            return None
        found = self._step.rounds([*map(bare, point)], wanted, ends)
        if isinstance(found, str):
            self._misses = _MISSES
            self._loop.runs[self._what] = f"in Python: {found}"
            return None
        return found

    def _run(self, code: Any, count: int, inputs: Sequence[Stream], outputs: Sequence[Stream]) -> int:
        if not code.fits(inputs, outputs):
            self._misses += 1
            return 0
        done = code.run(count, inputs, outputs)
        self._misses += not done
        self._loop.runs[self._what] = "in machine code"
        return int(done)


def bare(x: Any) -> Any:
    """A leaf as a step of machine code takes it: in C order, without dimensions a number."""
    if type(x) is not ndarray:
        return x
    return np.asarray(x, order="C") if x.ndim else x[()]


def _room(x: Any, count: int) -> Any:
    """So many rows like a leaf, which is in the first one."""
    x = np.asarray(x)
    rows = np.empty((count, *x.shape), x.dtype)
    rows[0] = x
    return rows


def _constant(args: Leaves) -> list[Stream]:
    return [Stream(x) for x in args if issubclass(type(x), (ndarray, np.generic))]
