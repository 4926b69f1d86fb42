"""Where the arrays of a native program lie: in what is given, in results, or in one workspace that they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pullback.compiler.native import simple
from pullback.compiler.native.kernel import Kernel, Place
from pullback.compiler.native.nodes import APART, CHECK, LEAVES, MAP, WRITE, Map, Node, Window
from pullback.compiler.native.product import Product
from pullback.compiler.native.schedule import LATE, Nest, alive
from pullback.compiler.native.solo import Solo

_ALIGNED = 64


def settled(nodes: Iterable[Node], wanted: Sequence[Node]) -> list[Node]:
    """The nodes that are needed, numbered anew: a write whose target others need gets a copy of it."""
    needed = alive(nodes, wanted)
    last: dict[int, int] = {}
    for node in needed:
        for x in node.windows():
            last[x.node.number] = node.number
    kept = {id(node) for node in wanted}
    found: list[Node] = []
    for node in needed:
        if node.op == WRITE:
            target = node.operands[0].node
            if target.op in LEAVES or id(target) in kept or last[target.number] != node.number or _reads_twice(node):
                copy = Node(
                    0,
                    MAP,
                    Map("copy", simple.copy, 8 * node.dtype.itemsize),
                    (target.whole(),),
                    target.shape,
                    node.strides,
                    node.dtype,
                )
                found.append(copy)
                node.operands = (copy.whole(), *node.operands[1:])
        found.append(node)
    for nr, node in enumerate(found):
        node.number = nr
    return found


def _reads_twice(node: Node) -> bool:
    """True of a write that reads its target too, or another part of it."""
    target = node.operands[0].node
    return any(type(x) is Window and x.node is target for x in node.operands[1:])


def stored(nests: Sequence[Nest], wanted: Iterable[Node]) -> set[int]:
    """The numbers of the nodes that are in memory: who is wanted, late, or read by another nest."""
    found = {node.number for node in wanted}
    for nest in nests:
        for member in nest.members.values():
            if member.level == LATE and member.node.op != CHECK:
                found.add(member.node.number)
            for x in member.node.windows():
                if x.node.op not in LEAVES and (x.node.number not in nest.members or member.node.op in APART):
                    found.add(x.node.number)
    return found


class Memory:
    """The places of all nodes in memory.

    Attributes
    ----------
    places : dict
        A Place for each node's number, and for each ("row", number) of one kernel: see `of_kernel`.
    size : int
        Bytes of the workspace.
    """

    def __init__(self, nests: Sequence[Nest], kept: set[int], given: dict[int, Place]) -> None:
        self.places: dict[object, Place] = {}
        self.places.update(given.items())
        self.size = 0
        self._home: dict[int, int] = {}
        self._free: list[tuple[int, int]] = []
        ending = self._ends(nests)
        for number, home in self._home.items():  # what is written into may be a result
            if number in given:
                self.places[home] = given[number]
        for nr, nest in enumerate(nests):
            stored = [member.node for member in nest.members.values() if member.node.number in kept]
            for node in stored:
                if (home := self._of(node.number)) not in self.places:
                    self.places[home] = Place(0, self._take(_bytes(node)))
                self.places[node.number] = self.places[home]
            for node in ending[nr]:
                if node.number in kept:
                    self._give(node)

    def _ends(self, nests: Sequence[Nest]) -> list[list[Node]]:
        """For each nest, the nodes with memory of their own that nobody reads after it."""
        last: dict[int, int] = {}
        for nr, nest in enumerate(nests):
            for member in nest.members.values():
                node = member.node
                if node.op == WRITE:
                    self._home[node.number] = self._of(node.operands[0].node.number)
                for number in (node.number, *(x.node.number for x in node.windows())):
                    last[self._of(number)] = nr
        found: list[list[Node]] = [[] for _ in nests]
        for nest in nests:
            for member in nest.members.values():
                if self._of(number := member.node.number) == number:
                    found[last[number]].append(member.node)
        return found

    def _of(self, number: int) -> int:
        return self._home.get(number, number)

    def _take(self, size: int) -> int:
        size = _rounded(size)
        for nr, (offset, there) in enumerate(self._free):
            if there >= size:
                del self._free[nr]
                if there > size:
                    self._free.append((offset + size, there - size))
                return offset
        offset, self.size = self.size, self.size + size
        return offset

    def _give(self, node: Node) -> None:
        """Let go of what nobody reads any more."""
        place = self.places[node.number]
        if place.base == 0:
            self._free.append((place.offset, _rounded(_bytes(node))))

    def of_kernel(self, kernel: Kernel | Product | Solo) -> dict[object, Place]:
        """The places for a kernel, its rows' buffers behind the workspace of all."""
        found = dict(self.places)
        offset = self.size
        for number, size in kernel.buffers.items():
            found["row", number] = Place(0, offset)
            offset += _rounded(size)
        return found

    @staticmethod
    def of_rows(kernels: Iterable[Kernel | Product | Solo]) -> int:
        """The bytes that the rows' buffers of the kernels take at most."""
        return max((sum(map(_rounded, kernel.buffers.values())) for kernel in kernels), default=0)


def _bytes(node: Node) -> int:
    return int(node.size * node.dtype.itemsize)


def _rounded(size: int) -> int:
    """So many bytes that what comes next is aligned."""
    return -(-size // _ALIGNED) * _ALIGNED
