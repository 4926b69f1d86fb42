"""A walk through graphs of one shape, as generated code: it tells whether a graph has that shape, and finds its arrays.

A walk that knows what it will meet is a row of comparisons. It takes a tenth of the time of one that makes a key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core.array_face import Array
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.node import LEAF, STANDING_IN, AccumulateGrad, MultiNode, Node, fixed, own_slots
from pullback.graph.packed import Packed
from pullback.graph.saved import Form, unpack_raw
from pullback.graph.snapshot import FIXED

Walk = Callable[..., "tuple[list[Node], list[ndarray]] | None"]


def walk_of(roots: Sequence[Any], nodes: Sequence[Node], numbers: dict[int, int], count: int) -> Walk:
    """A function of other roots: their (nodes, arrays), in this order, or None if the graph is of another shape.

    Parameters
    ----------
    roots : sequence of (edge, gradient)
    nodes : sequence of Node
        Of the graph, beginning with those of the roots.
    numbers : dict
        The numbers of its arrays, by identity.
    count : int
        How many arrays there are.
    """
    writer = _Writer(nodes, numbers)
    for i, (edge, grad) in enumerate(roots):
        writer.edge(f"roots[{i}][0]", edge)
        writer.value(f"roots[{i}][1]", grad)
    while writer.todo:
        writer.node(writer.todo.pop(0))
    names = ", ".join(f"n{i}" for i in range(len(nodes)))
    writer.distinct(names)
    arrays = ", ".join(f"a{i}" for i in range(count))
    body = "\n    ".join([f"if len(roots) != {len(roots)}: return None", *writer.lines])
    source = f"def walk(roots):\n    {body}\n    return [{names}], [{arrays}]\n"
    scope: dict[str, Any] = writer.scope
    exec(compile(source, "<walk of compiled_autograd>", "exec"), scope)  # noqa: S102 - written above
    return scope["walk"]  # type: ignore[no-any-return]


class _Writer:
    """The lines of a walk."""

    def __init__(self, nodes: Sequence[Node], numbers: dict[int, int]) -> None:
        self._number = {node: i for i, node in enumerate(nodes)}
        self._numbers = numbers
        self.todo: list[Node] = []
        self.lines: list[str] = []
        self._named: set[int] = set()  # the nodes, and the arrays below, that have a name
        self._arrays: set[int] = set()
        self.scope: dict[str, Any] = {
            "AccumulateGrad": AccumulateGrad, "Array": Array, "LEAF": LEAF, "STANDING_IN": STANDING_IN,
            "Tensor": Tensor, "ndarray": ndarray, "unpack": unpack_raw, "Form": Form, "Packed": Packed, "fixed": fixed,
        }  # fmt: skip

    def _unless(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return None")

    def _constant(self, x: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = x
        return name

    def distinct(self, names: str) -> None:
        """No two of the nodes are one: a leaf that stands for another one takes what both would."""
        self._unless(f"len({{{names}}}) == {len(self._number)}")

    def edge(self, text: str, edge: Any) -> None:
        """An edge leads to the same node, at the same output."""
        if edge is None:
            self._unless(f"{text} is None")
            return
        node = edge.node()
        if node is not edge:  # an OutputEdge
            self._unless(f"type({text}) is {self._constant(type(edge))} and {text}.output_nr == {edge.output_nr}")
            text = f"{text}._node"
        i = self._number[node]
        if i in self._named:
            self._unless(f"{text} is n{i}")
            return
        self._named.add(i)
        self.lines.append(f"n{i} = {text}")
        self._unless(f"type(n{i}) is {self._constant(type(node))}")
        self.todo.append(node)

    def node(self, node: Node) -> None:
        """A node has the same form, arguments and edges."""
        n = f"n{self._number[node]}"
        if isinstance(node, MultiNode):
            self._unless(
                f"{n}._extra in STANDING_IN and {n}._output_metadata == {self._constant(node._output_metadata)}"
            )
        else:
            form = f"{n}._shape == {self._constant(node._shape)} and {n}._dtype == {self._constant(node._dtype)}"
            self._unless(f"{n}._extra in STANDING_IN and {form}")
        if type(node) is AccumulateGrad:
            self.lines.append(f"e = {n}.variable._extra")
            self._unless(f"{n}._extra is LEAF and not e.hooks and not e.post_accumulate_hooks")
            return
        if node._nexts is None:
            for name in ("_next0", "_next1")[: node.arity]:
                self.edge(f"{n}.{name}", getattr(node, name))
        else:
            self._unless(f"{n}._nexts is not None and len({n}._nexts) == {len(node._nexts)}")
            for i, edge in enumerate(node._nexts):
                self.edge(f"{n}._nexts[{i}]", edge)
        # What a node keeps depends on where its gradients go, which has been looked at.
        for slot in own_slots(type(node)):  # type: ignore[arg-type]  # types have a hash
            self._slot(n, node, slot)

    def _slot(self, n: str, node: Node, slot: str) -> None:
        kind, _, name = slot.partition("_")
        if kind == "version" or slot == "_output_metadata":
            return
        if not hasattr(node, slot):
            self._unless(f"not hasattr({n}, {slot!r})")
        elif kind != "saved":
            self.lines.append(f"x = {n}.{slot}")
            x = getattr(node, slot)
            self._unless(f"type(x) is {self._constant(type(x))}")
            if type(x) in FIXED:
                self._unless(f"x == {self._constant(x)}")
            else:  # an index with arrays, say
                self._unless(f"fixed(x, {n}) == {self._constant(fixed(x, node))}")
        elif type(saved := getattr(node, slot)) is tuple:
            self.lines.append(f"x, v = {n}.{slot}, {n}.version_{name}")
            self._unless(f"type(x) is tuple and len(x) == {len(saved)} and Packed not in map(type, v)")
            for i, (x, version) in enumerate(zip(saved, getattr(node, f"version_{name}"), strict=True)):
                self.value(f"unpack(x[{i}], v[{i}], {n})", unpack_raw(x, version, node))
        else:
            x = unpack_raw(saved, getattr(node, f"version_{name}"), node)
            self.lines.append(f"s, v = {n}.{slot}, {n}.version_{name}")
            self._unless("type(v) is not Packed")
            fast = "s._array if v is None and (type(s) is Tensor or type(s) is Array) and s._counter is None"
            self.value(f"{fast} else unpack(s, v, {n})", x)

    def value(self, text: str, x: Any) -> None:
        """Something that a node has saved is an array of the same form, or the same number."""
        if type(x) is Form:
            self.lines.append(f"f = {text}")
            self._unless(f"type(f) is Form and f.shape == {self._constant(x.shape)} and f.dtype == "
                         f"{self._constant(x.dtype)}")  # fmt: skip
            return
        if type(x) is not ndarray:
            self.lines.append(f"f = {text}")
            self._unless(f"type(f) is {self._constant(type(x))} and f == {self._constant(x)}")
            if x is not None and x == 0:  # or -0.0
                self._unless(f"repr(f) == {repr(x)!r}")
            return
        i = self._numbers[id(x)]
        if i in self._arrays:
            self._unless(f"({text}) is a{i}")
            return
        self._arrays.add(i)
        self.lines.append(f"a{i} = {text}")
        shape, dtype = self._constant(x.shape), self._constant(x.dtype)
        self._unless(
            f"type(a{i}) is ndarray and a{i}.shape == {shape} and a{i}.dtype == {dtype} and "
            f"a{i}.flags.c_contiguous is {x.flags.c_contiguous}"
        )
