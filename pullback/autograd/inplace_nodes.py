"""In-place operations and views: what is allowed, and how the graph is rewritten.

A view shares its base's memory, so writing into one changes the other. When a view is written into, its base gets a
`CopySlices` node: its backward runs the in-place operator's node on the part of the gradient that belongs to the view,
and passes the rest on. Views find their new function when they are next used, by their geometry (shape, strides and
place in the base's memory), as `AsStridedBackward0` of the base.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from pullback.autograd.fit import to_dtype
from pullback.autograd.places import Places
from pullback.core import modes, slots
from pullback.core.errors import InplaceError
from pullback.core.node import Edge, Node, Unpack, next_sequence_nr, node_extra, port
from pullback.core.tensor import Tensor, ndarray, new
from pullback.core.types import Gradient
from pullback.core.view import base_of, memory_of, wake_views


def check_inplace(target: Tensor, name: str, records: bool) -> None:
    """Raise where an in-place operation on `target` cannot be allowed; `records` says whether a node is made."""
    extra = target._extra
    base = base_of(target)
    state = modes.current()
    if not state.records(target._level):
        return
    if extra is not None and extra.inference and not state.inference:
        raise InplaceError(f"{name}_: inplace update to an inference tensor outside inference_mode; clone() it first.")
    if extra is not None and extra.made_by is not None and (records or target._requires_grad):
        raise InplaceError(
            f"{name}_: this tensor is the output of {extra.made_by} and a view of its input (or the input itself). "
            "Writing into what was returned by a custom Function would bypass its backward; write into a clone()."
        )
    if target._requires_grad and target.grad_fn is None:
        raise InplaceError(
            f"{name}_: a leaf Variable that requires grad is being used in an in-place operation. Do it under "
            "pullback.no_grad() to change a parameter, or use the out-of-place form to differentiate."
        )
    if base is not None and (records or base._requires_grad):
        if base._requires_grad and port(base) is not None and base.grad_fn is None:
            raise InplaceError(
                f"{name}_: a view of a leaf Variable that requires grad is being used in an in-place operation. Do it "
                "under pullback.no_grad() to change a parameter, or use the out-of-place form to differentiate."
            )
        if base._requires_grad and not target._requires_grad:
            raise InplaceError(
                f"{name}_: a view that was made under no_grad() is modified while recording, which would change its "
                "base behind the graph's back. Make the view where it is modified: both under no_grad(), or neither."
            )
        if not isinstance(memory_of(target._array), ndarray):
            raise InplaceError(
                f"{name}_: a view of a tensor around a {type(memory_of(target._array)).__name__} cannot be written "
                "into while recording, because such an array has no strides; use the out-of-place form."
            )


class CopySlices(Node):
    """A base after an in-place operation on a view of it: the view's part went through `fn`, the rest is as it was."""

    __slots__ = ("fn", "places", "target")
    fn: Node
    places: Places
    target: Edge | None
    takes_undefined = False

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        places, indices = self.places, (self.places.indices().reshape(-1),)
        row = places.row_of_base(grad, ops)
        inner = self.fn.apply(ops, places.as_view(ops.take(row, indices[0]), ops), unpack)
        own = None
        results = []
        for edge, g in zip(self.fn.edges(), inner, strict=True):
            if edge is None or edge is not self.target:
                results.append(g)
                continue
            results.append(None)
            if g is not None:
                own = g if own is None else own + g  # twice in v.mul_(v)
        if own is None:
            inside = ops.zeros(indices[0].shape, dtype=row.dtype)
        else:
            inside = to_dtype(places.row_of_view(own, ops), row.dtype, ops)
        return (places.as_base(ops.index_put(row, indices, inside), ops), *results)

    def release(self) -> None:
        self.fn.release()


class AsStridedBackward0(Node):
    """A view of a base, by its place in the base's memory."""

    __slots__ = ("places",)
    places: Places
    arity = 1

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        places = self.places
        row = places.row_of_view(grad, ops)
        zeros = ops.zeros((places.count(),), dtype=row.dtype)
        return (places.as_base(ops.index_put(zeros, (places.indices().reshape(-1),), row, True), ops),)


def _retain_at(tensor: Tensor, before: Edge | None, now: Edge) -> None:
    """Let a tensor that retains its gradient retain that of its new function instead of the old one's."""
    extra = tensor._extra
    if extra is not None and extra.retains_grad and before is not None:
        node_extra(before.node()).retained.pop(before.output_nr, None)
        node_extra(now.node()).retained[now.output_nr] = weakref.ref(tensor)


def rebase_history(target: Tensor, node: Edge, before: Edge | None, name: str) -> None:
    """Make `node`, which has just written into `target`, part of its history, and of its base's."""
    extra, base = target._extra, base_of(target)
    if base is None:
        _retain_at(target, target._fn, node)
        target._fn, target._requires_grad = node, True
        wake_views(target)
        return
    copy = new(CopySlices)
    copy._sequence_nr = next_sequence_nr()
    copy._next0 = copy._next1 = copy._extra = None
    copy._shape, copy._dtype = base._array.shape, base._array.dtype
    node = node.node()
    copy.fn, copy.places = node, Places(base._array, target._array)
    copy.target = before
    # The view's own history is the base's; everything else that the operator took keeps its edge.
    copy._nexts = (port(base), *(None if edge is before and edge is not None else edge for edge in node.edges()))
    _retain_at(base, base._fn, copy)
    base._fn, base._requires_grad = copy, True
    wake_views(base)
    target._requires_grad = True
    # Its function is made again, from the base's, when next asked for.
    extra.view_version = -1  # type: ignore[union-attr]


def continue_history(target: Tensor, node: Edge) -> None:
    """Make `node`, which has changed nothing but the shape and strides of `target`, its function."""
    _retain_at(target, target._fn, node)
    target._fn = node
    base = base_of(target)
    if base is not None:
        target._extra.view_version = base._counter.n  # type: ignore[union-attr]  # views have both, and so do bases


def refresh_view(view: Tensor) -> Edge | None:
    """The function of a view: its own while the base is as it was, else one made from the base's."""
    extra: Any = view._extra  # there, as is the counter of its base
    base = extra.base
    if extra.view_version == base._counter.n:
        return view._fn  # type: ignore[no-any-return]
    edge = port(base)
    if edge is None or base_of(view) is None:
        extra.view_version = base._counter.n
        # Nothing to follow, or one of them has got other memory by assigning to .data.
        return view._fn  # type: ignore[no-any-return]
    if extra.made_by is not None:
        raise InplaceError(
            f"a tensor that {extra.made_by} returned is a view of its input, and that was modified in place since: the "
            "backward of the custom Function no longer fits. Return a clone() from its forward, or modify a clone()."
        )
    extra.view_version = base._counter.n
    node = new(AsStridedBackward0)
    node._sequence_nr = next_sequence_nr()
    node._nexts = node._next1 = node._extra = None
    node._next0 = edge
    node._shape, node._dtype = view._array.shape, view._array.dtype
    node.places = Places(base._array, view._array)
    _retain_at(view, view._fn, node)
    view._fn, view._requires_grad = node, True
    return node


slots.check_inplace = check_inplace
slots.rebase_history = rebase_history
slots.continue_history = continue_history
slots.refresh_view = refresh_view
