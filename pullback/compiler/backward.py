"""The program of a function whose arguments require grad: a plan forward, and one backward from what that hands on.

A trace runs the function on leaves, and the engine on its outputs with traced cotangents. What is computed without the
cotangents for the results is the forward plan; the rest is the backward one. Backward reads arrays of the forward plan
and arguments. A view of an argument is made again, not handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pullback.arrays.masks import has_nan
from pullback.arrays.traced.graph import LeftError, Step, Value
from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.compiler.cleaning import needed, without_cleaning
from pullback.compiler.node import record
from pullback.compiler.plan import Plan
from pullback.compiler.program import Record
from pullback.compiler.simplify import Simplified
from pullback.compiler.tracing import AS_IT_IS, Trace
from pullback.core.pytree import unflatten
from pullback.core.tensor import ndarray


class DifferentiableProgram(Record):
    """Two plans from one trace.

    Parameters
    ----------
    trace : Trace
    call : callable
        (leaves) -> the result of the function of arguments with these leaves.
    captured : int
        How many of the leaves, the last ones, the function does not take as arguments but reads.
    careful : bool
        With all masks in the forward plan: see `cleaning`.

    Attributes
    ----------
    differentiable : list of bool
        Of each array of the result: True if it has a cotangent.
    places : list of int
        The leaves of the arguments that have a gradient.
    """

    effects = False

    is_slower = False  # without its backward the time is not half of it

    def __init__(self, trace: Trace, call: Callable[[list[Any]], Any], captured: int, careful: bool = False) -> None:
        super().__init__()
        graph, pulled = trace.graph, trace.pulled
        assert pulled is not None
        self.trace, self.call, self.captured = trace, call, captured
        self.outputs, self.structure = trace.outputs, trace.structure
        arrays = [nr for nr, (how, _) in enumerate(trace.outputs) if how is not AS_IT_IS]
        self.differentiable, self.places = [nr in pulled.outputs for nr in arrays], pulled.places
        simplified = Simplified(graph, graph.steps)
        wanted = [simplified.of(trace.outputs[nr][1]) for nr in arrays]
        wanted += [simplified.of(g) for g in pulled.gradients if g is not None]
        steps, results, suspect = needed(simplified.steps, wanted), wanted, list[int]()
        if not careful:
            steps, results, suspect = without_cleaning(steps, wanted)
        self._count = len(arrays)
        self.suspect = [nr for nr in suspect if nr < self._count]
        self._suspect = [nr - self._count for nr in suspect if nr >= self._count]
        self._given = [g is not None for g in pulled.gradients]
        self._gradients = results[self._count :]
        moving = {x.number for x in pulled.cotangents}
        forward = needed(_early(steps, moving), results[: self._count])
        there = moving | {value.number for value, _, _ in graph.constants}
        backward, handed = self._split(steps, set(forward), there)
        inputs = {x.number for x in trace.inputs}
        self._handed = [x for x in handed if x.number not in inputs]
        self._reread = [nr for nr, x in enumerate(trace.inputs) if x.number in {y.number for y in handed}]
        self.plan = Plan(graph, trace.inputs, forward, [*results[: self._count], *self._handed])
        self.backward = Plan(
            graph,
            [*self._handed, *(trace.inputs[nr] for nr in self._reread), *pulled.cotangents],
            backward,
            self._gradients,
        )

    def _split(self, steps: Sequence[Step], forward: set[Step], there: set[int]) -> tuple[list[Step], list[Value]]:
        """(the steps of backward, the values that they read of others); these numbers are there beforehand."""
        chosen = {step for step in needed(steps, self._gradients) if step not in forward}
        maker = {x.number: step for step in steps for x in step.results}
        todo = [x for step in chosen for x in step.values()] + list(self._gradients)
        while todo:  # with the views among what would be handed on, which are made again
            step = maker.get(todo.pop().number)
            if step is not None and step not in chosen and step.pure and step.aliases:
                chosen.add(step)
                todo += step.values()
        made = {x.number for step in chosen for x in step.results}
        known = made | there
        read = {x.number: x for step in chosen for x in step.values()} | {x.number: x for x in self._gradients}
        return [step for step in steps if step in chosen], [x for x in read.values() if x.number not in known]

    def run(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result for these leaves, with one node; raises LeftError where a guard does not hold."""
        states = generator_states() if self.draws else None
        found = self.plan.call(*arrays)
        if self.suspect and any(has_nan(found[nr]) for nr in self.suspect):
            if states is not None:
                restore(states)
            return self.careful.run(leaves, arrays)
        results = record(self, leaves, [np.asarray(x) for x in found[: self._count]], found[self._count :], states)
        given = iter(results)
        return unflatten(self.structure, [x if how is AS_IT_IS else next(given) for how, x in self.outputs])

    @cached_property
    def careful(self) -> DifferentiableProgram:
        """The careful form of the forward plan."""
        return DifferentiableProgram(self.trace, self.call, self.captured, careful=True)

    def pull(self, handed: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """The gradients of the leaves at `places`; None where they must be computed with care, or in another way."""
        if not all(issubclass(type(g), (ndarray, np.generic)) for g in cotangents):
            return None  # batches of them, which the function's own operators know
        try:
            found = self.backward.call(*handed, *(inputs[nr] for nr in self._reread), *cotangents)
        except LeftError:  # a function among its steps has done something else
            return None
        if any(has_nan(found[nr]) for nr in self._suspect):
            return None
        given = iter(found)
        return [next(given) if there else None for there in self._given]


def _early(steps: Sequence[Step], cotangents: set[int]) -> list[Step]:
    """The steps that do not depend on cotangents, whose numbers are given."""
    late, found = {*cotangents}, []
    for step in steps:
        if late.isdisjoint(x.number for x in step.values()):
            found.append(step)
        else:
            late.update(x.number for x in step.results)
    return found
