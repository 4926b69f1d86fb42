"""A program: the plan of a trace, from the leaves of the arguments to what the caller gets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pullback.arrays.masks import has_nan
from pullback.compiler.cleaning import needed, without_cleaning
from pullback.compiler.native.parts import NativePart
from pullback.compiler.plan import Plan
from pullback.compiler.simplify import Simplified
from pullback.compiler.tracing import (
    ARRAY,
    AS_IT_IS,
    NUMBER,
    TENSOR,
    Trace,
    memories_of,
    set_grad,
    unwritable,
    write_into,
)
from pullback.core.pytree import unflatten
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.dispatch.operator import tags_of


def inputs_of(leaves: Sequence[Any]) -> list[Any]:
    """The arrays among the leaves of the arguments, as a plan takes them."""
    return [
        x if type(x) is ndarray else x._array if isinstance(x, Tensor) else np.asarray(x)
        for x in leaves
        if isinstance(x, (ndarray, Tensor, np.generic))
    ]


class Record:
    """How a program has done so far.

    Attributes
    ----------
    calls : int
        How often it has run.
    look : int
        The call from which on somebody compares it with the function.
    seconds, eager_seconds : float
        That it has taken, and the function: the least of a few calls; inf before these.
    audits : list of int
        The calls at which it was audited.
    is_simple : bool
        Nothing need be put back where a guard of it does not hold.
    """

    plan: Plan
    effects: bool
    calls = look = 0
    seconds = eager_seconds = math.inf

    def __init__(self) -> None:
        self.audits: list[int] = []

    def timed(self, eager: float, took: float) -> None:
        """Note how long the function and the program have taken."""
        self.eager_seconds, self.seconds = min(eager, self.eager_seconds), min(took, self.seconds)

    @property
    def is_slower(self) -> bool:
        """True if it takes longer than the function itself."""
        return self.seconds > self.eager_seconds

    @cached_property
    def is_simple(self) -> bool:
        return not (self.effects or self.draws)

    @property
    def is_native(self) -> bool:
        """True if all of it is machine code."""
        return len(self.plan.parts) == 1 and isinstance(self.plan.parts[0], NativePart)

    @cached_property
    def draws(self) -> bool:
        """True if it draws random numbers."""
        return any(
            "random" in tags_of(step.what) if isinstance(step.what, str) else getattr(step.what, "drew", False)
            for step in self.plan.steps
        )


class Program(Record):
    """A plan, and what its caller gets: how the outputs look, and in which structure."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._read = [array for _, array, live in trace.graph.constants if live]
        self.trace = trace
        self.plan, self.suspect = _plan(trace, careful=False)
        if self.suspect and self.draws:  # which it cannot do a second time
            self.plan, self.suspect = _plan(trace, careful=True)
        self.careful: Plan | None = None
        self.outputs, self.structure = trace.outputs, trace.structure
        self.written = [place for place, _ in trace.written]
        self.grads = trace.grads
        self.effects = bool(self.written or self.grads)
        self._usual = None if self.effects else _usual_results(trace)

    def run(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result for these leaves, `arrays` being the inputs; raises LeftError where a guard does not hold."""
        if self.effects:
            return self._run_and_write(leaves, arrays)
        found = self.plan.call(*arrays)
        if self.suspect and any(has_nan(found[nr]) for nr in self.suspect):
            found = self._carefully(arrays)
        return self.results(found) if self._usual is None else self._usual(*found)

    def _run_and_write(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> Any:
        found = self.rehearse(leaves, arrays)
        results = self.results(found)
        given = iter(found[sum(how is not AS_IT_IS for how, _ in self.outputs) :])
        for place in self.written:
            write_into(leaves[place], next(given))
        for place, at in self.grads:
            set_grad(leaves[place], None if at is None else np.asarray(next(given)))
        return results

    def results(self, found: Sequence[Any]) -> Any:
        """The result for the caller, of the arrays that were computed."""
        given = iter(found)
        return unflatten(
            self.structure, [x if how is AS_IT_IS else looking(how, next(given)) for how, x in self.outputs]
        )

    def compute(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays of the outputs, and of what is written, for these inputs."""
        found = self.plan.call(*arrays)
        if self.suspect and any(has_nan(found[nr]) for nr in self.suspect):
            return self._carefully(arrays)
        return found

    def rehearse(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays that it would give, and write; raises LeftError where a guard does not hold."""
        if self.written:
            self._check_memory(leaves, arrays)
        return self.compute(arrays)

    def _check_memory(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> None:
        every = [*arrays, *self._read]
        apart = len({id(x) for x in every if x.base is None}) == len(every)  # each has memory of its own
        if apart and all(x.flags.writeable for x in arrays):
            return
        if wrong := unwritable(memories_of(leaves), self.written, self._read):
            raise ValueError(wrong)

    def _carefully(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results of the careful form, which takes the place of the fast one when it is needed twice."""
        if self.careful is None:
            self.careful, _ = _plan(self.trace, careful=True)
        else:
            self.plan, self.suspect = self.careful, []
        return self.careful.call(*arrays)


def _plan(trace: Trace, careful: bool) -> tuple[Plan, list[int]]:
    """(the plan of a trace, the results in which a NaN would show that a mask was missing)."""
    simplified = Simplified(trace.graph, trace.graph.steps)
    wanted = [x for how, x in trace.outputs if how is not AS_IT_IS]
    wanted += [x for _, x in trace.written] + [x for _, x in trace.grads if x is not None]
    results = [simplified.of(x) for x in wanted]
    steps, suspect = needed(simplified.steps, results), list[int]()
    if not careful:
        steps, results, suspect = without_cleaning(steps, results)
    return Plan(trace.graph, trace.inputs, steps, results), suspect


def _usual_results(trace: Trace) -> Callable[..., Any] | None:
    """A function of the arrays of a plan that gives the result, if that is made of them by lists and tuples."""
    outputs = trace.outputs
    names = [f"x{nr}" for nr in range(len(outputs))]
    if any(how not in _SHOWN for how, _ in outputs):
        return None
    shown = [_SHOWN[how].format(name) for name, (how, _) in zip(names, outputs, strict=True)]
    text = _written(trace.structure, shown)
    if text is None or len(text) > _LONGEST:
        return None
    scope = {"ndarray": ndarray, "asarray": np.asarray, "wrap": wrap}
    return eval(f"lambda {', '.join(names)}: {text}", scope)  # type: ignore[no-any-return]  # noqa: S307 - our own text


def _written(structure: Any, leaves: Sequence[str]) -> str | None:
    """The text of a tree of lists and tuples with these leaves; None for another one."""
    if structure is None:
        return "None"
    if isinstance(structure, int):
        return leaves[structure]
    _, kind, parts = structure
    if kind not in (list, tuple):
        return None
    texts = [_written(part, leaves) for part in parts]
    if any(text is None for text in texts):
        return None
    inside = "".join(f"{text}, " for text in texts)
    return f"({inside})" if kind is tuple else f"[{inside}]"


_LONGEST = 10_000
_AS_ARRAY = "{0} if type({0}) is ndarray else asarray({0})"
# How arrays look to the caller, as `looking` says.
_SHOWN = {NUMBER: "{0}[()] if type({0}) is ndarray else {0}", ARRAY: _AS_ARRAY, TENSOR: f"wrap({_AS_ARRAY})"}


def looking(how: str | None, array: Any) -> Any:
    """An array of a result as the caller is to see it."""
    if how is NUMBER:
        return array[()] if type(array) is ndarray else array
    array = np.asarray(array)
    return wrap(array) if how is TENSOR else array
