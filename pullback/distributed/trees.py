"""Sums in a tree whose shape depends on the number of terms alone: the same bits in whatever order terms come.

Two neighbours are added at a time (pairwise summation, whose error grows as log n: Higham, SIAM J. Sci. Comput. 14(4),
1993, 783-799).
"""

from __future__ import annotations

from typing import Any

from pullback.core.errors import GradientError, with_article
from pullback.core.pytree import Structure, flatten, unflatten

_Terms = tuple[list[Any], Structure]


class TreeSum:
    """Adds up trees of arrays, the terms of a sum.

    Node (level, place) of the tree has the terms from place * 2**level on, 2**level of them or those that are left.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._nodes: dict[tuple[int, int], tuple[int, _Terms]] = {}  # those whose neighbour has not come yet

    def put(self, start: int, stop: int, value: Any) -> None:
        """Add what the terms from `start` to `stop` give, which are those of a node."""
        level = (stop - start - 1).bit_length()
        place, terms = start >> level, flatten(value)
        while place or stop - start < self._count:
            beside = place ^ 1
            if beside << level < self._count:
                if (found := self._nodes.pop((level, beside), None)) is None:
                    self._nodes[level, place] = start, terms
                    return
                (start, left), (later, right) = sorted([(start, terms), found], key=lambda node: node[0])
                terms = _added(left, right, start, later)
            level, place = level + 1, place >> 1
            start, stop = place << level, min((place + 1) << level, self._count)
        self._nodes[level, 0] = 0, terms

    def total(self) -> Any:
        """Return the sum of all terms."""
        ((_, (leaves, structure)),) = self._nodes.values()
        return unflatten(structure, leaves)


def _added(left: _Terms, right: _Terms, start: int, later: int) -> _Terms:
    (xs, structure), (ys, other) = left, right
    if structure != other:
        raise GradientError(
            f"a sum over partitions: the function returned other containers for partition {later} than for partition "
            f"{start}: {unflatten(other, ys)!r} there, {unflatten(structure, xs)!r} here."
        )
    for x, y in zip(xs, ys, strict=True):
        if getattr(x, "shape", ()) != getattr(y, "shape", ()):
            raise GradientError(
                f"a sum over partitions: the function returned an array of shape {getattr(y, 'shape', ())} for "
                f"partition {later}, and of shape {getattr(x, 'shape', ())} for partition {start}. Let it sum over the "
                "rows: what is added must have one shape."
            )
        if isinstance(x, (str, bytes)):
            raise GradientError(f"a sum over partitions: the function returned {with_article(x)}, which is no number.")
    return [x + y for x, y in zip(xs, ys, strict=True)], structure
