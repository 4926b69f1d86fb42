"""A user's Function in a trace: followed where it is made of operators, one step where it reads numbers.

As a step it runs in eager mode, with a graph of its own for its backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.arrays.traced.array import TracedArray
from pullback.autograd.api import grad
from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.autograd.function import definition
from pullback.core import modes
from pullback.core.array_face import program_run
from pullback.core.array_type import innermost
from pullback.core.errors import UntraceableError
from pullback.core.tensor import Tensor, wrap
from pullback.func.rules.custom import CustomFunction
from pullback.graph.held_objects import is_users_class

_trying: ContextVar[bool] = ContextVar("pullback_trying", default=False)


def apply(cls: Any, args: tuple[Any, ...]) -> Any:
    """(what a Function gives,) where a trace records an argument; None elsewhere."""
    if program_run.get() is None or _trying.get() or not is_users_class(cls):
        return None
    inside = [innermost(x) for x in args if isinstance(x, Tensor)]
    graph = next((x.at.graph for x in inside if type(x) is TracedArray and x.at.graph.records), None)
    if graph is None:
        return None
    begin, count, states, token = len(graph.steps), graph.count, generator_states(), _trying.set(True)
    try:
        found = cls.apply(*args)
    finally:
        _trying.reset(token)
    if not graph.has_read_since(begin):
        return (found,)
    graph.roll_back(begin)
    restore(states)
    if any(type(now := x._array) is TracedArray and now.at.number >= count for x, _ in graph.held):
        raise UntraceableError(f"{cls.__name__} writes into a Tensor around it, and reads numbers")
    return (_as_step(cls, args),)


class _Run:
    """One run of a Function: its Tensors, and the graph between them."""

    def __init__(self, cls: Any, args: Sequence[Any], places: Sequence[int], needs: Sequence[bool], given: Any) -> None:
        before = modes.set_modes(modes.Modes())
        try:
            whole, self.tensors = list(args), [wrap(np.array(x)) for x in given]
            for i, x, needed in zip(places, self.tensors, needs, strict=True):
                whole[i] = x.requires_grad_() if needed else x
            versions = [x._version for x in self.tensors]
            found = cls.apply(*whole)
        finally:
            modes.restore(before)
        self.single = not isinstance(found, tuple)
        self.outputs = (found,) if self.single else found
        if any(y is x for y in self.outputs for x in self.tensors) or versions != [x._version for x in self.tensors]:
            raise UntraceableError(f"{cls.__name__} writes into its arguments, or returns them, and reads numbers.")
        if not all(isinstance(y, Tensor) for y in self.outputs):
            raise UntraceableError(f"{cls.__name__} reads numbers, and returns something that is no Tensor.")

    def numbers(self) -> list[Any]:
        """The results."""
        return [y.detach().numpy() for y in self.outputs]

    def gradients(self, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients of the arguments."""
        before = modes.set_modes(modes.Modes())
        try:
            pairs = [(y, wrap(np.array(c))) for y, c in zip(self.outputs, cotangents, strict=True) if y.requires_grad]
            wanted = [x for x in self.tensors if x.requires_grad]
            found = iter(grad([y for y, _ in pairs], wanted, [c for _, c in pairs], allow_unused=True))
        finally:
            modes.restore(before)
        given = [next(found) if x.requires_grad else None for x in self.tensors]
        return tuple(None if g is None else g.numpy() for g in given)


def _as_step(cls: Any, args: tuple[Any, ...]) -> Any:
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
    needs = [bool(args[i]._requires_grad) for i in places]
    others = [None if i in places else x for i, x in enumerate(args)]
    single: list[bool] = []

    def forward(*given: Any) -> tuple[list[Any], _Run]:
        run = _Run(cls, others, places, needs, given)
        single[:] = [run.single]
        return run.numbers(), run

    def backward(run: Any, cotangents: Any) -> Any:
        if not isinstance(run, _Run):
            raise UntraceableError(f"{cls.__name__} reads numbers, so that no trace can follow a second derivative.")
        return run.gradients(cotangents)

    def function(*given: Any) -> list[Any]:
        return forward(*given)[0]

    function.__name__ = forward.__name__ = cls.__name__
    step = CustomFunction(function)
    step.defvjp(forward, backward)
    found = step(*(args[i] for i in places))
    return found[0] if single[0] else tuple(found)


definition.recorded_apply = apply
