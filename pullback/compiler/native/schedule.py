"""Which nodes share a nest of loops.

A nest runs over a space: outer dimensions, whose points are called rows, and inner ones. A reduction of the inner
dimensions gives a number for each row, which what follows in the same row may use: the row is gone over again, in a
further *pass*, while it is in the first-level cache. So softmax is one nest of three passes: the maximum; the
exponentials and their sum; the quotients. Other reductions, and writes, are whole when the nest has ended.

Nodes are taken in order. Each goes into the first nest of its space in which all that it reads is there: made by nests
before, or, element by element or row by row, by this one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from pullback.compiler.native.nodes import APART, CHECK, GATHER, LEAVES, MAP, REDUCE, WRITE, Node, Window
from pullback.core.types import Shape

ELEMENT: Final = "element"  # one for each point of the space
ROW: Final = "row"  # one for each row
LATE: Final = "late"  # there when the nest has ended

_MOST = 400  # nodes of a nest


class Member:
    """A node in a nest.

    Attributes
    ----------
    node : Node
    level : str
        ELEMENT, ROW or LATE: what others see of it.
    at : int
        The pass that computes it; of a row's number that no pass computes: the pass before which it is there.
    reads_rows : bool
        It reads numbers of rows, and runs once for each row.
    """

    __slots__ = ("at", "level", "node", "reads_rows")

    def __init__(self, node: Node, level: str, at: int, reads_rows: bool) -> None:
        self.node, self.level, self.at, self.reads_rows = node, level, at, reads_rows

    @property
    def there(self) -> int:
        """The first pass that can read it."""
        return self.at + 1 if self.node.op == REDUCE else self.at


class Nest:
    """Nodes that are computed together.

    Attributes
    ----------
    space : tuple of int
    rows : int or None
        How many of the dimensions are outer ones; None while no reduction has said so.
    bits : int
        Of its numbers.
    members : dict of int to Member
        By the nodes' numbers, in order.
    apart : Node or None
        The only one, which has a kernel of its own.
    """

    def __init__(self, space: Shape, bits: int, apart: Node | None = None) -> None:
        self.space, self.bits, self.apart = space, bits, apart
        self.rows: int | None = None
        self.members: dict[int, Member] = {}

    def take(self, node: Node, inside: Sequence[Window]) -> bool:
        """Take a node in, which reads these windows of members; False if it does not fit."""
        if self.apart is not None or node.op in APART or len(self.members) >= _MOST or _bits(node) != self.bits:
            return False
        if node.op == GATHER and inside:  # what it reads elsewhere must be whole
            return False
        if node.op == WRITE and node.attr.by is not None and any(x.node is node.operands[-1].node for x in inside):
            return False  # an index is read from memory
        if (member := self._element(node, inside)) is None and (member := self._row(node, inside)) is None:
            return False
        self.members[node.number] = member
        return True

    def _element(self, node: Node, inside: Sequence[Window]) -> Member | None:
        """A member that runs over the space."""
        if node.space != self.space:
            return None
        at = 0
        for x in inside:
            member = self.members[x.node.number]
            if member.level == LATE or not (x.is_whole if member.level == ELEMENT else self._is_row(x)):
                return None
            at = max(at, member.there)
        if node.op in (MAP, GATHER):
            return Member(node, ELEMENT, at, False)
        if node.op == REDUCE and self._ends_rows(node.attr.axes):
            return Member(node, ROW, at, False)
        return Member(node, LATE, at, False)

    def _row(self, node: Node, inside: Sequence[Window]) -> Member | None:
        """A member that runs over the rows, and reads a number of one of them."""
        if self.rows is None or not inside or node.space != self.space[: self.rows]:
            return None
        at = 0
        for x in inside:
            member = self.members[x.node.number]
            if member.level != ROW or not x.is_whole:
                return None
            at = max(at, member.there)
        return Member(node, ROW if node.op == MAP else LATE, at, True)

    def _is_row(self, x: Window) -> bool:
        """True for numbers of rows, one for all elements of a row."""
        assert self.rows is not None
        k = self.rows
        return x.offset == 0 and x.strides == (*x.node.strides, *[0] * (len(self.space) - k))

    def _ends_rows(self, axes: tuple[int, ...]) -> bool:
        """True if these dimensions are the inner ones, or may be."""
        begin = len(self.space) - len(axes)
        if axes != tuple(range(begin, len(self.space))):
            return False
        if self.rows is None:
            self.rows = begin
        return self.rows == begin


def scheduled(nodes: Iterable[Node], wanted: Iterable[Node]) -> list[Nest]:
    """The nests, in order, that compute these nodes."""
    ordered = alive(nodes, wanted)
    nests: list[Nest] = []
    by_space: dict[object, list[int]] = {}
    where: dict[int, int] = {}  # of each node, the nest that makes it
    readers: dict[int, int] = {}  # of each node, the last nest that reads it
    for node in ordered:
        if node.op in LEAVES:
            continue
        read = [x for x in node.windows() if x.node.op not in LEAVES]
        first = max((where[x.node.number] for x in read), default=0)
        if node.op == WRITE:  # after all who read what was there
            target = node.operands[0].node
            first = max(first, readers.get(target.number, -1) + 1, where.get(target.number, -1) + 1)
        key = (node.space, _bits(node)) if node.op not in APART else node.number
        places = by_space.setdefault(key, [])
        rows = by_space.setdefault((len(node.space), node.space, "rows"), [])
        for nr in sorted({*places[bisect_left(places, first) :], *rows[bisect_left(rows, first) :]}):
            if nests[nr].take(node, [x for x in read if where[x.node.number] == nr]):
                break
        else:
            nr = len(nests)
            nests.append(nest := Nest(node.space, _bits(node), node if node.op in APART else None))
            places.append(nr)
            if node.op in APART:
                nest.members[node.number] = Member(node, LATE, 0, False)
            else:
                assert nest.take(node, [])
        if (k := nests[nr].rows) is not None:
            known = by_space.setdefault((k, nests[nr].space[:k], "rows"), [])
            if nr not in known:
                known.insert(bisect_left(known, nr), nr)
        where[node.number] = nr
        for x in read:
            readers[x.node.number] = max(nr, readers.get(x.node.number, 0))
    return nests


def alive(nodes: Iterable[Node], wanted: Iterable[Node]) -> list[Node]:
    """Those that the wanted ones are computed from, in order."""
    found, todo = dict[int, Node](), list(wanted)
    while todo:
        node = todo.pop()
        if node.number not in found:
            found[node.number] = node
            todo += (x.node for x in node.windows())
    return [found[nr] for nr in sorted(found)]


def _bits(node: Node) -> int:
    return node.attr.bits if node.op in (MAP, CHECK) else 8 * node.dtype.itemsize  # type: ignore[no-any-return]
