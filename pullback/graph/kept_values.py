"""Values that a function keeps from an earlier call of a transform, as in a cache: a later one would lose derivatives.

The leaves that a transform makes of its arguments know its call (`Extra.entered`). Where a later call has a graph that
leads to the leaf of one that is over, through a node that was recorded in it, something was kept. Nobody asks while
operators run: backward asks when it comes to a leaf, and transforms ask of results that are recorded where they
themselves record nothing. An argument that was kept as it is may be known as a constant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pullback.core.array_face import surfaced, unlabelled
from pullback.core.cuts import Run
from pullback.core.errors import EndedLevelError
from pullback.core.tensor import Tensor
from pullback.graph.node import AccumulateGrad, Node, edge_to


def reached(starts: Iterable[Node]) -> set[Node]:
    """All nodes to which a path leads."""
    seen: set[Node] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [edge.node() for edge in node.edges() if edge is not None]
    return seen


def earlier_call(nodes: Collection[Node], own: Collection[Node] = ()) -> EndedLevelError | None:
    """The error for a value of a call that is over, if one is among these nodes; `own` are leaves that may be."""
    over: dict[Node, Run] = {}
    for node in nodes:
        if type(node) is AccumulateGrad and node not in own:
            run = node.variable._extra.entered  # type: ignore[union-attr]  # leaves have an Extra
            if run is not None and run.over:
                over[node] = run
    for node in nodes if over else ():
        for edge in node.edges():
            run = None if edge is None else over.get(edge.node())
            if run is not None and node._sequence_nr < run.over:
                return EndedLevelError(run, node.name())
    return None


def refuse_kept(nodes: Collection[Node], own: Collection[Node] = ()) -> None:
    """Raise that error."""
    if (error := earlier_call(nodes, own)) is not None:
        raise error


def refuse_kept_at_batch(x: Tensor) -> None:
    """Raise it for a tensor that leaves the level of a vmap, where no backward asks."""
    if x._requires_grad:
        refuse_kept(reached([edge_to(x).node()]))  # type: ignore[union-attr]  # it requires grad


def surfaced_result(x: Any, run: Run, records: bool = True) -> Any:
    """Return `surfaced` of what the function of this call returned, and refuse what hangs on a value of an earlier one.

    `records`: the call has a graph of its own, whose backward asks.
    """
    if records and isinstance(x, Tensor) and x._level == run.level:
        return x
    x = inside = unlabelled(x)
    while isinstance(inside, Tensor) and inside._level >= run.level:
        if inside._requires_grad and (inside._level > run.level or not records):
            error = earlier_call(reached([edge_to(inside).node()]))  # type: ignore[union-attr]  # it requires grad
            if error is not None and error.begun < run.begun:  # not of a transform inside this call
                raise error
        inside = inside._array
    return surfaced(x, run.level)
