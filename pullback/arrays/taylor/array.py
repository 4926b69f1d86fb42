"""TaylorArray: an array that moves along a curve, known by its first Taylor coefficients."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from pullback.core.types import DType, Shape
from pullback.dispatch.mixed import Arithmetic

_next_number = itertools.count(1).__next__


class TaylorLevel:
    """The parameter of the curves of one call of `func.jet`; a later one has a higher number.

    `found` holds what the rules have computed while one operator runs, which they ask for again and again.
    """

    __slots__ = ("found", "number", "open")

    def __init__(self) -> None:
        self.number, self.open = _next_number(), True
        self.found: dict[Any, Any] | None = None


class TaylorArray(Arithmetic):
    """The polynomial c[0] + c[1] t + ... + c[K] t**K, which stands for a curve up to terms of order K.

    Parameters
    ----------
    coefficients : sequence of arrays of one shape and dtype, of any type
        c[k] is the k-th derivative at t = 0 divided by k!; None for zero, but for c[0].
    level : TaylorLevel
    """

    __slots__ = ("coefficients", "level")

    def __init__(self, coefficients: Sequence[Any], level: TaylorLevel) -> None:
        self.coefficients, self.level = tuple(coefficients), level

    @property
    def shape(self) -> Shape:
        """Tuple of dimensions."""
        return tuple(self.coefficients[0].shape)

    @property
    def dtype(self) -> DType:
        """NumPy dtype."""
        return self.coefficients[0].dtype  # type: ignore[no-any-return]

    @property
    def order(self) -> int:
        """The highest power, K."""
        return len(self.coefficients) - 1

    def __repr__(self) -> str:
        return f"TaylorArray(shape={self.shape}, dtype={self.dtype}, order={self.order})"
