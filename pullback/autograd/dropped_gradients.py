"""Finds custom Functions whose backward returned None for an input that has a derivative."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from pullback.core.tensor import Tensor
from pullback.graph.kept_values import reached
from pullback.graph.node import Node, edge_to


def keepers(nodes: Iterable[Node], tensor: Tensor) -> list[str]:
    """Which of these nodes, in words, returned None in a backward where a path leads on to `tensor`."""
    edge = edge_to(tensor)
    found = []
    for node in nodes:
        numbers = getattr(node, "_withheld", ())
        ways = [way.node() for i, way in enumerate(node.edges()) if way is not None and i in numbers]
        if ways and edge is not None and edge.node() in reached(ways):
            found.append(_described(node))
    return list(dict.fromkeys(found))


def _described(node: Any) -> str:
    """'the backward of Square (file:line)'."""
    what, function = node._function._named_backward(node)
    name = f"the {what} of {node._function.__name__}"
    try:
        code = inspect.unwrap(function).__code__
    except AttributeError:  # of another language
        return name
    return f"{name} ({code.co_filename}:{code.co_firstlineno})"
