"""Which nodes a backward comes to, and how many gradients each of them will receive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from pullback.graph.node import AccumulateGrad, Edge, Node, OutputEdge

MANY = 1 << 16  # nodes: their counts are in no cache


def count(edges: Iterable[Edge], awaited: dict[Node, int]) -> None:  # noqa: PLR0912 - chains apart, in half the time
    """Add to `awaited` how many gradients each node will receive, defined or not: 1, or -n for several.

    One comes through each of `edges`, one from each node that is reached from there. The sign spares the engine's loop
    a look into its buffers for the many nodes that await a single gradient.
    """
    stack: list[Node] = []
    node: Node | None
    for edge in edges:
        node = edge.node()
        if node in awaited:
            awaited[node] = min(awaited[node], -1) - 1
        else:
            awaited[node] = 1
            stack.append(node)
    while stack:
        node = stack.pop()
        while node is not None:  # along a chain without the stack
            nexts = node._nexts
            if nexts is None:
                only = node._next0
                if node._next1 is None and only not in awaited:
                    if only is None:
                        break
                    if type(only) is not OutputEdge:
                        awaited[only] = 1
                        node = only
                        continue
                nexts = (only, node._next1)
            node = None
            for entrance in nexts:
                if entrance is None:
                    continue
                reached = entrance._node if type(entrance) is OutputEdge else entrance
                if reached in awaited:
                    number = awaited[reached]
                    awaited[reached] = -2 if number == 1 else number - 1
                else:
                    awaited[reached] = 1
                    if node is None:
                        node = reached
                    else:
                        stack.append(reached)


def in_order(awaited: dict[Node, int]) -> Callable[[Any], int | None]:
    """`awaited.get` for a large graph that begins as a chain, whose nodes are asked for in the order of their counting.

    To read on in a dictionary that no cache holds takes less than to look something up in it. The first node that is
    not the next one ends the reading.
    """
    counted: Iterator[tuple[Node, int]] = islice(awaited.items(), 1, None)

    def get(node: Any) -> int | None:
        nonlocal counted
        for following, number in counted:
            if following is node:
                return number
            counted = iter(())
        return awaited.get(node)

    return get


def only_leaves(targets: Collection[Node], nodes: Collection[Node]) -> bool:
    """True if the targets are every leaf and nothing else, so that every node is on the way there."""
    for node in targets:
        if type(node) is not AccumulateGrad or node not in nodes:
            return False
    return len(targets) == sum([type(node) is AccumulateGrad for node in nodes])


def towards(targets: Iterable[Node], nodes: Collection[Node]) -> set[Node]:
    """The nodes among `nodes` through which `targets` are reached, these included."""
    # Sequence numbers would not do for an order: a view's function is made anew when it is asked for.
    consumers: dict[Node, list[Node]] = {}
    for node in nodes:
        for edge in node.edges():
            if edge is not None:
                consumers.setdefault(edge.node(), []).append(node)
    needed: set[Node] = set()
    stack = [node for node in targets if node in nodes]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack += consumers.get(node, ())
    return needed
