"""Describes what a node saved for backward, for drawings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pullback.autograd.function import FunctionNode
from pullback.core.tensor import Tensor
from pullback.graph.node import Node, saved_slots
from pullback.graph.packed import Packed
from pullback.graph.saved import Released


def what_is_saved(node: Node) -> list[str]:
    """One line for each tensor: its name, dtype and shape. Nothing is unpacked or checked."""
    return [
        f"{name}: {_describe(held, version)}"
        for name, held, version in _held(node)
        if held is not None or version is Released
    ]


def _held(node: Node) -> Iterator[tuple[str, Any, Any]]:
    """(name, what is held, what stands beside it) for each saved tensor, those in lists too."""
    if isinstance(node, FunctionNode):
        yield from ((f"tensor {i}", held, version) for i, (held, version, _) in enumerate(node._saved))
        return
    for slot in saved_slots(type(node)):
        name = slot.removeprefix("saved_")
        held, version = getattr(node, slot, None), getattr(node, f"version_{name}", None)
        if type(held) is tuple and type(version) is tuple and len(held) == len(version):  # a list of tensors
            yield from ((f"{name}[{i}]", h, v) for i, (h, v) in enumerate(zip(held, version, strict=True)))
        else:
            yield name, held, version


def _describe(held: Any, version: Any) -> str:
    if version is Released:
        return "released"
    if type(version) is Packed:
        return f"{version.dtype} {tuple(version.shape)}, packed by hooks"
    if isinstance(held, Tensor) or hasattr(held, "dtype"):
        return f"{held.dtype} {tuple(held.shape)}"
    return repr(held)
