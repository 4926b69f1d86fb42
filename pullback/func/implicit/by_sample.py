"""Rules that need numbers, where those of a batch are further in: each sample by itself, and differentiable again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core.pytree import flatten, unflatten
from pullback.func.implicit.linear_maps import Leaves, Linearized, push, replaced, restricted
from pullback.func.rules.calls import moves
from pullback.func.rules.custom import CustomFunction


def by_sample(function: Callable[..., Any], args: Sequence[Any], of_leaves: CustomFunction | None = None) -> Any:
    """Return what a function gives, differentiable by its arguments; `of_leaves` is what `run_by_sample` gave."""
    leaves, structure = flatten(tuple(args))
    run = _Run(lambda leaves: function(*unflatten(structure, leaves)), leaves)
    found = iter((of_leaves or _again)(run, *leaves))
    return unflatten(run.form, [next(found) if there else None for there in run.there])


class _Run:
    """A function of leaves, and where it gives something else than None."""

    form: Any
    there: list[bool]

    def __init__(self, function: Callable[[Leaves], Any], leaves: Leaves) -> None:
        self.function = function
        self.free = [i for i, x in enumerate(leaves) if moves(x) and x.dtype.kind in "fc"]

    def values(self, leaves: Leaves) -> Leaves:
        """Return what it gives, in leaves."""
        found, self.form = flatten(self.function(leaves))
        self.there = [y is not None for y in found]
        return [y for y in found if y is not None]

    def of_free(self, leaves: Sequence[Any]) -> tuple[Any, Leaves]:
        """(it as a function of the leaves that are differentiated, these)."""
        return restricted(self.values, leaves, self.free), [leaves[i] for i in self.free]


def _vjp(cotangents: Leaves, ys: Leaves, run: _Run, *leaves: Any) -> tuple[Any, ...]:
    pulled = Linearized(*run.of_free(leaves)).pull(cotangents)
    return None, *replaced([None] * len(leaves), run.free, pulled)


def _jvp(tangents: tuple[Any, ...], ys: Leaves, run: _Run, *leaves: Any) -> Leaves:
    return push(*run.of_free(leaves), [tangents[1 + i] for i in run.free])


def run_by_sample(name: str, instead: str) -> CustomFunction:
    """Return what runs functions, with a node of this name, which says what to write instead where that is slow."""

    def run_one(run: _Run, *leaves: Any) -> Leaves:
        return run.values(list(leaves))

    run_one.__name__ = name
    made = CustomFunction(run_one, _vjp, _jvp)
    made._rule.by_sample, made._rule.instead = by_sample, instead
    return made


_again = run_by_sample("by_sample", "")
_again._rule.has_looped = True  # the function whose rules these are has said so
