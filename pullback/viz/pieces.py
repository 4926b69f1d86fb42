"""Says what checkpointing would save: the graph cut into pieces, of which one at a time has what it saves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isqrt, prod

from pullback.core.tensor import Tensor
from pullback.graph.node import AccumulateGrad, Node
from pullback.viz.held import Held


@dataclass(frozen=True)
class Pieces:
    """A way to checkpoint: into how many pieces, and the most bytes that are held then, leaves not counted.

    Parameters
    ----------
    count, held : int
        Found by `memory`.

    Examples
    --------
    >>> x = pb.ones(1000, requires_grad=True)
    >>> y = x
    >>> for _ in range(30):
    ...     y = y.sin()
    >>> pieces = pb.viz.memory(y.sum()).pieces
    >>> pieces.count
    5
    """

    count: int
    held: int


def best_pieces(
    operators: Sequence[Node], kept: Mapping[int, Sequence[Held]], own: Mapping[int, Mapping[int, int]]
) -> Pieces | None:
    """The number of pieces that holds least; None where none holds less than the graph does as it is.

    `operators` are in the order of recording, `kept` is what they hold, `own` the bytes that each holds first.
    """
    given, made = _split(operators, kept, own)
    until = [0, *accumulate(made)]
    crossing = _crossing(operators)
    plans = [_plan(count, until, crossing) for count in range(2, 2 * isqrt(len(operators)) + 3)]
    best = min((plan for plan in plans if plan.count > 1), key=lambda plan: plan.held, default=None)
    if best is None or best.held >= until[-1]:
        return None
    return Pieces(best.count, best.held + given)


def _split(
    operators: Sequence[Node], kept: Mapping[int, Sequence[Held]], own: Mapping[int, Mapping[int, int]]
) -> tuple[int, list[int]]:
    """The bytes that come from outside the graph, and those computed in it, of each node."""
    given, made = 0, []
    for node in operators:
        mine, computed = own[id(node)], set()
        for held in kept[id(node)]:
            if not isinstance(held.value, Tensor) or held.value.grad_fn is not None:
                computed.add(held.place)
        inside = sum(size for place, size in mine.items() if place in computed)
        made.append(inside)
        given += sum(mine.values()) - inside
    return given, made


def _crossing(operators: Sequence[Node]) -> list[int]:
    """For each cut, before node i, the bytes of the values computed before it and used behind."""
    position = {node: i for i, node in enumerate(operators)}
    last: dict[tuple[Node, int], int] = {}
    for i, node in enumerate(operators):
        for source, nr in node.next_functions:
            if source is not None and not isinstance(source, AccumulateGrad):
                last[source, nr] = i
    change = [0] * (len(operators) + 1)
    for (source, nr), end in last.items():
        form = source.input_metadata[nr]
        size = prod(form.shape or ()) * (form.dtype.itemsize if form.dtype is not None else 0)
        change[position[source] + 1] += size
        change[end + 1] -= size
    return list(accumulate(change))


def _plan(count: int, until: Sequence[int], crossing: Sequence[int]) -> Pieces:
    """Cuts after equal shares of what is saved, each moved to the place nearby where least crosses."""
    total, reach = until[-1], max(1, len(until) // (4 * count))
    cuts = {0, len(until) - 1}
    for part in range(1, count):
        wanted = bisect_left(until, total * part / count)
        near = range(max(1, wanted - reach), min(len(until) - 2, wanted + reach) + 1)
        if near:
            cuts.add(min(near, key=lambda i: (crossing[i], abs(i - wanted))))
    ends = sorted(cuts)
    largest = max(until[b] - until[a] for a, b in pairwise(ends))
    return Pieces(len(ends) - 1, largest + sum(crossing[cut] for cut in ends[1:-1]))
