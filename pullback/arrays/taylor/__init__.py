"""Arrays that move along curves, for derivatives of high order. Importing it registers the array type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from pullback.arrays.taylor.array import TaylorArray, TaylorLevel
from pullback.arrays.taylor.kernels import TAYLOR
from pullback.arrays.taylor.targets import let_move
from pullback.core.arguments import spread_lists
from pullback.core.array_type import (
    TRANSFORMED,
    ArrayType,
    array_type,
    check,
    numbers_of,
    read,
    register_array_type,
    touched_in,
)
from pullback.core.tensor import Tensor
from pullback.graph.lent import refuse_if_lent


class TaylorType(ArrayType):
    """Truncated Taylor series: values, that are replaced where they are written into."""

    rank = TRANSFORMED

    def detached(self, x: TaylorArray) -> Any:
        first = x.coefficients[0]
        return array_type(first).detached(first)

    def carries_derivative(self, x: TaylorArray) -> bool:
        return x.level.open

    def numbers(self, x: TaylorArray) -> Any:
        return numbers_of(x.coefficients[0])

    def touched(self, x: TaylorArray) -> Any:
        return reduce(or_, [touched_in(c) for c in x.coefficients if c is not None])

    def read(self, x: TaylorArray, why: str) -> Any:
        return read(x.coefficients[0], why)

    def accepts(self, x: TaylorArray) -> bool:
        return False  # it belongs to a level, which the Tensors around it know

    def copy(self, x: TaylorArray) -> TaylorArray:
        return TaylorArray([c if c is None else array_type(c).copy(c) for c in x.coefficients], x.level)

    def check(self, examine: Callable[..., None], arrays: Sequence[Any]) -> None:
        check(examine, *[x.coefficients[0] if type(x) is TaylorArray else x for x in arrays])

    def prepare_target(self, name: str, target: Tensor, args: Sequence[Any], level: int) -> bool:
        """A constant that a moving value is written into moves from here on; it is replaced, not written into."""
        if type(target._array) is TaylorArray or target._array.dtype.kind not in "fc":
            return True
        refuse_if_lent(target, name)
        moving = [x._array for x in spread_lists(args) if isinstance(x, Tensor) and type(x._array) is TaylorArray]
        last = max(moving, key=lambda x: x.level.number)
        let_move(name, target, lambda array: TaylorArray([array, *[None] * last.order], last.level))
        return True


register_array_type(TaylorArray, TaylorType(TAYLOR))

__all__ = ["TaylorArray", "TaylorLevel"]
