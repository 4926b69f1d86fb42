"""A compiled function as an operator: one node of the graph, with a program of its own for backward.

    y = compiled(x)    # x requires grad: one node, CompiledBackward
    y.backward()       # runs the backward program

A trace runs the function on leaves, and the engine on its outputs with traced cotangents. What is computed without
them is the forward program; it hands on what the rest, the backward program, reads of it. A backward that is itself
recorded runs the function's own operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.api import gradients_of
from pullback.autograd.function.definition import Function
from pullback.compiler.cleaning import needed, without_cleaning
from pullback.compiler.numbers import has_nan
from pullback.compiler.plan import Plan
from pullback.compiler.program import inputs_of, quietly
from pullback.compiler.simplify import Simplified
from pullback.compiler.tracing import ARRAY, AS_IT_IS, NUMBER, Trace
from pullback.core import modes
from pullback.core.array_face import as_array, show_as_array
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, wrap


class DifferentiableProgram:
    """Two plans from one trace: forward, and backward from what forward hands on.

    Parameters
    ----------
    trace : Trace
    call : callable
        (leaves) -> the result of the function of arguments with these leaves.

    Attributes
    ----------
    differentiable : list of int
        The arrays of the result, by number, that have a cotangent.
    places : list of int
        The leaves of the arguments that have a gradient.
    """

    written: Sequence[int] = ()

    def __init__(self, trace: Trace, call: Callable[[list[Any]], Any]) -> None:
        graph, pulled = trace.graph, trace.pulled
        assert pulled is not None
        self.trace, self.call = trace, call
        self.outputs, self.structure = trace.outputs, trace.structure
        arrays = [nr for nr, (how, _) in enumerate(trace.outputs) if how is not AS_IT_IS]
        self.differentiable, self.places = [arrays.index(nr) for nr in pulled.outputs], pulled.places
        self.calls = self.slower = 0
        simplified = Simplified(graph, graph.steps)
        outputs = [trace.outputs[nr][1] for nr in arrays]
        wanted = [simplified.of(x) for x in (*outputs, *(g for g in pulled.gradients if g is not None))]
        steps, results, suspect = without_cleaning(needed(simplified.steps, wanted), wanted)
        self._count = len(outputs)
        self._suspect = [nr - self._count for nr in suspect if nr >= self._count]
        self._given = [g is not None for g in pulled.gradients]
        forward, gradients = needed(steps, results[: self._count]), results[self._count :]
        of_forward = set(forward)
        backward = [step for step in needed(steps, gradients) if step not in of_forward]
        known = {x.number for x in pulled.cotangents} | {value.number for value, _, _ in graph.constants}
        known.update(x.number for step in backward for x in step.results)
        read = {x.number: x for x in (*(y for step in backward for y in step.values()), *gradients)}
        handed = [x for x in read.values() if x.number not in known]
        self.plan = Plan(graph, trace.inputs, forward, [*results[: self._count], *handed])
        self.backward = Plan(graph, [*handed, *pulled.cotangents], backward, gradients)

    def run(self, leaves: Sequence[Any]) -> Any:
        """The result for these leaves, with one node; raises LeftError where the program is not that of this call."""
        found = quietly(self.plan.call, *inputs_of(leaves))
        tensors = [leaves[nr] for nr in self.places]
        call = _Call(self, leaves, [np.asarray(x) for x in found[: self._count]], found[self._count :])
        given = iter(Compiled.apply(call, *tensors))
        return unflatten(
            self.structure, [x if how is AS_IT_IS else _faced(how, next(given)) for how, x in self.outputs]
        )

    def pull(self, handed: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """The gradients of the inputs; None where a NaN tells that they must be computed with care."""
        found = quietly(self.backward.call, *handed, *cotangents)
        if any(has_nan(found[nr]) for nr in self._suspect):
            return None
        given = iter(found)
        return [next(given) if there else None for there in self._given]


def _faced(how: str, x: Tensor) -> Any:
    return show_as_array(as_array(x), how is NUMBER) if how in (ARRAY, NUMBER) else x


class _Call:
    """One call of a program: its arguments, its results, and what its backward reads."""

    __slots__ = ("found", "handed", "leaves", "program")

    def __init__(self, program: DifferentiableProgram, leaves: Sequence[Any], found: Any, handed: Any) -> None:
        self.program, self.leaves, self.found, self.handed = program, leaves, found, handed

    def pull_eagerly(self, tensors: Sequence[Tensor], cotangents: Sequence[Any]) -> Sequence[Any]:
        """The gradients, by the function's own operators, recorded where the backward is."""
        state = modes.current()
        leaves = list(self.leaves)
        entered = [x if x._requires_grad else x.detach().requires_grad_() for x in tensors]
        for nr, x in zip(self.program.places, entered, strict=True):
            leaves[nr] = x
        outside = modes.set_modes(state.with_recording(True))
        try:
            found = [x for x in flatten(self.program.call(leaves))[0] if isinstance(x, Tensor)]
            pairs = [
                (found[nr], g) for nr, g in zip(self.program.differentiable, cotangents, strict=True) if g is not None
            ]
            outputs = tuple(y for y, _ in pairs)
            again = state.records(state.level)
            return gradients_of(outputs, tuple(entered), [g for _, g in pairs], create_graph=again, allow_unused=True)
        finally:
            modes.set_modes(outside)


class Compiled(Function):
    """The node of a compiled function."""

    double_backward = "exact"

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> Any:
        """Hand on what the forward program has found."""
        ctx.save_for_backward(*tensors)
        ctx.call = call
        ctx.set_materialize_grads(False)
        found = tuple(map(wrap, call.found))
        ctx.mark_non_differentiable(*(x for nr, x in enumerate(found) if nr not in call.program.differentiable))
        return found

    @staticmethod
    def backward(ctx: Any, *given: Any) -> Any:
        """Run the backward program, or the function's own operators where this is recorded."""
        tensors = ctx.saved_tensors
        call: _Call = ctx.call
        program, state = call.program, modes.current()
        cotangents = [given[nr] for nr in program.differentiable]
        if not state.records(state.level):
            results = [call.found[nr] for nr in program.differentiable]
            arrays = [np.zeros_like(y) if g is None else g._array for g, y in zip(cotangents, results, strict=True)]
            if (found := program.pull(call.handed, arrays)) is not None:
                return None, *(None if g is None else wrap(np.asarray(g)) for g in found)
        return None, *call.pull_eagerly(tensors, cotangents)
