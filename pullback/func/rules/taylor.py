"""Calls of functions with custom rules along curves, for func.jet: y'(t) is their derivative along x'(t).

Up to order K - 1 that is a call along curves of lower order, by the user's rule for its derivative; y is its integral.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.dual import DualArray
from pullback.arrays.taylor import TaylorArray, TaylorLevel
from pullback.autograd.function import definition
from pullback.autograd.function.definition import Function
from pullback.core.array_face import ARRAYS, wrap_array, wrap_as
from pullback.core.array_type import array_type, innermost, is_array, memory_of, table_of
from pullback.core.errors import GradientError, InplaceError
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, wrap
from pullback.core.version import version_of
from pullback.func.forward import push
from pullback.func.rules import calls
from pullback.graph.journal import refuse_writes, refuses_writes


def apply(name: str, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(what a function gives along curves,), or None if no argument moves along one at the innermost level."""
    leaves, structure = flatten((args, kwargs))
    level = max((x._level for x in leaves if isinstance(x, Tensor)), default=0)
    moving = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x._level == level and _is_moving(x._array)]
    if not moving:
        return None
    curve = leaves[moving[0]]._array.level
    order = min(leaves[i]._array.order for i in moving)
    points = [_around(leaves[i], leaves[i]._array.coefficients[:order], curve) for i in moving]
    slopes = [_around(leaves[i], _slope(leaves[i]._array, order), curve) for i in moving]

    def of_moving(*parts: Any) -> Any:
        given = list(leaves)
        for i, part in zip(moving, parts, strict=True):
            given[i] = part
        again, by_name = unflatten(structure, given)
        found, form = flatten(run(again, by_name))
        built[:] = [form, *found]
        numbers = [y for y in found if _is_number(y)]
        lent.extend(isinstance(y, Tensor) and refuses_writes(y) for y in numbers)
        return numbers

    built: list[Any] = []  # the structure of what the function gives, and its leaves, some of which may be text
    lent: list[bool] = []
    values, slope = push("jet", of_moving, tuple(points), tuple(slopes), warns=False)
    like = leaves[moving[0]]
    results = [_integrated(y, t, order, like, curve) for y, t in zip(values, slope, strict=True)]
    aliases = [y for y, is_one in zip(results, lent, strict=True) if is_one]
    for x in (*aliases, *(leaves[i] for i in moving if aliases)):
        refuse_writes(x, _ALIASED.format(name))
    following = iter(results)
    return (unflatten(built[0], [next(following) if _is_number(y) else y for y in built[1:]]),)


_ALIASED = (
    "{0}: an argument and a result, or two results, share memory, but not where func.jet runs {0}: a write into one "
    "of them would not reach the other. Let {0} return a copy (return x.copy()), or write into a copy."
)


def _is_number(y: Any) -> bool:
    return is_array(y) or issubclass(type(y), (np.generic, int, float, complex))


def _is_moving(x: Any) -> bool:
    return type(x) is TaylorArray and x.level.open


def _around(like: Tensor, coefficients: Any, curve: TaylorLevel) -> Tensor:
    first, *rest = coefficients
    array = TaylorArray(coefficients, curve) if any(c is not None for c in rest) else first
    return wrap_as(like, array, like._level)


def _slope(x: TaylorArray, order: int) -> list[Any]:
    """The coefficients of x', up to a lower order."""
    found = [c if c is None or k == 1 else c * c.dtype.type(k) for k, c in enumerate(x.coefficients[: order + 1]) if k]
    if found[0] is None:
        found[0] = table_of((x.coefficients[0],)).zeros_like(x.coefficients[0])
    return found


def _integrated(y: Any, slope: Any, order: int, like: Tensor, curve: TaylorLevel) -> Any:
    """y up to `order`, of what it is up to a lower one, and of its slope."""
    level = like._level
    coefficients = [*_coefficients(y, level, curve, order - 1), None]
    last = _coefficients(slope, level, curve, order - 1)[order - 1]
    if last is not None and last.dtype.kind in "fc":
        coefficients[order] = array_type(last).copy(last) if order == 1 else last * last.dtype.type(1 / order)
    if all(c is None for c in coefficients[1:]):
        return y
    array = TaylorArray(coefficients, curve)
    if isinstance(y, Tensor):
        return wrap_as(y, array, level)
    return wrap_array(array, level, not array.shape) if type(like) in ARRAYS else wrap(array, level)


def _coefficients(x: Any, level: int, curve: TaylorLevel, order: int) -> list[Any]:
    inside = x._array if isinstance(x, Tensor) and x._level == level else x
    if type(inside) is TaylorArray and inside.level is curve:
        return [*inside.coefficients[: order + 1], *[None] * (order - inside.order)]
    return [inside, *[None] * order]


def _apply_function(cls: type[Function], args: tuple[Any, ...]) -> Any:
    def run(again: tuple[Any, ...], _: Any) -> Any:
        versions = [version_of(x) for x in again if isinstance(x, Tensor)]
        found = cls.apply(*again)
        if versions != [version_of(x) for x in again if isinstance(x, Tensor)]:
            raise InplaceError(
                f"{cls.__name__}: forward writes into an argument, which func.jet does not follow: let it work on a "
                "copy (x.clone()) and return that."
            )
        given = [_memory(x) for x in again]
        if any(_is_in(y, given) for y in flatten(found)[0]):
            raise GradientError(
                f"{cls.__name__}: forward returns an argument as it is or a view of one, which func.jet cannot follow: "
                "a write into the one would not reach the other. Let forward return a copy (x.clone())."
            )
        return found

    return apply(cls.__name__, run, args, {})


def _is_in(y: Any, given: Sequence[Any]) -> bool:
    own = _memory(y)
    return own is not None and any(x is not None and np.may_share_memory(own, x) for x in given)


def _memory(x: Any) -> Any:
    """Where the values of a Tensor lie that moves along curves."""
    while True:
        x = innermost(x)
        if type(x) is DualArray:
            x = x.primal
        elif type(x) is TaylorArray:
            x = x.coefficients[0]
        else:
            return memory_of(x)


calls.taylor_apply = apply
definition.taylor_apply = _apply_function
