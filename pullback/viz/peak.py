"""What a backward will need at its highest: nodes tried one at a time, and the order in which the engine runs them."""

from __future__ import annotations

import sys
import tracemalloc
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import prod
from typing import Any

import numpy as np

from pullback.autograd.function import FunctionNode
from pullback.core.array_type import NUMPY, memory_of
from pullback.core.tensor import Tensor
from pullback.graph.node import AccumulateGrad, Node
from pullback.graph.saved import unpack_raw
from pullback.viz.held import Held, address, buffer_of, held_by

_RUN: weakref.WeakSet[type[Node]] = weakref.WeakSet()  # kinds of nodes whose formula has run in this process
_ARRAY = sys.getsizeof(np.empty((0, 0)))


class Buffer:
    """Memory that gradients or saved tensors lie in: its bytes, and how many of them do."""

    __slots__ = ("bytes", "users")

    def __init__(self, size: int, users: int = 0) -> None:
        self.bytes, self.users = size, users


@dataclass(frozen=True)
class Cost:
    """What running a node costs: the bytes it needs meanwhile, results included, and where each result lies.

    A result is its bytes, if it is new memory; "grad" and the number of the output if it is the cotangent itself or a
    view of it; "saved" and the address if it is a view of what was saved; or None.
    """

    meanwhile: int
    results: tuple[Any, ...]
    known: bool = True  # False where the node was not tried


@dataclass
class Course:
    """A backward's memory, node by node, in the order of running.

    `before`, `during` and `saved` are bytes: in use when the node begins, the most while it runs, and of the first
    what the graph had saved.
    """

    nodes: list[Node] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    during: list[int] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    untried: list[Node] = field(default_factory=list)

    @property
    def peak(self) -> int:
        """The most bytes at any time."""
        return max(self.during)


def course(roots: Sequence[tuple[Node, int]], nodes: Sequence[Node]) -> Course:
    """The memory of a backward from these outputs (nodes and output numbers), without `retain_graph`."""
    with _tracing():
        return _Rehearsal(roots, nodes).run()


@contextmanager
def _tracing() -> Iterator[None]:
    """tracemalloc, which NumPy tells of its arrays; left on where it was."""
    on = tracemalloc.is_tracing()
    if not on:
        tracemalloc.start()
    try:
        yield
    finally:
        if not on:
            tracemalloc.stop()


class _Rehearsal:
    """The engine's order over counted bytes: no gradient is kept from one node to the next."""

    def __init__(self, roots: Sequence[tuple[Node, int]], nodes: Sequence[Node]) -> None:
        self.costs: dict[Any, Cost] = {}
        self.saved: dict[int, Buffer] = {}
        self.holds: dict[Node, list[Buffer]] = {}
        self.live = self.in_saved = 0
        self.peak = 0
        self.leaves: dict[Node, bool] = {}  # whether .grad is there already
        for node in nodes:
            self.holds[node] = [self._hold(held.place, held.whole) for held in held_by(node) if held.whole]
            self.live += _objects(node)
            if isinstance(node, AccumulateGrad):
                self._leaf(node)
        self.awaited = dict.fromkeys(nodes, 0)
        for node in nodes:
            for edge in node.edges():
                if edge is not None:
                    self.awaited[edge.node()] += 1
        self.arrived: dict[Node, list[Buffer | None]] = {}
        # What the mask of a gradient on its way to a node keeps alive: see autograd/structural_zeros.py.
        self.masks: dict[Node, list[Buffer]] = {}
        for node, nr in roots:
            shape, dtype = _form(node, nr)
            self._arrive(node, nr, self._new(prod(shape) * dtype.itemsize))
        self.ready = [
            (-node._sequence_nr, node) for node in dict.fromkeys(node for node, _ in roots) if not self.awaited[node]
        ]
        heapify(self.ready)

    def _leaf(self, node: AccumulateGrad) -> None:
        tensors = [node.variable] if node.variable.grad is None else [node.variable, node.variable.grad]
        self.leaves[node] = len(tensors) == 2
        for tensor in tensors:
            array = memory_of(tensor)
            if array is not None:
                whole = buffer_of(array)
                self._hold(address(whole), whole.nbytes)

    def _hold(self, place: int, size: int) -> Buffer:
        buffer = self.saved.get(place)
        if buffer is None:
            buffer = self.saved[place] = Buffer(size)
            self.live += size
            self.in_saved += size
        buffer.users += 1
        return buffer

    def run(self) -> Course:
        """Go through the graph."""
        course = Course()
        while self.ready:
            _, node = heappop(self.ready)
            course.nodes.append(node)
            course.before.append(self.live)
            course.saved.append(self.in_saved)
            self.peak = self.live
            cost = self._cost(node)
            if not cost.known:
                course.untried.append(node)
            self._step(node, cost)
            course.during.append(self.peak)
        return course

    def _step(self, node: Node, cost: Cost) -> None:
        came, mask, holds = self.arrived.pop(node), self.masks.pop(node, None), self.holds.pop(node)
        self.peak = max(self.peak, self.live + cost.meanwhile)
        made: dict[Any, Buffer] = {}
        results = [self._result(result, came, made) for result in cost.results]
        for buffer in results:
            if buffer is not None:
                buffer.users += 1
        handed = _mask_behind(node, mask, holds)
        for target in dict.fromkeys(edge.node() for edge in node.edges() if edge is not None):
            if handed is not None and not isinstance(target, AccumulateGrad):
                self.masks.setdefault(target, []).extend(handed)
                for buffer in handed:
                    buffer.users += 1
        for buffer in [*holds, *(mask or ())]:
            self._drop(buffer, True)
        for buffer in came:
            self._drop(buffer)
        for edge, buffer in zip(node.edges(), results, strict=True):
            if edge is None:
                self._drop(buffer)
                continue
            target = edge.node()
            if buffer is not None:
                self._deliver(target, edge.output_nr, buffer)
            self.awaited[target] -= 1
            complete = not self.awaited[target] and target in self.arrived
            if complete and not isinstance(target, AccumulateGrad):
                heappush(self.ready, (-target._sequence_nr, target))

    def _result(self, result: Any, came: Sequence[Buffer | None], made: dict[Any, Buffer]) -> Buffer | None:
        if result is None:
            return None
        kind, which = result
        if kind == "grad":
            return came[which]
        if kind == "saved":
            return self.saved.get(which) or self._new(0, 0)
        number, size = which
        if number not in made:
            made[number] = self._new(size, 0)
        return made[number]

    def _deliver(self, target: Node, nr: int, buffer: Buffer) -> None:
        shape, dtype = _form(target, nr)
        size = prod(shape) * dtype.itemsize
        leaf = isinstance(target, AccumulateGrad)
        before = self.arrived.get(target, [None] * target.outputs)[nr]
        if before is None:
            if leaf and (buffer.users > 1 or buffer.bytes != size) and not self.leaves[target]:
                own = self._new(size)  # .grad is nobody else's memory
                self._drop(buffer)
                buffer = own
            self._arrive(target, nr, buffer)
            return
        if before.users == 1 and before.bytes >= size:  # added in place
            self._drop(buffer)
            return
        self._arrive(target, nr, self._new(size))
        self._drop(before)
        self._drop(buffer)

    def _arrive(self, node: Node, nr: int, buffer: Buffer) -> None:
        self.arrived.setdefault(node, [None] * node.outputs)[nr] = buffer

    def _new(self, size: int, users: int = 1) -> Buffer:
        self.live += size
        self.peak = max(self.peak, self.live)
        return Buffer(size, users)

    def _drop(self, buffer: Buffer | None, saved: bool = False) -> None:
        if buffer is None:
            return
        buffer.users -= 1
        if not buffer.users:
            self.live -= buffer.bytes
            if saved:
                self.in_saved -= buffer.bytes

    def _cost(self, node: Node) -> Cost:
        key = _key(node)
        cost = None if key is None else self.costs.get(key)
        if cost is None:
            cost = _tried(node)
            if key is not None and not any(result and result[0] == "saved" for result in cost.results):
                self.costs[key] = cost
        return cost


def _objects(node: Node) -> int:
    """The bytes of the node itself, and of the Tensors and arrays that it holds, without their elements."""
    size = sys.getsizeof(node) + sys.getsizeof(node._sequence_nr) + sys.getsizeof(node._shape)
    for held in held_by(node):
        if held.array is not None:
            size += _ARRAY + (sys.getsizeof(held.value) if isinstance(held.value, Tensor) else 0)
    return size


def _mask_behind(node: Node, mask: list[Buffer] | None, holds: list[Buffer]) -> list[Buffer] | None:
    """What the mask of this node's gradients keeps alive, given that of its cotangent; None where there is no mask."""
    if node.structural and (node.masking or mask is not None):
        return [*(mask or ()), *holds]
    return mask if node.pointwise else None


def _form(node: Node, nr: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    metadata = node.input_metadata[nr]
    return tuple(metadata.shape or ()), np.dtype(metadata.dtype or np.float64)


def _key(node: Node) -> Any:
    """What nodes that cost the same have in common; None where that is not known."""
    if isinstance(node, FunctionNode) or hasattr(node, "fn"):
        return None
    forms = tuple((tuple(m.shape or ()), m.dtype) for m in node.input_metadata)
    edges = tuple(edge is None for edge in node.edges())
    held = tuple((h.name, h.text, h.state, None if h.array is None else h.array.strides) for h in held_by(node))
    arguments = tuple(
        repr(value)
        for cls in type(node).__mro__
        for slot in cls.__dict__.get("__slots__", ())
        if slot.startswith("arg_") and (value := getattr(node, slot, None)) is not None
    )
    return type(node), forms, edges, held, arguments


def _tried(node: Node) -> Cost:
    """Run the formula of a node, on ones, and see."""
    if isinstance(node, FunctionNode) or not all(map(_may_be_used, held_by(node))):
        return _guessed(node)  # a user's code may do anything
    grads = [np.ones(*_form(node, nr)) for nr in range(node.outputs)]
    grad: Any = grads[0] if node.outputs == 1 else list(grads)
    try:
        with np.errstate(all="ignore"):
            if type(node) not in _RUN:  # what is loaded on first use is no part of it
                node.apply(NUMPY, grad, unpack_raw)
                _RUN.add(type(node))
            begun, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            results = node.apply(NUMPY, grad, unpack_raw)
    except Exception:  # noqa: BLE001 - of numbers that ones are not good for; the backward itself will say
        return _guessed(node)
    _, peak = tracemalloc.get_traced_memory()
    lies = {address(g): ("grad", nr) for nr, g in reversed(list(enumerate(grads)))}
    lies |= {held.place: ("saved", held.place) for held in held_by(node) if held.whole}
    places, more = [], 0
    for edge, result in zip(node.edges(), results, strict=True):
        array = memory_of(result)
        if edge is None or array is None:
            places.append(None if edge is None or result is None else ("new", (len(places), 0)))
            continue
        whole = buffer_of(array)
        where = lies.setdefault(address(whole), ("new", (len(places), whole.nbytes)))
        shape, dtype = _form(edge.node(), edge.output_nr)
        if result.shape != shape or result.dtype != dtype:  # the engine sums it to the shape, and casts it
            size = prod(shape) * dtype.itemsize
            more += size
            where = ("new", (len(places), size))
        places.append(where)
    return Cost(peak - begun + more, tuple(places))


def _may_be_used(held: Held) -> bool:
    """Whether a formula may run on this: hooks may unpack but once, and Tensors inside a Tensor would record it."""
    inside = held.value._array if isinstance(held.value, Tensor) else held.value
    return not held.state and not isinstance(inside, Tensor)


def _guessed(node: Node) -> Cost:
    """Each gradient new, and nothing needed besides."""
    places: list[Any] = []
    for edge in node.edges():
        if edge is None:
            places.append(None)
            continue
        shape, dtype = _form(edge.node(), edge.output_nr)
        places.append(("new", (len(places), prod(shape) * dtype.itemsize)))
    return Cost(sum(place[1][1] for place in places if place), tuple(places), known=False)
