"""Makes a graph smaller without changing a value: constants are computed now, what changes nothing goes.

A gradient begins with ones, which are spread and multiplied by; a mask of structural zeros is often true everywhere.
In eager mode each is an array and a kernel. Here they are constants, and a product with one is its other factor. What
is left out is right for every number: no rule takes x * 0 for 0, or x + 0 for x, which are not so for nan and -0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import GUARD, ONE, Graph, Step, Value, key_of
from pullback.core.array_type import NUMPY
from pullback.core.tensor import ndarray

_LARGEST = 1 << 16  # elements that a constant may have which is computed here

# Kernels whose result depends on the shape and dtype of the array alone.
_OF_SHAPE = frozenset({"ones_like", "zeros_like"})
# Kernels that broadcast two arrays against each other.
_BROADCASTING = frozenset({"add", "sub", "mul", "div", "where"})
# Kernels for which the order of the arguments makes no difference, to the bit.
_COMMUTATIVE = frozenset({"add", "mul"})
# Kernels that give their first argument, where it has the result's form.
_IDENTITIES = frozenset({
    "alias", "clone", "contiguous", "expand", "movedim", "permute", "reshape", "to_copy", "transpose", "view",
})  # fmt: skip


class Simplified:
    """The steps that are left of a graph, and what stands for the values that are gone.

    Attributes
    ----------
    steps : list of Step
    """

    def __init__(self, graph: Graph, steps: Sequence[Step]) -> None:
        self._graph = graph
        self._constants = {value.number: array for value, array, live in graph.constants if not live}
        self._instead: dict[int, Value] = {}
        self._memo: dict[Hashable, Step] = {}
        self._maker: dict[int, Step] = {}
        self.steps: list[Step] = []
        before = np.geterr()
        np.seterr(all="ignore")
        try:
            for step in steps:
                self._take(step)
        finally:
            np.seterr(**before)

    def of(self, value: Value) -> Value:
        """The value that stands for this one."""
        return self._instead.get(value.number, value)

    def _take(self, step: Step) -> None:
        step = self._without_marks(self._look_once(self._unspread(self._substituted(step))))
        if step.form is GUARD or not step.pure:
            self.steps.append(step)
            return
        if step.form is ONE and (found := self._instead_of(step)) is not None:
            self._instead[step.results[0].number] = found
            return
        args = map(key_of, step.args)
        key = (step.what, *(sorted(args, key=repr) if step.what in _COMMUTATIVE else args))
        if (known := self._memo.setdefault(key, step)) is not step:
            for value, same in zip(step.results, known.results, strict=True):
                self._instead[value.number] = same
            return
        self.steps.append(step)
        self._maker.update((value.number, step) for value in step.results)

    def _substituted(self, step: Step) -> Step:
        args = self._through(step.args)
        return step if args == step.args else step.with_args(args)

    def _unspread(self, step: Step) -> Step:
        """The step without arguments that were expanded only to meet another one: broadcasting does as well."""
        if step.what not in _BROADCASTING or not any(_fills(x, step.results[0]) for x in step.args):
            return step
        args = list(step.args)
        for nr, x in enumerate(args):
            maker = self._maker.get(x.number) if type(x) is Value else None
            others = [y for at, y in enumerate(args) if at != nr]
            if maker is not None and maker.what == "expand" and any(_fills(y, step.results[0]) for y in others):
                args[nr] = maker.args[0]
        return step.with_args(tuple(args)) if args != list(step.args) else step

    def _look_once(self, step: Step) -> Step:
        """`x != 0 and not isnan(x)` as `abs(x) > 0`: what is neither 0 nor NaN is asked of each gradient."""
        if step.what != "logical_and":
            return step
        unequal, other = (self._maker.get(x.number) if type(x) is Value else None for x in step.args)
        number = None if other is None or other.what != "logical_not" else self._maker.get(other.args[0].number)
        if unequal is None or unequal.what != "ne" or number is None or number.what != "isnan":
            return step
        (x, zero), (y,) = unequal.args, number.args
        if type(x) is not Value or x is not y or x.dtype.kind != "f" or type(zero) not in (int, float) or zero != 0:
            return step
        size = Value(self._graph, _blank(x))
        first = Step("abs", (x,), [size], ONE, writes=False)
        first.pure = True
        self._take(first)
        made = Step("gt", (self.of(size), 0), step.results, ONE, writes=False)
        made.pure = True
        return made

    def _without_marks(self, step: Step) -> Step:
        """`where(mask, 0, ones) != 0` as `not mask`: where marks were set, which is asked of each mask handed on."""
        if step.what != "ne" or type(step.args[0]) is not Value or not self.is_all(step.args[1], 0):
            return step
        maker = self._maker.get(step.args[0].number)
        if maker is None or maker.what != "where" or not self.is_all(maker.args[1], 0):
            return step
        mask, _, marks = maker.args
        if not self._is_nowhere_zero(marks) or not _fills(mask, step.results[0]) or mask.dtype.kind != "b":
            return step
        made = Step("logical_not", (mask,), step.results, ONE, writes=False)
        made.pure, made.asked = True, step.asked
        return made

    def _is_nowhere_zero(self, x: Any) -> bool:
        if type(x) is Value:
            found = self._constants.get(x.number)
            return found is not None and bool((found != 0).all())
        return type(x) in (int, float) and x != 0

    def _through(self, x: Any) -> Any:
        if type(x) is Value:
            return self.of(x)
        return type(x)(map(self._through, x)) if type(x) in (list, tuple) else x

    def _instead_of(self, step: Step) -> Value | None:
        """The value that is the result of a step, where nothing need be computed."""
        result = step.results[0]
        if step.what in _OF_SHAPE:
            like = step.args[0]
            return self._computed(step, [_blank(like) if type(like) is Value else like, *step.args[1:]])
        if step.what in _IDENTITIES and _has_form(step.args[0], result):
            return step.args[0]  # type: ignore[no-any-return]
        if (rule := _RULES.get(step.what)) is not None:
            for found in rule(self, *step.args):
                if _has_form(found, result):
                    return found  # type: ignore[no-any-return]
        if (prod(result.shape) <= _LARGEST or step.what == "expand") and all(
            x.number in self._constants for x in step.values()
        ):
            return self._computed(step, [self._number(x) for x in step.args])
        return None

    def _computed(self, step: Step, args: Sequence[Any]) -> Value:
        found = np.asarray(NUMPY.kernels[step.what](*args))  # type: ignore[index]
        value = self._graph.constant(found, spread=True)
        self._constants[value.number] = found
        return value

    def _number(self, x: Any) -> Any:
        if type(x) is Value:
            return self._constants[x.number]
        return type(x)(map(self._number, x)) if type(x) in (list, tuple) else x

    def is_all(self, x: Any, number: Any) -> bool:
        """True if an argument is a constant all of whose elements are this number."""
        if type(x) is Value:
            if (found := self._constants.get(x.number)) is None or not found.size:
                return False
            one = all(step == 0 or n == 1 for step, n in zip(found.strides, found.shape, strict=True))
            return bool(found.flat[0] == number) if one else bool((found == number).all())
        return type(x) in (bool, int, float, complex) and bool(x == number)


def _blank(like: Value) -> ndarray:
    """An array of this form without memory to speak of."""
    return np.broadcast_to(np.zeros((), like.dtype), like.shape)


def _has_form(x: Any, result: Value) -> bool:
    """True if an argument can stand for a result: an array of its shape, dtype and order in memory."""
    return (
        type(x) is Value
        and x.shape == result.shape
        and x.dtype == result.dtype
        and (x.strides == result.strides or prod(x.shape) == 1)
    )


def _fills(x: Any, result: Value) -> bool:
    """True for an argument that has the shape of the result in its own memory."""
    return type(x) is Value and x.shape == result.shape and x.strides == result.strides


def _factors(known: Simplified, a: Any, b: Any) -> Iterator[Any]:
    if known.is_all(b, 1) and _is_real(a):
        yield a
    if known.is_all(a, 1) and _is_real(b):
        yield b


def _quotient(known: Simplified, a: Any, b: Any) -> Iterator[Any]:
    if known.is_all(b, 1) and _is_real(a):
        yield a


def _is_real(x: Any) -> bool:
    """True for real numbers: the product of 1 and a complex infinity is no longer that."""
    return type(x) is Value and x.dtype.kind != "c"


def _selected(known: Simplified, condition: Any, a: Any, b: Any) -> Iterator[Any]:
    if known.is_all(condition, True):
        yield a
    if known.is_all(condition, False):
        yield b


def _copied(known: Simplified, target: Any, source: Any) -> Iterator[Any]:
    yield source


_RULES: dict[Any, Callable[..., Iterator[Any]]] = {
    "mul": _factors,
    "div": _quotient,
    "where": _selected,
    "copy": _copied,
}
