"""Values that a function keeps from an earlier call of a transform, as in a cache: a later one would lose derivatives.

The leaves that a transform makes of its arguments know its call (`Extra.entered`). Where a later call has a graph that
leads to the leaf of one that is over, through a node that was recorded in it, something was kept. Nobody asks while
operators run: backward asks when it comes to a leaf, and transforms ask of what a result is around: the tensors of
every level in which they themselves record nothing. An argument that was kept as it is may be known as a constant.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

from pullback.core.array_face import surfaced, unlabelled
from pullback.core.array_type import REGISTERED, array_type
from pullback.core.cuts import Run, runs
from pullback.core.errors import EndedLevelError
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.node import AccumulateGrad, Node, OutputEdge, edge_to


def reached(starts: Iterable[Node]) -> set[Node]:
    """All nodes to which a path leads."""
    seen: set[Node] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += _next(node)
    return seen


def _next(node: Node) -> list[Node]:
    """The nodes to which its edges lead."""
    edges = (node._next0, node._next1) if node._nexts is None else node._nexts
    return [edge._node if type(edge) is OutputEdge else edge for edge in edges if edge is not None]


def earlier_call(nodes: Iterable[Node], own: Collection[Node] = (), before: float = math.inf) -> EndedLevelError | None:
    """The error for a value of a call that is over, if one is among these nodes, and the call had begun before.

    `own` are leaves that may be there.
    """
    for node in nodes:
        for leaf in _next(node):
            if type(leaf) is AccumulateGrad and leaf not in own and _is_kept(leaf, node, before):
                return EndedLevelError(leaf.variable._extra.entered, node.name())  # type: ignore[union-attr]
    return None


def _is_kept(leaf: AccumulateGrad, node: Node, before: float) -> bool:
    """True if a leaf is that of a call that is over and had begun before, and this node was recorded in it."""
    run = leaf.variable._extra.entered  # type: ignore[union-attr]  # leaves have an Extra
    return run is not None and node._sequence_nr < run.over and run.begun < before


def refuse_kept(nodes: Iterable[Node], own: Collection[Node] = (), before: float = math.inf) -> None:
    """Raise that error."""
    if (error := earlier_call(nodes, own, before)) is not None:
        raise error


def refuse_kept_at_batch(x: Tensor) -> None:
    """Raise it for a tensor that leaves the level of a vmap, where no backward asks."""
    if x._requires_grad:
        refuse_kept(reached([edge_to(x).node()]))  # type: ignore[union-attr]  # it requires grad


def surfaced_result(x: Any, run: Run, records: bool = True) -> Any:
    """Return `surfaced` of what the function of this call returned, and refuse what hangs on a value of an earlier one.

    `records`: the call has a graph of its own, whose backward asks.
    """
    if not isinstance(x, Tensor):
        x = unlabelled(x)
    if isinstance(x, Tensor) and not (records and x._level == run.level and type(x._array) is ndarray):
        refuse_kept_in(x, run.begun, run.level if records else 0)
    return surfaced(x, run.level)


def refuse_kept_in(x: Tensor, begun: int, own: int = 0) -> None:
    """Raise the error for a value of a call that was over when this one began, in what its function returned.

    Nothing is asked of tensors of the level `own`. What hangs on a transform that has run inside this call is right.
    """
    for inside in _recorded(x):
        level = inside._level
        if level in (0, own):
            continue
        known: set[int] = next((run.known for run in runs() if run.level == level), set())
        seen: set[int] = set()
        waiting: list[Any] = [edge_to(inside).node()]  # type: ignore[union-attr]  # it requires grad
        while waiting:  # along paths that pass none of the numbers that are known
            node = waiting.pop()
            number = node._sequence_nr
            if number not in seen and number not in known:
                seen.add(number)
                for following in _next(node):
                    if type(following) is not AccumulateGrad:
                        waiting.append(following)
                    elif _is_kept(following, node, begun):
                        raise EndedLevelError(following.variable._extra.entered, node.name())  # type: ignore[union-attr]
        known |= seen


def _recorded(x: Any) -> list[Tensor]:
    """The tensors with a graph among `x`, what it is around, and what its values, tangents and samples are."""
    found = []
    waiting = [x]
    while waiting:
        x = waiting.pop()
        if type(x) is ndarray:
            continue
        if isinstance(x, Tensor):
            if x._requires_grad:
                found.append(x)
            if x._level > 1:  # at level 0, where the rest is, no transform has leaves
                waiting.append(x._array)
        elif type(x) in REGISTERED:
            waiting += [getattr(holder, name) for _, holder, name in array_type(x).components(x)]
    return found


def refuse_kept_now(tensors: Iterable[Tensor | None]) -> None:
    """Raise the error for what a linear map has recorded, where a transform runs that has begun later.

    Outside of these the map gives numbers, of which nothing is lost.
    """
    begun = max((run.begun for run in runs() if run.transform), default=0)
    for x in tensors if begun else ():
        if x is not None:
            refuse_kept_in(x, begun, x._level)
