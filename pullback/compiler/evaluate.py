"""Runs steps of a program on arrays of any type: batches, dual numbers, levels. A kernel of theirs runs for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import GUARD, ONE, Step, Value, added_at, spread
from pullback.core.array_type import array_type, check, is_array, kernel_for, read
from pullback.core.errors import UnsupportedError


def evaluate(steps: Sequence[Step], known: dict[int, Any], results: Sequence[Value]) -> list[Any]:
    """The results of steps for arrays of any type, given by the numbers of their values; `known` gains the others.

    Raises
    ------
    UnsupportedError
        A guard of the program does not hold, or a step is a function that knows ndarrays alone.
    """
    for step in steps:
        args = [_given(x, known) for x in step.args]
        if step.form is GUARD:
            _look(step, args)
            continue
        if step.writes:
            args[0] = array_type(args[0]).copy(args[0])
        found = _computed(step, args)
        for value, x in zip(step.results, [found] if step.form is ONE else found, strict=True):
            known[value.number] = np.asarray(x) if issubclass(type(x), np.generic) else x
    return [known[x.number] for x in results]


def _computed(step: Step, args: list[Any]) -> Any:
    if isinstance(step.what, str):
        return kernel_for([x for x in spread(args) if is_array(x)], step.what)(*args)
    if step.what is added_at:
        target, index, value = args
        return target + kernel_for([value], "slice_backward")(value, tuple(target.shape), index)
    raise UnsupportedError(f"{step.name} runs on ndarrays alone; differentiate the function without pullback.compile.")


def _look(step: Step, args: list[Any]) -> None:
    look: Any = step.what
    if hasattr(look, "examine"):
        check(look.examine, *args)
    elif not look(*(read(x, look.why) for x in args)):
        raise UnsupportedError(
            f"{look.why} finds other numbers in a part of a batch than where the function was compiled; differentiate "
            "the function without pullback.compile."
        )


def _given(x: Any, known: dict[int, Any]) -> Any:
    if type(x) is Value:
        return known[x.number]
    return type(x)(_given(y, known) for y in x) if type(x) in (list, tuple) else x
