"""Leaves as one vector of real numbers, as linear solvers take them; a complex number is a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.array_face import program_run
from pullback.core.errors import GradientTypeError, with_article


class Layout:
    """Shapes and dtypes of leaves.

    A pair of real numbers for a complex one makes a condition that is not holomorphic a linear system too, and
    its transpose is the vjp by the convention for complex gradients.
    """

    __slots__ = ("dtypes", "shapes", "size", "whose")

    def __init__(self, leaves: Sequence[Any], whose: str) -> None:
        for x in leaves:
            if not hasattr(x, "dtype") and type(x) not in (float, complex):
                raise GradientTypeError(
                    f"{whose} must be a floating-point array, or a tree of these, got {with_article(x)}."
                )
        self.whose, self.shapes = whose, [np.shape(x) for x in leaves]
        self.dtypes = [np.dtype(getattr(x, "dtype", type(x))) for x in leaves]
        for dtype in self.dtypes:
            if dtype.kind not in "fc":
                raise GradientTypeError(
                    f"{whose} must be floating point, got dtype {dtype}; convert it (.astype(float))."
                )
        self.size = sum(_reals(s, d) for s, d in zip(self.shapes, self.dtypes, strict=True))

    def ravel(self, leaves: Sequence[Any]) -> Any:
        """The leaves as one vector, in double precision."""
        for x, d in zip(leaves, self.dtypes, strict=True):
            if d.kind == "f" and np.iscomplexobj(x):
                raise GradientTypeError(
                    f"{self.whose} is real ({d}), but here it got complex numbers, and their imaginary part would be "
                    "lost. Make it complex (.astype(complex)), or take the real part."
                )
        parts = [np.asarray(x, d) for x, d in zip(leaves, self.dtypes, strict=True)]
        flat = [np.ascontiguousarray(x).reshape(-1).view(x.real.dtype).astype(np.float64) for x in parts]
        return np.concatenate(flat) if flat else np.zeros(0)

    def unravel(self, vector: Any) -> list[Any]:
        """The leaves whose numbers are in a vector."""
        leaves, start = [], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            count = _reals(shape, dtype)
            part = np.array(vector[start : start + count], np.empty(0, dtype).real.dtype)
            leaves.append(part.view(dtype).reshape(shape))
            start += count
        return leaves

    def unravel_rows(self, rows: Any) -> list[Any]:
        """The leaves whose numbers are in the rows of a matrix, along a new first dimension."""
        leaves, start = [], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            count = _reals(shape, dtype)
            part = np.array(rows[:, start : start + count], np.empty(0, dtype).real.dtype, order="C")
            leaves.append(part.view(dtype).reshape(len(rows), *shape))
            start += count
        return leaves


class Kept:
    """Keeps what forward leaves for backward, by its numbers: those of one call, or of each sample of a batch.

    A program makes the same call at each run: what an earlier one has left is let go of.
    """

    __slots__ = ("found", "run")

    def __init__(self) -> None:
        self.found: list[tuple[Sequence[Any], Any]] = []
        self.run: object = None

    def keep(self, point: Sequence[Any], what: Any) -> None:
        """Keep `what` for these numbers, unless something is kept for them already."""
        if (run := program_run.get()) is not self.run:
            self.run, self.found = run, []
        if self.at(point) is None:
            self.found.append((point, what))

    def take(self, point: Sequence[Any]) -> Any:
        """Return what was kept for these numbers, or None, and keep it no longer."""
        what = self.at(point)
        self.found = [pair for pair in self.found if pair[1] is not what]
        return what

    def at(self, point: Sequence[Any]) -> Any:
        """Return what was kept for these numbers, or None."""
        for before, what in self.found:
            if all(map(same, before, point)):
                return what
        return None


def same(a: Any, b: Any) -> bool:
    """True if two leaves are the same numbers."""
    return a is b or (not hasattr(a, "dtype") and a == b) or bool(np.array_equal(a, b))


def _reals(shape: tuple[int, ...], dtype: Any) -> int:
    return int(np.prod(shape)) * (2 if dtype.kind == "c" else 1)


def is_single(dtype: Any) -> bool:
    """True if the real numbers of a dtype have less than double precision."""
    return np.empty(0, dtype).real.itemsize < 8
