"""Saved tensors that a pack hook has replaced: unpacking them for a node, with checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import modes
from pullback.core.array_type import array_type, innermost
from pullback.core.errors import GradientError, SavedArrayModifiedError, SavedTensorModifiedError, with_article
from pullback.core.tensor import Tensor, wrap, wrap_like
from pullback.core.types import RawArray
from pullback.core.version import Counter, counter_inside, counter_of
from pullback.graph.inner_versions import deep_version, since
from pullback.graph.journal import contents_at
from pullback.graph.node import Edge, Node, edge_to, saved_slots


class Packed:
    """Stands where a version was, when hooks have packed the saved tensor: how to get it back, and its place."""

    __slots__ = (
        "around",
        "counter",
        "dtype",
        "edge",
        "expected",
        "fingerprint",
        "level",
        "output_nr",
        "shape",
        "trusted",
        "unpack",
    )
    counter: Counter  # of the memory that was packed, which the hooks may have kept

    def __init__(
        self,
        unpack: Callable[[Any], Tensor],
        tensor: Tensor,
        edge: Edge | None,
        output_nr: int | None = None,
        trusted: bool = False,
    ) -> None:
        self.unpack = unpack
        self.trusted = trusted  # to give back the same shape and dtype, or to mean another one
        self.edge = edge  # that led to the tensor, if it was an input
        self.output_nr = output_nr  # of the very node that saves it: its edge would be a cycle
        self.level, self.shape, self.dtype = tensor._level, tensor.shape, tensor.dtype
        self.around: Callable[[Any], Any] | None = None  # see place_of
        self.fingerprint: Any = None  # of the contents of an ndarray, where the hooks keep them as they are
        self.counter = counter_of(tensor)
        self.expected: int = deep_version(self.counter.n, tensor._array)  # type: ignore[assignment]  # None of None

    def tensor(self, packed: Any, node: Node, entrance: Edge | None) -> Tensor:
        """The tensor with its place in the graph: the edge it had, or `entrance` where it is the node's output."""
        given = self._given(packed, node)
        out = wrap(self._inside(given), self.level)
        out._counter = counter_inside(given)  # of memory that the hooks may have kept: a later write is to be noticed
        out._fn = self.edge if self.output_nr is None else entrance
        out._requires_grad = out._fn is not None
        return out

    def raw(self, packed: Any, node: Node) -> RawArray:
        """The array inside, for an ordinary backward, in which hooks record nothing."""
        before = modes.set_modes(modes.current().with_recording(False, self.level))
        try:
            return self._inside(self._given(packed, node, restore=True))
        finally:
            modes.restore(before)

    def _given(self, packed: Any, node: Node, restore: bool = False) -> Tensor:
        tensor = self.unpack(packed)
        self._check_form(tensor, packed, node)
        kept = tensor._counter is self.counter  # where the hooks have kept the memory itself
        if kept and (written := since(self.expected, self.counter, tensor._array)) is not None:
            if restore and self.counter.journal and self.counter.n != self.expected:
                before = contents_at(tensor, self.expected, self.counter)
                if before is not None:
                    return before  # type: ignore[no-any-return]
            raise SavedTensorModifiedError(
                node.name(), slot_name(node, packed), self.shape, self.dtype, *written, recorded_at(node)
            )
        return tensor

    def _inside(self, tensor: Tensor) -> RawArray:
        array: Any = tensor
        if tensor._level == self.level or (tensor._level < self.level and not tensor._requires_grad):
            array = tensor._array
        if self.around is None or _has_place(array):
            return array  # type: ignore[no-any-return]
        return self.around(innermost(array))  # type: ignore[no-any-return]

    def _check_form(self, tensor: Any, packed: Any, node: Node) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}: "
                f"the unpack hook gave {node.name()} {with_article(tensor)}; expected the Tensor that was packed, "
                "for example pullback.from_numpy(array)."
            )
        if not self.trusted and (tensor.shape != self.shape or tensor.dtype != self.dtype):
            raise GradientError(
                f"the unpack hook gave {node.name()} a Tensor of shape {tensor.shape} and dtype {tensor.dtype} for "
                f"what was packed with shape {self.shape} and dtype {self.dtype}; give back what pack_hook was given, "
                "for example by .reshape(shape) and .to(dtype)."
            )
        if self.fingerprint is not None and not self.fingerprint.fits(tensor._array):
            raise SavedArrayModifiedError(node.name(), slot_name(node, packed), self.shape, self.dtype)


def place_of(raw: Any) -> Callable[[Any], Any] | None:
    """Return what `detach()` and `numpy()` take from an array: a function that puts values back into lower levels.

    That is the edges of the Tensors inside and the tangents of forward mode. None where there is nothing to take.
    """
    kind = array_type(raw)
    values = kind.values(raw)
    if values is raw:
        return None
    inside = place_of(values)
    if not isinstance(raw, Tensor):
        tangents = kind.tangents(raw)
        if tangents is None:
            return inside
        return lambda x: tangents.around(x if inside is None else inside(x))
    if inside is None and not raw._requires_grad:
        return None
    edge = edge_to(raw) if raw._requires_grad else None
    face, level = type(raw), raw._level

    def again(x: Any) -> Tensor:
        out = wrap_like(face, x if inside is None else inside(x), level)
        out._fn, out._requires_grad = edge, edge is not None
        return out

    return again


def _has_place(raw: Any) -> bool:
    """True if an array is still what some level differentiates."""
    while isinstance(raw, Tensor):
        if raw._requires_grad:
            return True
        raw = raw._array
    return array_type(raw).dual


def recorded_at(node: Node) -> str | None:
    """The line of the user's program that recorded a node, if anomaly detection has noted it."""
    lines = None if node._extra is None else node._extra.metadata.get("traceback_")
    return lines[-1] if lines else None


def slot_name(node: Node, held: object) -> str:
    """The name under which a node keeps `held`."""
    for slot in saved_slots(type(node)):
        kept = getattr(node, slot, None)
        if kept is held or (isinstance(kept, tuple) and any(k is held for k in kept)):
            return slot.removeprefix("saved_")
    return "tensor"
