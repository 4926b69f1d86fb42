"""A compiled function as an operator: one node of the graph, with a program of its own for backward.

    y = compiled(x)    # x requires grad: one node, CompiledBackward
    y.backward()       # runs the backward program

A backward that is itself recorded runs the function's own operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.autograd.api import gradients_of
from pullback.autograd.checkpoint.randomness import generator_states, restore
from pullback.compiler.tracing import AS_IT_IS, NUMBER, TENSOR
from pullback.core import modes
from pullback.core.array_face import ARRAYS, SCALAR_FACES, wrap_array
from pullback.core.array_type import TENSOR as OF_TENSORS
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import Gradient
from pullback.graph.node import MultiNode, Unpack, edge_to, start_multi
from pullback.graph.saved import Released, save_list


class CompiledBackward(MultiNode):
    """The node of a call of a compiled function.

    Attributes
    ----------
    program : DifferentiableProgram
    leaves : list
        Of the arguments; for arrays, which stand in order among `saved_inputs`, their types.
    handed : sequence of arrays
        The arrays of the forward program that backward reads.
    states
        Those of the generators before the forward program drew from them, if it did.
    """

    __slots__ = ("handed", "leaves", "program", "saved_inputs", "states", "version_inputs")
    program: Any
    leaves: list[Any]
    handed: Sequence[Any]
    states: Any
    saved_inputs: Any
    version_inputs: Any

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        given = grad if type(grad) is list else [grad]
        inputs = [unpack(x, v, self) for x, v in zip(self.saved_inputs, self.version_inputs, strict=True)]
        if ops is OF_TENSORS:
            return self._pull_eagerly(given, inputs)
        whole = self.materialize(given, ops)
        cotangents = [g for g, wanted in zip(whole, self.program.differentiable, strict=True) if wanted]
        found: Any = self.program.pull(self.handed, inputs, cotangents)
        if found is None:
            found = self._pull_eagerly([g if g is None else wrap(g) for g in given], inputs)
            found = [g if g is None else g._array for g in found]
        return found  # type: ignore[no-any-return]

    def _pull_eagerly(self, cotangents: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """The gradients as Tensors, by the function's own operators; recorded if the inputs are Tensors."""
        again = any(isinstance(x, Tensor) for x in inputs)
        state, states = modes.current(), generator_states()
        outside = modes.set_modes(state.with_recording(True) if again else modes.Modes())
        if self.states is not None:
            restore(self.states)  # the same numbers are drawn again
        try:
            arrays = iter(inputs)  # those of Tensors that the function reads of itself come last
            leaves = [_entered(x, next(arrays)) if is_array_kind(x) else x for x in self.leaves]
            wanted = []
            for nr in self.program.places:
                leaves[nr] = x = leaves[nr] if leaves[nr]._requires_grad else leaves[nr].detach().requires_grad_()
                wanted.append(x)
            out = zip(flatten(self.program.call(leaves))[0], self.program.outputs, strict=True)
            found = [x for x, (how, _) in out if how is not AS_IT_IS]
            pairs = [(y, g) for y, g in zip(found, cotangents, strict=True) if g is not None and _needs_grad(y)]
            outputs, given = tuple(y for y, _ in pairs), [g for _, g in pairs]
            return list(gradients_of(outputs, tuple(wanted), given, create_graph=again, allow_unused=True))
        finally:
            modes.set_modes(outside)
            if self.states is not None:
                restore(states)

    def release(self) -> None:
        self.saved_inputs = self.version_inputs = (Released,) * len(self.saved_inputs)
        self.handed = ()


def _needs_grad(x: Any) -> bool:
    return isinstance(x, Tensor) and x._requires_grad


def is_array_kind(x: Any) -> bool:
    """True for the type of an array among the leaves of a call."""
    return isinstance(x, type) and issubclass(x, (Tensor, ndarray, np.generic))


def _entered(kind: type, x: Any) -> Any:
    """An argument of this type again: around a raw array, or the Tensor that was saved."""
    if isinstance(x, Tensor) or not issubclass(kind, Tensor):
        return x[()] if issubclass(kind, np.generic) else x
    return wrap_array(x, 0, kind in SCALAR_FACES) if kind in ARRAYS else wrap(x)


def record(
    program: Any, leaves: Sequence[Any], found: Sequence[ndarray], handed: Sequence[Any], states: Any
) -> list[Any]:
    """The results as tensors, with a node behind those that have a cotangent."""
    level = max(leaves[nr]._level for nr in program.places)
    looks = [how for how, _ in program.outputs if how is not AS_IT_IS]
    outs = [
        wrap(x, level if wanted else 0) if how is TENSOR else wrap_array(x, level if wanted else 0, how is NUMBER)
        for x, how, wanted in zip(found, looks, program.differentiable, strict=True)
    ]
    node = start_multi(CompiledBackward, outs, program.differentiable)
    node._nexts = tuple(edge_to(leaves[nr]) for nr in program.places)
    node.program, node.handed, node.states = program, handed, states
    arrays = [x for x in leaves if isinstance(x, (Tensor, ndarray, np.generic))]
    node.saved_inputs, node.version_inputs = save_list(arrays)
    begin = len(leaves) - program.captured
    node.leaves = [type(x) if isinstance(x, (Tensor, ndarray, np.generic)) else x for x in leaves[:begin]]
    node.leaves += leaves[begin:]
    return [
        out if wanted or how is TENSOR else x[()] if how is NUMBER else x
        for out, x, how, wanted in zip(outs, found, looks, program.differentiable, strict=True)
    ]
