"""The graph in a user's hands: looking at what a node saved, and running one node by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.autograd.fit import fit
from pullback.core import slots
from pullback.core.dispatch import TENSOR
from pullback.core.errors import GradientError
from pullback.core.node import InputMetadata, Node
from pullback.core.saved import tensor_unpacker
from pullback.core.tensor import Tensor
from pullback.core.types import Version


def call_node(node: Node, grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """The gradients of the inputs of `node` for these gradients of its outputs, as Tensors."""
    metadata = node.input_metadata
    if len(grads) != len(metadata):
        raise TypeError(f"{node.name()} takes {len(metadata)} gradient(s), one for each output; got {len(grads)}.")
    for i, (g, expected) in enumerate(zip(grads, metadata, strict=True)):
        _check(node, i, g, expected)
    given = [g for g in grads if g is not None]
    if not given and not node.takes_undefined:
        return (None,) * len(node.edges())
    unpack = tensor_unpacker(max((g._level for g in given), default=0))
    results = node.apply(TENSOR, grads[0] if len(grads) == 1 else list(grads), unpack)
    return tuple(
        None if g is None or edge is None else fit(g, edge, node, None)
        for g, edge in zip(results, node.edges(), strict=False)
    )


def _check(node: Node, i: int, g: Tensor | None, expected: InputMetadata) -> None:
    if g is None:
        return
    if not isinstance(g, Tensor):
        raise TypeError(f"{node.name()}: gradient {i} must be a Tensor or None, got {type(g).__name__}.")
    if expected.shape is not None and g.shape != tuple(expected.shape):
        raise GradientError(f"{node.name()}: gradient {i} has shape {g.shape}; expected {tuple(expected.shape)}.")


def show_saved(node: Node, name: str) -> Any:
    """What `node` saved under `name`, as a Tensor where it was one, checked as in a backward."""
    saved, version = getattr(node, f"saved_{name}"), getattr(node, f"version_{name}", None)
    if isinstance(saved, tuple) and isinstance(version, tuple):
        return tuple(_unpacked(node, s, v) for s, v in zip(saved, version, strict=True))
    return _unpacked(node, saved, version)


def _unpacked(node: Node, saved: Any, version: Version) -> Any:
    level = saved._level + 1 if isinstance(saved, Tensor) else 0  # matters for a saved output alone
    return tensor_unpacker(level)(saved, version, node)


slots.call_node = call_node
slots.show_saved = show_saved

__all__ = ["Node", "call_node", "show_saved"]
