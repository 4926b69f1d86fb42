"""In-place operations and views: the nodes that rewrite the graph (`CopySlices`, `AsStridedBackward0`).

A view shares its base's memory, so writing into one changes the other. When a view is written into, its base gets a
`CopySlices` node: its backward runs the in-place operator's node on the part of the gradient that belongs to the view,
and passes the rest on. Views find their new function when they are next used: by their geometry (shape, strides and
place in the base's memory), as `AsStridedBackward0` of the base, or by running their operators again (`replay.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pullback.core import modes, slots
from pullback.core.array_type import TENSOR
from pullback.core.errors import InplaceError
from pullback.core.lock import one_thread
from pullback.core.sequence import next_sequence_nr
from pullback.core.tensor import Tensor, extra_of, new
from pullback.core.types import Gradient, Version
from pullback.core.version import counter_of
from pullback.graph.inplace_rules import check_use
from pullback.graph.node import MASKING, Edge, Node, Unpack, begin, edge_to, node_extra
from pullback.graph.replay import Replay
from pullback.graph.view import base_of, wake_views
from pullback.graph.view_geometry import ViewGeometry


class CopySlices(Node):
    """A base after an in-place operation on a view of it: the view's part went through `fn`, the rest is as it was."""

    __slots__ = ("fn", "part", "target", "written")
    fn: Node
    part: ViewGeometry | Replay
    target: Edge | None
    written: weakref.ref[Tensor]  # the view
    takes_undefined = False
    structural = True
    unclean = True

    @property
    def masking(self) -> bool:  # type: ignore[override]  # read alone, here as there
        """True if the in-place operator makes structural zeros, as masked_fill_ does."""
        return self.fn.masking

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        if ops is TENSOR:
            unpack = partial(_unpack_apart, unpack)
        return self._apply(ops, grad, lambda shown: self.fn.apply(ops, shown, unpack))

    def pull_touched(self, ops: Any, touched: Any, unpack: Unpack) -> Sequence[Any]:
        def pull(shown: Any) -> Sequence[Any]:
            if self.fn.structural:
                return self.fn.pull_touched(ops, shown, unpack)
            if not self.fn.pointwise:
                shown = ops.expand(shown.any() * 1.0, shown.shape)
            return [shown for _ in self.fn.edges()]

        return self._apply(ops, touched, pull)

    def _apply(self, ops: Any, grad: Any, of_part: Callable[[Any], Sequence[Any]]) -> Sequence[Any]:
        shown, put_back = self.part.extract(grad, ops)
        own = None
        results = []
        for edge, g in zip(self.fn.edges(), of_part(shown), strict=True):
            if edge is None or edge is not self.target:
                results.append(g)
                continue
            results.append(None)
            if g is not None:
                own = g if own is None else own + g  # twice in v.mul_(v)
        return (put_back(own), *results)

    def release(self) -> None:
        self.fn.release()


def _unpack_apart(unpack: Unpack, saved: Any, version: Version, node: Node) -> Any:
    """Unpack for a node inside CopySlices. Its own output leads to a twin of it: CopySlices releases the node."""
    x = unpack(saved, version, node)
    if isinstance(x, Tensor) and x._fn is node:
        twin = new(type(node))
        for slot in (slot for cls in type(node).__mro__ for slot in getattr(cls, "__slots__", ())):
            if slot != "__weakref__":
                setattr(twin, slot, getattr(node, slot))
        twin._sequence_nr, twin._extra = next_sequence_nr(), MASKING if node.masking else None
        x._fn = twin
    return x


class AsStridedBackward0(Node):
    """A view of a base, by its place in the base's memory."""

    __slots__ = ("geometry",)
    geometry: ViewGeometry
    arity = 1
    structural = masking = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return (self.geometry.embed(grad, ops),)


def _retain_at(tensor: Tensor, before: Edge | None, now: Edge) -> None:
    """Let a tensor that retains its gradient retain that of its new function instead of the old one's."""
    extra = tensor._extra
    if extra is not None and extra.retains_grad and before is not None:
        node_extra(before.node()).retained.pop(before.output_nr, None)
        node_extra(now.node()).retained[now.output_nr] = weakref.ref(tensor)


def _part(base: Tensor, view: Tensor) -> ViewGeometry | Replay:
    """Which part of its base a view shows."""
    steps = view._extra.steps  # type: ignore[union-attr]  # every view has an Extra
    if steps is None:
        return ViewGeometry(base._array, view._array)
    return Replay(base._array, view._array, steps)


def rebase_history(target: Tensor, node: Edge, before: Edge | None, name: str) -> None:
    """Make `node`, which has just written into `target`, part of its history, and of its base's."""
    extra, base = target._extra, base_of(target)
    if base is None:
        _retain_at(target, target._fn, node)
        target._fn, target._requires_grad = node, True
        wake_views(target)
        return
    copy = new(CopySlices)
    begin(copy, next_sequence_nr(), base._array.shape, base._array.dtype)
    node = node.node()
    copy.fn, copy.part = node, _part(base, target)
    copy._extra = MASKING if node.masking else None
    copy.target, copy.written = before, weakref.ref(target)
    # The view's own history is the base's; everything else that the operator took keeps its edge.
    copy._nexts = (edge_to(base), *(None if edge is before and edge is not None else edge for edge in node.edges()))
    _retain_at(base, base._fn, copy)
    base._fn, base._requires_grad = copy, True
    for observer in modes.current().observers:
        observer.recorded(copy, base._level)
    wake_views(base)
    target._requires_grad = True
    # Its function is made again, from the base's, when next asked for: at once where a gradient is kept there.
    extra.view_version = -1  # type: ignore[union-attr]
    if extra.retains_grad:  # type: ignore[union-attr]
        refresh_view(target)


def continue_history(target: Tensor, node: Edge) -> None:
    """Make `node`, which has changed nothing but the shape and strides of `target`, its function."""
    _retain_at(target, target._fn, node)
    target._fn = node
    base = base_of(target)
    if base is not None:
        target._extra.view_version = base._counter.n  # type: ignore[union-attr]  # views have both, and so do bases


def refresh_view(view: Tensor) -> Edge | None:
    """The function of a view: its own while the base is as it was, else one made from the base's."""
    if view._extra.view_version == view._extra.base._counter.n:  # type: ignore[union-attr]  # views have all of these
        return view._fn  # type: ignore[no-any-return]
    with one_thread:  # hooks belong to a node: threads must find the same one
        return _refreshed(view)


def _refreshed(view: Tensor) -> Edge | None:
    extra: Any = view._extra
    base = extra.base
    version = base._counter.n
    if extra.view_version == version:
        return view._fn  # type: ignore[no-any-return]
    if extra.is_alias:  # which is outside of its base's graph, though it may be a leaf of another one
        extra.view_version = version
        return view._fn  # type: ignore[no-any-return]
    _refuse_parted(view, base)
    edge = edge_to(base)
    if edge is None and view._fn is not None and base_of(view) is not None:
        _follow_out_of_the_graph(view)
    if edge is None or base_of(view) is None:
        extra.view_version = version
        # Nothing to follow, or one of them has got other memory by assigning to .data.
        return view._fn  # type: ignore[no-any-return]
    check_use(view)
    part = _part(base, view)
    node = part.record(base, edge) if isinstance(part, Replay) else _strided(view, edge, part)
    _retain_at(view, view._fn, node)
    view._fn, view._requires_grad = node, True
    for observer in modes.current().observers:
        observer.recorded(node.node(), view._level)
    extra.view_version = version  # last: from here on other threads take the function without asking
    return node


def part_from_views(base: Tensor) -> None:
    """A computed base is about to lose its function or its memory: the views written into get their functions now.

    A base does not know its other views. Those that are behind it raise when they are next used.
    """
    node: Any = base._fn
    while type(node) is CopySlices:
        view = node.written()
        if view is not None and base_of(view) is base:
            refresh_view(view)
        node = node._nexts[0]  # type: ignore[index]  # it has its edges there
    counter = counter_of(base)
    extra_of(base).parted = (counter, counter.n)


def _refuse_parted(view: Tensor, base: Tensor) -> None:
    """Raise if the function that this view should have was its base's, which has lost it."""
    extra: Any = view._extra
    parted = base._extra and base._extra.parted
    if not parted or parted[0] is not view._counter or extra.view_version >= parted[1]:
        return
    if extra.made_by is not None and extra.made_by.kind == "function":
        return  # its function is not the base's: it has other inputs
    if base_of(view) is None or parted[0].n == parted[1]:
        raise InplaceError(
            f"this view (shape {view.shape}) cannot be traced back to its base: the base was modified in place, and "
            "then "
            "taken out of its graph by detach_(), or given other memory by assigning to .data, before the view was "
            "used again. Use y.detach(), which leaves y as it is, or take the view after that."
        )


def _follow_out_of_the_graph(view: Tensor) -> None:
    """Make a recorded view a constant: its base was detached in place, then written into, so its function is past."""
    made_by = view._extra.made_by  # type: ignore[union-attr]  # every view has an Extra
    if made_by is not None and made_by.kind == "function":
        return  # its function is not the base's: it has other inputs
    check_use(view)
    view._fn, view._requires_grad = None, False


def _strided(view: Tensor, edge: Edge, places: ViewGeometry) -> Edge:
    """The function of a view as a node of its own."""
    node = new(AsStridedBackward0)
    begin(node, next_sequence_nr(), view._array.shape, view._array.dtype)
    node._next0, node._extra = edge, MASKING
    node.geometry = places
    return node


slots.part_from_views = part_from_views
slots.refresh_view = refresh_view
