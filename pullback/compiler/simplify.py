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
# Kernels that give their first argument, where it has the result's form.
_IDENTITIES = frozenset({"alias", "clone", "contiguous", "expand", "reshape", "to_copy", "view"})


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
        step = self._substituted(step)
        if step.form is GUARD or not step.pure:
            self.steps.append(step)
            return
        if step.form is ONE and (found := self._instead_of(step)) is not None:
            self._instead[step.results[0].number] = found
            return
        key = (step.what, *map(key_of, step.args))
        if (known := self._memo.setdefault(key, step)) is not step:
            for value, same in zip(step.results, known.results, strict=True):
                self._instead[value.number] = same
            return
        self.steps.append(step)

    def _substituted(self, step: Step) -> Step:
        args = self._through(step.args)
        if args == step.args:
            return step
        made = Step(step.what, args, step.results, step.form, step.writes)
        made.aliases, made.pure, made.kept, made.line = step.aliases, step.pure, step.kept, step.line
        return made

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
        if prod(result.shape) <= _LARGEST and all(x.number in self._constants for x in step.values()):
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
            first = found.flat[0]
            return bool(first == number) and (0 in found.strides or found.ndim == 0 or bool((found == number).all()))
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


def _factors(known: Simplified, a: Any, b: Any) -> Iterator[Any]:
    if known.is_all(b, 1):
        yield a
    if known.is_all(a, 1):
        yield b


def _quotient(known: Simplified, a: Any, b: Any) -> Iterator[Any]:
    if known.is_all(b, 1):
        yield a


def _selected(known: Simplified, condition: Any, a: Any, b: Any) -> Iterator[Any]:
    if known.is_all(condition, True):
        yield a
    if known.is_all(condition, False):
        yield b


_RULES: dict[Any, Callable[..., Iterator[Any]]] = {"mul": _factors, "div": _quotient, "where": _selected}
