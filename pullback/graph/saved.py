"""Tensors saved for backward: how they are kept, checked and handed to a formula.

A node keeps an input in two of its slots, the Tensor itself (`saved_x`) and its version then (`version_x`); its own
output it keeps as data with the version counter, because the Tensor would point back at the node and make a cycle.
Numbers are kept as they are. An ndarray has no version to tell of a later change: a copy is kept of a small one and of
indices, masks and labels (see `graph.snapshot`); of a large one, which may be a whole data set, the array itself with a
fingerprint of its contents, so that a change is an error. So saving makes no object but these and the counter of a
saved output, and a graph of a million nodes stays light for the garbage collector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from pullback.core.array_face import AROUND_NDARRAYS, Array
from pullback.core.array_type import ARRAY_TYPES, CONSTANTS
from pullback.core.errors import BackwardTwiceError, GradientError, SavedArrayModifiedError, SavedTensorModifiedError
from pullback.core.tensor import Tensor, ndarray, new, wrap
from pullback.core.types import RawArray, Version
from pullback.core.version import Counter, counter_of
from pullback.graph.inner_versions import DeepVersion, deep_version, since, writes_inside
from pullback.graph.journal import contents_at
from pullback.graph.node import Edge, Node, OutputEdge, edge_to
from pullback.graph.packed import Packed, recorded_at, slot_name
from pullback.graph.snapshot import FIXED, copy_of


class Released:
    """Stands where a version was, once the saved tensor is gone, or where an index was that held arrays."""


# The size up to which a copy of an ndarray is kept: the memory of many such copies is that of as many nodes.
FEW = 4096
_COLUMNS = 509  # a prime, so that rows which change places move to other columns


class Fingerprint:
    """Stands where a version was for a large ndarray: sums of its bytes, which tell of a change."""

    __slots__ = ("sums",)

    def __init__(self, x: ndarray) -> None:
        self.sums = _hash_of_sums(x)

    def fits(self, x: ndarray) -> bool:
        """True if the contents are what they were."""
        return self.sums == _hash_of_sums(x)


def _hash_of_sums(x: ndarray) -> int:
    found = x.ravel(order="K").view(np.uint8)
    whole = found.size // (8 * _COLUMNS) * 8 * _COLUMNS
    words = found[:whole].view(np.uint64).reshape(-1, _COLUMNS)
    return hash(words.sum(axis=0).tobytes() + found[whole:].tobytes())  # the last one may be a part of a word


class Form:
    """Stands for a saved input of which no more than its shape and dtype is needed, so it may be written into."""

    __slots__ = ("dtype", "ndim", "shape", "size")

    def __init__(self, x: Any) -> None:
        data = x if hasattr(x, "shape") else np.asarray(x)
        self.shape, self.dtype = tuple(data.shape), data.dtype
        self.ndim, self.size = len(self.shape), prod(self.shape)


def version_when_saved(x: Any) -> Version:
    """The version to keep with a saved input: its number, or None while it has no counter (and for constants)."""
    if not isinstance(x, Tensor):
        return None
    own = None if x._counter is None else x._counter.save()
    if type(x) in AROUND_NDARRAYS or not (inside := writes_inside(x._array)):
        return own
    return DeepVersion(own or 0, inside)


def save_other(x: Any, fixed: bool = False) -> tuple[Any, Version]:
    """Save an input of any type: returns what to keep, and its version.

    An ndarray has no version to tell of a later change. A small one, or one of whole numbers, is copied; with `fixed`,
    any. Of a large one that may be written into, a fingerprint is kept.
    """
    if type(x) is ndarray:
        if fixed or x.size <= FEW or x.dtype.kind in "biu" or not x.flags.forc:
            return copy_of(x), None
        return x, None if x.base is None and not x.flags.writeable else Fingerprint(x)
    return x, version_when_saved(x)


def save_list(xs: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[Version, ...]]:
    """Save a list of inputs: returns what to keep, and their versions."""
    pairs = [save_other(x) for x in xs]
    return tuple(x for x, _ in pairs), tuple(version for _, version in pairs)


def let_go(x: Any) -> Any:
    """`Released` for an index that is an array or holds one; one of numbers and slices alone stays."""
    kind = type(x)
    if kind is ndarray:
        return Released
    if kind is tuple:
        for item in x:
            if type(item) not in FIXED and let_go(item) is Released:
                return Released
    return x


def watch_output(out: Tensor) -> Version:
    """The version to keep with a saved output: its counter, with the version now if it is not the first."""
    counter = out._counter
    if counter is None:  # version.counter_of written out: every exp and tanh passes here
        counter = out._counter = new(Counter)
        counter.n = 0
        counter.culprit = None
        counter.journal = ()
        if type(out) in AROUND_NDARRAYS:
            return counter
    version = deep_version(counter.save(), out._array)
    return counter if version == 0 and type(version) is int else (counter, version)


def unwritten(version: Version) -> bool:
    """True unless a saved output has been written into since, where the node can compute it again."""
    if isinstance(version, Counter):
        return version.n == 0
    if type(version) is tuple:
        return version[0].n == version[1]  # type: ignore[no-any-return]
    return type(version) is not Packed or version.counter.n == version.expected


def unpack_raw(saved: Any, version: Version, node: Node) -> Any:
    """The raw array behind a saved tensor, for an ordinary backward. Raises if it was modified or released."""
    if version is None:
        kind = type(saved)
        if kind in CONSTANTS:
            return saved
        if kind is Tensor or kind is Array:
            if saved._counter is None:
                return saved._array
        elif isinstance(saved, Tensor):
            if saved._counter is None and not writes_inside(saved._array):
                return saved._array
        elif saved is not Released:
            return saved
    elif type(version) is int:  # of a tensor with a counter, such as a view
        if type(saved) in AROUND_NDARRAYS and saved._counter.n == version:  # it keeps one
            return saved._array
    elif type(version) is Counter and version.n == 0 and type(saved) is ndarray:
        return saved
    elif type(version) is Packed:
        return version.raw(saved, node)
    saved = checked(saved, version, node)
    # An output was saved as raw data, which is a Tensor too where levels are nested.
    return saved if _is_output(version) or not isinstance(saved, Tensor) else saved._array


def unpack_nested(saved: Any, version: Version, node: Node) -> Any:
    """The same for the graph of a transform, where what is inside may be a Tensor with a tangent of a closed level."""
    if version is None:  # the usual cases first: a Tensor of this very class is around an ndarray
        if type(saved) is Tensor or type(saved) is Array:
            if saved._counter is None:
                return saved._array
        elif not isinstance(saved, Tensor):
            if saved is not Released:
                return saved
        elif saved._counter is None and not writes_inside(saved._array):
            raw = saved._array
            return saved_again(raw) if isinstance(raw, Tensor) else raw
    elif type(version) is int and type(saved) in AROUND_NDARRAYS and saved._counter.n == version:
        return saved._array
    raw = unpack_raw(saved, version, node)
    return saved_again(raw) if isinstance(raw, Tensor) else raw


def gives_raw(unpack: Any) -> bool:
    """True if raw arrays flow in a backward with this `unpack`, which may stand in a partial that does more."""
    while type(unpack) is partial:
        unpack = unpack.args[0]
    return unpack is unpack_raw or unpack is unpack_nested


def saved_again(saved: Any) -> Any:
    """Return what a node saved, an array or a Tensor, with the tangents of levels that are closed by now."""
    around, inside = [], saved
    while isinstance(inside, Tensor):
        if type(inside) in AROUND_NDARRAYS:
            return saved
        around.append(inside)
        inside = inside._array
    kind = ARRAY_TYPES.get(type(inside))
    again = inside if kind is None else kind.saved_again(inside)
    if again is inside:
        return saved
    for x in reversed(around):
        again = wrap(again, x._level)
        again._counter, again._fn, again._requires_grad = counter_of(x), edge_to(x), x._requires_grad
    return again


def _is_output(version: Version) -> bool:
    """True if the saved thing is an output of the node, kept as data: beside it stands a counter, not a number."""
    return isinstance(version, Counter) or type(version) is tuple


def tensor_unpacker(level: int) -> Callable[[Any, Version, Any], Any]:
    """The `unpack` of a backward that is itself recorded at `level`: gives Tensors instead of raw arrays."""

    def unpack_tensor(saved: Any, version: Version, node: Any) -> Any:
        if type(version) is Packed:
            nr = version.output_nr
            return saved_again(version.tensor(saved, node, None if nr is None else _entrance(node, nr)))
        saved = checked(saved, version, node, restore=False)
        if not _is_output(version):
            if isinstance(saved, Tensor) and saved._extra is not None:
                _refuse_detached(saved._extra.detached_at, saved, node)
            return saved_again(saved)
        entrance = _entrance(node, own_output_nr(node, saved))
        return output_again(saved_again(saved), version, entrance, level)

    return unpack_tensor


def _refuse_detached(detached_at: int | None, saved: Tensor, node: Any) -> None:
    """Refuse a saved tensor that has lost its history since: what is recorded from it would lack a derivative."""
    if detached_at is not None and node._sequence_nr < detached_at:
        raise GradientError(
            f"{node.name()} saved {slot_name(node, saved)!r} (shape {tuple(saved.shape)}), which detach_() has taken "
            "out of its graph since, so a derivative of this backward cannot be recorded. Use detach(), which leaves "
            "the tensor as it is."
        )


def own_output_nr(node: Any, saved: Any) -> int:
    """Which of its outputs the node has saved here."""
    if node.outputs == 1:
        return 0
    if not node.output_names:  # a custom Function's, which notes it beside each tensor that it saves
        return next(nr for kept, _, nr in node._saved if kept is saved)  # type: ignore[no-any-return]
    return node.output_names.index(slot_name(node, saved))  # type: ignore[no-any-return]


def _entrance(node: Any, nr: int) -> Edge | None:
    """Where the gradient of output `nr` enters the node; None where that output is not differentiable."""
    if node.outputs == 1:
        return node  # type: ignore[no-any-return]
    return OutputEdge(node, nr, *node._output_metadata[nr]) if node.differentiable_outputs[nr] else None


def checked(saved: Any, version: Version, node: Node, restore: bool = True) -> Any:
    """`saved`, after making sure that it is still what was saved, or what it was, from a journal: without its graph."""
    if version is Released or saved is Released:
        raise BackwardTwiceError(node.name())
    if _is_output(version):
        counter, expected = version if type(version) is tuple else (version, 0)
    elif isinstance(saved, Tensor):
        counter, expected = saved._counter, 0 if version is None else version
    else:
        if type(version) is Fingerprint and not version.fits(saved):
            raise SavedArrayModifiedError(node.name(), slot_name(node, saved), saved.shape, saved.dtype)
        return saved
    raw = saved if _is_output(version) else saved._array
    if (written := since(expected, counter, raw)) is not None:
        if counter is not None and counter.journal and counter.n != expected and restore:
            before = contents_at(saved, expected, counter)
            if before is not None:
                return before
        raise SavedTensorModifiedError(
            node.name(), slot_name(node, saved), saved.shape, saved.dtype, *written, recorded_at(node)
        )
    return saved


def output_again(data: RawArray, version: Version, entrance: Edge | None, level: int) -> Tensor:
    """A node's saved output as a Tensor, with the edge into that node as its function."""
    out = wrap(data, level)
    out._counter = version[0] if type(version) is tuple else version
    out._fn = entrance
    out._requires_grad = entrance is not None
    return out
