"""Rules for copies, and for what is asked of all elements at once."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from pullback.arrays.batched.array import Batch
from pullback.arrays.batched.errors import one_answer
from pullback.arrays.batched.rules import RULES, Rule, rule
from pullback.arrays.batched.values import aligned, as_array, everywhere, rank_of, run, shape_of


def _of_first(name: str) -> Rule:
    """A rule that takes one array, element by element, and other arguments that are none."""

    def alone(batch: Batch, x: Any, *rest: Any) -> Any:
        return run(name, everywhere(batch, x), *rest)

    return alone


RULES.update({name: _of_first(name) for name in ("clone", "to_copy", "zero")})


def _into_first(name: str) -> Rule:
    """A rule that puts the second argument in the place of the first, whose shape it has in the end."""

    def into(batch: Batch, x: Any, value: Any) -> Any:
        rank = rank_of(x)
        if rank_of(value) > rank:  # leading dimensions of size 1
            value = run("reshape", as_array(value), _trimmed(shape_of(value), rank))
        return run("copy", everywhere(batch, x), aligned(batch, value, rank))

    return into


def _trimmed(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return shape[len(shape) - rank :]


RULES.update({name: _into_first(name) for name in ("copy", "fill")})


@rule("fill_diagonal")
def _fill_diagonal(batch: Batch, x: Any, value: Any, wrap: bool) -> Any:
    on_diagonal = run("fill_diagonal", np.zeros(x.shape, bool), True, wrap)
    return run("where", on_diagonal, run("fill_diagonal", np.zeros(x.shape, x.dtype), value, wrap), x.values)


@rule("equal", "allclose")
def _equal(batch: Batch, *args: Any) -> NoReturn:
    raise one_answer("equal and allclose", "(x == y).all() or isclose(x, y).all()")
