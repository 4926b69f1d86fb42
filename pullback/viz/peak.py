"""Predicts what a backward will need at its highest: nodes tried one at a time, in the order of the engine."""

from __future__ import annotations

import sys
import tracemalloc
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pullback.autograd.checkpoint.frame import frame_behind
from pullback.autograd.function.node import FunctionNode
from pullback.core.array_type import NUMPY, memory_of
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.node import AccumulateGrad, Node
from pullback.graph.packed import Packed
from pullback.graph.saved import unpack_raw
from pullback.viz.held import Held, address, buffer_of, checkpointed, held_by

_RUN: weakref.WeakSet[type[Node]] = weakref.WeakSet()  # kinds of nodes whose formula has run in this process
_ARRAY = sys.getsizeof(np.empty((0, 0)))


class Buffer:
    """Memory that gradients or saved tensors lie in: its bytes, and how many of them do."""

    __slots__ = ("bytes", "users")

    def __init__(self, size: int, users: int = 0) -> None:
        self.bytes, self.users = size, users


class Layout(NamedTuple):
    """How a gradient lies in its memory: what formulas need, and who may write into it, depends on that."""

    strides: tuple[int, ...]
    owns: bool = True  # False for a view, although it be of memory that nobody else uses


class Cotangent(NamedTuple):
    """A gradient on its way."""

    buffer: Buffer
    layout: Layout


class Result(NamedTuple):
    """Where the gradient of one input lies.

    `kind` is "new" memory, of so many `bytes`, the same for results of the same number `which`; "grad", the cotangent
    of the output `which` itself or a view of it; or "saved", a view of what was saved at the address `which`.
    """

    kind: str
    which: int
    bytes: int
    layout: Layout


@dataclass(frozen=True)
class Cost:
    """The cost of running a node: the bytes that it needs meanwhile, results included, and its results.

    `filled` are the bytes that checkpoints hold more when it has run, if it made them compute again, or less.
    """

    meanwhile: int
    results: tuple[Result | None, ...]
    filled: int = 0
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


def course(roots: Sequence[tuple[Node, int]], nodes: Sequence[Node], retain_graph: bool) -> Course:
    """The memory of a backward from these outputs (nodes and output numbers)."""
    with _tracing():
        try:
            return _Rehearsal(roots, nodes, retain_graph).run()
        finally:
            for node in nodes:
                for _, place in checkpointed(node):
                    _empty(place)


def _empty(place: Any) -> None:
    """Let the checkpoint behind a holder, and those behind its inputs, keep nothing of what the rehearsal computed."""
    frame = frame_behind(place.unpack) if type(place) is Packed else None
    if frame is not None:
        frame.empty()
        for _, version in frame.kept_inputs():
            _empty(version)


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

    def __init__(self, roots: Sequence[tuple[Node, int]], nodes: Sequence[Node], retain_graph: bool) -> None:
        self.retain_graph = retain_graph
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
        self.arrived: dict[Node, list[Cotangent | None]] = {}
        # What the mask of a gradient on its way to a node keeps alive: see autograd/engine/structural_zeros.py.
        self.masks: dict[Node, list[Buffer]] = {}
        for node, nr in roots:
            size, layout = _in_order(*_form(node, nr))
            self._arrive(node, nr, Cotangent(self._new(size), layout))
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
            self._enter(course, node)
            came = self.arrived.pop(node)
            cost = self._cost(node, came)
            if not cost.known:
                course.untried.append(node)
            self._step(node, cost, came)
            course.during.append(self.peak)
        for node, (cotangent,) in self.arrived.items():  # the leaves
            self._enter(course, node)
            if cotangent is not None:
                self._keep(node, cotangent)
            course.during.append(self.peak)
        return course

    def _enter(self, course: Course, node: Node) -> None:
        course.nodes.append(node)
        course.before.append(self.live)
        course.saved.append(self.in_saved)
        self.peak = self.live

    def _keep(self, leaf: Node, cotangent: Cotangent) -> None:
        """Make .grad of what has come, when all nodes have run: it is nobody else's memory."""
        if not self.leaves[leaf] and (cotangent.buffer.users > 1 or not cotangent.layout.owns):
            size, _ = _in_order(*_form(leaf, 0))
            self._new(size)
            self._drop(cotangent.buffer)
        elif self.leaves[leaf]:
            self._drop(cotangent.buffer)

    def _step(self, node: Node, cost: Cost, came: Sequence[Cotangent | None]) -> None:
        mask, holds = self.masks.pop(node, None), self.holds.pop(node)
        self.peak = max(self.peak, self.live + cost.meanwhile)
        self.live += cost.filled
        self.in_saved += cost.filled
        made: dict[int, Buffer] = {}
        results = [self._result(result, came, made) for result in cost.results]
        for cotangent in results:
            if cotangent is not None:
                cotangent.buffer.users += 1
        handed = _mask_behind(node, mask, holds)
        for target in dict.fromkeys(edge.node() for edge in node.edges() if edge is not None):
            if handed is not None and not isinstance(target, AccumulateGrad):
                self.masks.setdefault(target, []).extend(handed)
                for buffer in handed:
                    buffer.users += 1
        for buffer in [*(() if self.retain_graph else holds), *(mask or ())]:
            self._drop(buffer, True)
        for cotangent in came:
            if cotangent is not None:
                self._drop(cotangent.buffer)
        for edge, cotangent in zip(node.edges(), results, strict=True):
            if edge is None:
                continue
            target = edge.node()
            if cotangent is not None:
                self._deliver(target, edge.output_nr, cotangent)
            self.awaited[target] -= 1
            complete = not self.awaited[target] and target in self.arrived
            if complete and not isinstance(target, AccumulateGrad):
                heappush(self.ready, (-target._sequence_nr, target))

    def _result(
        self, result: Result | None, came: Sequence[Cotangent | None], made: dict[int, Buffer]
    ) -> Cotangent | None:
        if result is None:
            return None
        buffer: Buffer | None
        if result.kind == "grad":
            cotangent = came[result.which]
            buffer = None if cotangent is None else cotangent.buffer
        elif result.kind == "saved":
            buffer = self.saved.get(result.which)
        else:
            buffer = made.get(result.which)
            if buffer is None:
                buffer = made[result.which] = self._new(result.bytes, 0)
        return Cotangent(buffer or self._new(0, 0), result.layout)

    def _deliver(self, target: Node, nr: int, cotangent: Cotangent) -> None:
        before = self.arrived.get(target, [None] * target.outputs)[nr]
        if before is None:
            self._arrive(target, nr, cotangent)
        elif before.buffer.users == 1 and before.layout.owns:  # added in place
            self._drop(cotangent.buffer)
        else:
            size, layout = _in_order(*_form(target, nr))
            self._arrive(target, nr, Cotangent(self._new(size), layout))
            self._drop(before.buffer)
            self._drop(cotangent.buffer)

    def _arrive(self, node: Node, nr: int, cotangent: Cotangent) -> None:
        self.arrived.setdefault(node, [None] * node.outputs)[nr] = cotangent

    def _new(self, size: int, users: int = 1) -> Buffer:
        self.live += size
        self.peak = max(self.peak, self.live)
        return Buffer(size, users)

    def _drop(self, buffer: Buffer, saved: bool = False) -> None:
        buffer.users -= 1
        if not buffer.users:
            self.live -= buffer.bytes
            if saved:
                self.in_saved -= buffer.bytes

    def _cost(self, node: Node, came: Sequence[Cotangent | None]) -> Cost:
        layouts = tuple(None if cotangent is None else cotangent.layout for cotangent in came)
        key = _key(node)
        cost = None if key is None else self.costs.get((key, layouts))
        if cost is None:
            cost = _tried(node, layouts)
            if key is not None and not any(result and result.kind == "saved" for result in cost.results):
                self.costs[key, layouts] = cost
        return cost


def _objects(node: Node) -> int:
    """The bytes of the node itself, and of the Tensors and arrays that it holds, without their elements."""
    size = sys.getsizeof(node) + sys.getsizeof(node._sequence_nr) + sys.getsizeof(node._shape)
    for held in held_by(node):
        if held.array is not None:
            size += _ARRAY + (sys.getsizeof(held.value) if isinstance(held.value, Tensor) else 0)
    return size


def _mask_behind(node: Node, mask: list[Buffer] | None, holds: list[Buffer]) -> list[Buffer] | None:
    """Return what the mask of this node's gradients keeps alive, given its cotangent's; None without a mask."""
    if node.structural and (node.masking or mask is not None):
        return [*(mask or ()), *holds]
    return mask if node.pointwise else None


def _form(node: Node, nr: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    metadata = node.input_metadata[nr]
    return tuple(metadata.shape or ()), np.dtype(metadata.dtype or np.float64)


def _in_order(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, Layout]:
    """The bytes and the layout of an array of its own, in C's order."""
    strides = [dtype.itemsize]
    for size in reversed(shape):
        strides.append(strides[-1] * size)
    return strides.pop(), Layout(tuple(reversed(strides)))


def _ones(shape: tuple[int, ...], dtype: np.dtype[Any], layout: Layout) -> ndarray:
    """A gradient of ones that lies as the one to come will."""
    strides = tuple(map(abs, layout.strides))
    span = sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True)) // dtype.itemsize
    view = as_strided(np.ones(max(span, 0) + 1, dtype), shape, strides)
    return np.ones_like(view) if layout.owns else view


def _key(node: Node) -> Any:
    """Return what nodes that cost the same have in common; None where that is not known."""
    if isinstance(node, FunctionNode) or hasattr(node, "fn") or any(h.state == "checkpointed" for h in held_by(node)):
        return None
    forms = tuple((tuple(m.shape or ()), m.dtype) for m in node.input_metadata)
    edges = tuple(None if edge is None else _form(edge.node(), edge.output_nr) for edge in node.edges())
    held = tuple((h.name, h.text, h.state, None if h.array is None else h.array.strides) for h in held_by(node))
    arguments = tuple(
        repr(value)
        for cls in type(node).__mro__
        for slot in cls.__dict__.get("__slots__", ())
        if slot.startswith("arg_") and (value := getattr(node, slot, None)) is not None
    )
    return type(node), forms, edges, held, arguments


def _tried(node: Node, came: Sequence[Layout | None]) -> Cost:
    """Run the formula of a node, on ones that lie as the gradients to come, and see."""
    if not all(map(_may_be_used, held_by(node))):
        return _guessed(node)
    grads = [None if layout is None else _ones(*_form(node, nr), layout) for nr, layout in enumerate(came)]
    begun, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    try:
        opened = {id(saved): unpack_raw(saved, place, node) for saved, place in checkpointed(node)}
        computed, at_most = (n - begun for n in tracemalloc.get_traced_memory())
        cost = _guessed(node) if isinstance(node, FunctionNode) else _run(node, grads, opened)
    except Exception:  # noqa: BLE001 - of numbers that ones are not good for; the backward itself will say
        return _guessed(node)
    if not opened:
        return cost
    before, _ = tracemalloc.get_traced_memory()
    opened.clear()
    after, _ = tracemalloc.get_traced_memory()
    meanwhile = max(at_most, computed + cost.meanwhile)
    return replace(cost, meanwhile=meanwhile, filled=computed - (before - after))


def _run(node: Node, grads: list[ndarray | None], opened: dict[int, Any]) -> Cost:
    """The cost of a node by its formula; `opened` has what checkpoints have computed again for it, by holder."""

    def from_opened(saved: Any, version: Any, node: Node) -> Any:
        return opened[id(saved)] if id(saved) in opened else unpack_raw(saved, version, node)

    unpack = from_opened if opened else unpack_raw  # by which formulas know an ordinary backward
    grad: Any = grads[0] if node.outputs == 1 else list(grads)
    with np.errstate(all="ignore"):
        if type(node) not in _RUN:  # what is loaded on first use is no part of it
            node.apply(NUMPY, grad, unpack)
            _RUN.add(type(node))
        begun, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        results = node.apply(NUMPY, grad, unpack)
    _, peak = tracemalloc.get_traced_memory()
    lies = {address(buffer_of(g)): ("grad", nr) for nr, g in reversed(list(enumerate(grads))) if g is not None}
    lies |= {held.place: ("saved", held.place) for held in held_by(node) if held.whole}
    places: list[Result | None] = []
    more = 0
    for nr, (edge, result) in enumerate(zip(node.edges(), results, strict=True)):
        array = memory_of(result)
        if edge is None or result is None:
            places.append(None)
            continue
        size, layout = _in_order(*_form(edge.node(), edge.output_nr))
        if array is None:
            places.append(Result("new", nr, 0, layout))
        elif (array.shape, array.dtype) != _form(edge.node(), edge.output_nr):  # the engine sums it, and casts it
            more += size
            places.append(Result("new", nr, size, layout))
        else:
            whole = buffer_of(array)
            kind, which = lies.setdefault(address(whole), ("new", nr))
            places.append(Result(kind, which, whole.nbytes, Layout(array.strides, array.base is None)))
    return Cost(peak - begun + more, tuple(places))


def _may_be_used(held: Held) -> bool:
    """True if a formula may run on this: hooks may unpack but once, and Tensors inside a Tensor would record it."""
    inside = held.value._array if isinstance(held.value, Tensor) else held.value
    return held.state in ("", "checkpointed") and not isinstance(inside, Tensor)


def _guessed(node: Node) -> Cost:
    """Each gradient new, and nothing needed besides."""
    results: list[Result | None] = []
    for nr, edge in enumerate(node.edges()):
        if edge is None:
            results.append(None)
            continue
        results.append(Result("new", nr, *_in_order(*_form(edge.node(), edge.output_nr))))
    return Cost(sum(result.bytes for result in results if result), tuple(results), known=False)
