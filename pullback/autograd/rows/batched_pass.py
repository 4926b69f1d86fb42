"""All rows of a batch of cotangents in one backward: the rules of vmap run in place of the operators.

Loaded when it is first asked for, as batched arrays are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pullback.arrays.batched import Batch, BatchedArray
from pullback.arrays.batched.boundary import leave
from pullback.arrays.batched.random import Draws
from pullback.autograd.engine import dependencies
from pullback.autograd.engine.accumulate import owned
from pullback.autograd.function.node import FunctionNode
from pullback.autograd.rows.batched_grads import Row
from pullback.core import modes
from pullback.core.array_face import faced_as, wrap_as
from pullback.core.drawing import drawing
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.dispatch.outer_levels import constant_part
from pullback.graph.inplace_nodes import CopySlices
from pullback.graph.node import AccumulateGrad, Node, edge_to


class Graph:
    """The graph between outputs and inputs."""

    def __init__(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        self.outputs, self.inputs = outputs, inputs
        self.level = max(x._level for x in outputs)
        nodes: dict[Node, int] = {}
        dependencies.count([edge for edge in map(edge_to, outputs) if edge is not None], nodes)
        targets = {edge.node() for edge in map(edge_to, inputs) if edge is not None}
        self.runs = set(nodes) if dependencies.only_leaves(targets, nodes) else dependencies.towards(targets, nodes)

    def takes_batches(self) -> bool:
        """True if nothing that a user wrote for one gradient runs here, and nobody looks at single nodes."""
        state = modes.current()
        if self.level > state.level or any(observer.watches_nodes for observer in state.observers):
            return False
        return all(map(_is_plain, (*self.outputs, *self.inputs))) and not any(map(_is_users, self.runs))

    def release(self) -> None:
        """Let go of the saved tensors, as a backward does that keeps none."""
        for node in self.runs:
            if any(edge is not None and edge.node() in self.runs for edge in node.edges()):
                node.release()


def _is_plain(x: Any) -> bool:
    """True if there are numbers of samples alone in a tensor, and no tangents or other derivatives beside them."""
    while isinstance(x, Tensor) or type(x) is BatchedArray:
        x = x.values if type(x) is BatchedArray else x._array
    return type(x) is ndarray


def _is_users(node: Node) -> bool:
    """True if a hook sees what comes to a node, or its backward is that of a custom Function that takes one row."""
    extra = node._extra
    if extra is not None and (extra.pre_hooks or extra.post_hooks or extra.tensor_hooks or extra.retained):
        return True
    if isinstance(node, AccumulateGrad):
        return bool(node.variable._extra and node.variable._extra.hooks)
    if isinstance(node, CopySlices):
        return _is_users(node.fn)
    return isinstance(node, FunctionNode) and not node._function.generate_vmap_rule


@contextmanager
def opened(size: int, called: str, randomness: str = "error") -> Iterator[tuple[Batch, int]]:
    """A batch of so many elements, and the level of Tensors around its arrays."""
    state = modes.current()
    level, batch = state.level + 1, Batch(size, randomness, called)
    drew = drawing.get()
    try:
        modes.restore(state.deeper())
        drawing.set(Draws(batch, level))
        yield batch, level
    finally:
        try:
            drawing.set(drew)
        finally:
            modes.restore(state)
            batch.close()


def in_one(
    graph: Graph, gradients: Callable[[list[Tensor]], Row], batches: Sequence[Tensor], create_graph: bool
) -> Row:
    """The gradients for all rows. `gradients` takes a list of cotangents, of which each stands for all its rows."""
    with opened(batches[0].shape[0], "grad(is_grads_batched=True)") as (batch, level):
        inside = [x._array if x._level == graph.level and not create_graph else constant_part(x) for x in batches]
        # Arrays flow in an ordinary backward, and among ndarrays batched ones may be bare: that spares the Tensors.
        bare = not create_graph and not graph.level and all(type(x) is ndarray for x in inside)
        at = 0 if bare else level
        found = gradients([wrap(BatchedArray(x, batch), at) for x in inside])
        return tuple(
            None if g is None else _outside(leave(g, 0, batch, at), x, graph.level)
            for g, x in zip(found, graph.inputs, strict=True)
        )


def _outside(values: Any, tensor: Tensor, level: int) -> Tensor:
    """The gradients of one input, for all rows, as those of a single row are."""
    if isinstance(values, Tensor) and values._level >= level:
        if values._level > level:  # cotangents of a transform in which this runs, perhaps the very ones
            return faced_as(tensor, values.clone())  # type: ignore[no-any-return]
        if values._requires_grad:
            return faced_as(tensor, values)  # type: ignore[no-any-return]
        values = values._array
    return wrap_as(tensor, owned([values]), level)
