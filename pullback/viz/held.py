"""Finds what a node holds in memory for backward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pullback.autograd.checkpoint.frame import Frame, frame_behind
from pullback.autograd.function.node import FunctionNode
from pullback.core.array_type import memory_of
from pullback.core.errors import type_name
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.node import Node
from pullback.graph.packed import Packed
from pullback.graph.saved import Released

_GRAPH = {"_next0", "_next1", "_nexts", "_extra", "_function", "variable", "target", "__weakref__"}


@dataclass(frozen=True)
class Held:
    """One thing that a node holds under a name.

    `value` is the thing, or None in a description that holds no memory itself; `array` the ndarray in whose memory it
    lies, if there is one.
    """

    name: str
    text: str  # "float64 (3, 2)", "released", "2.0"
    value: Any = None
    state: str = ""  # "released", "packed" by hooks, "checkpointed" (to be computed again), or nothing of the kind
    place: int = 0  # in memory, the same for arrays that share it: the address of the first array's buffer
    bytes: int = 0  # of the array
    whole: int = 0  # of the buffer that the array keeps alive, which is larger where it is a view

    @property
    def array(self) -> ndarray | None:
        """The ndarray in whose memory it lies; None where there is none."""
        return memory_of(self.value)

    def described(self) -> Held:
        """The same without the memory."""
        return replace(self, value=None)


def held_by(node: Node) -> Iterator[Held]:
    """Yield what a node holds, without its edges; a list of tensors gives one thing for each. Nothing is unpacked."""
    for name, value, version in _slots(node):
        if name == "fn":  # the operator's own node, inside CopySlices
            yield from held_by(value)
        elif type(version) is Packed:
            yield from _packed(name, value, version)
        elif version is Released:
            yield Held(name, "released", None, "released")
        elif value is not None:
            yield _of_array(name, "", value) or Held(name, _shown(value), value)


def checkpointed(node: Node) -> Iterator[tuple[Any, Packed]]:
    """Yield the holders of checkpoints that a node keeps, with the records that unpack them."""
    for name, value, version in _slots(node):
        if name == "fn":
            yield from checkpointed(value)
        elif type(version) is Packed and frame_behind(version.unpack) is not None:
            yield value, version


def _packed(name: str, value: Any, version: Packed) -> Iterator[Held]:
    """Yield what hooks made of a saved tensor, as far as it is arrays; a checkpoint has kept its inputs instead."""
    text = f"{version.dtype} {tuple(version.shape)}, packed by hooks"
    frame = frame_behind(version.unpack)
    if frame is not None:
        yield Held(name, text, value, "checkpointed" if frame.may_rehearse else "packed")
        yield from _kept(name, frame)
        return
    yield _of_array(name, text, value, "packed") or Held(name, text, value, "packed")
    inside = value if type(value) in (tuple, list) else ()
    for x in inside:
        if (held := _of_array(f"{name}, packed", "", x, "packed")) is not None:
            yield held


def _kept(name: str, frame: Frame) -> Iterator[Held]:
    """Yield what a checkpoint keeps to run its function again: the inputs, and results that a policy has chosen."""
    for number, (x, beside) in enumerate(frame.kept_inputs()):
        if type(beside) is Packed:
            yield from _packed(f"{name}: checkpoint's input {number}", x, beside)
        elif (held := _of_array(f"{name}: checkpoint's input {number}", "", x)) is not None:
            yield held
    for x in frame.kept_results():
        if (held := _of_array(f"{name}: checkpoint's result", "", x)) is not None:
            yield held


def _shown(value: Any) -> str:
    """Numbers and short texts as they are; of other things, whose repr may do anything, the type."""
    if type(value) in (int, float, complex, bool, str) or issubclass(type(value), np.generic):
        return repr(value)[:80]
    return type_name(value)


def _slots(node: Node) -> Iterator[tuple[str, Any, Any]]:
    """(name, value, version or what stands for it) of everything that a node has slots and attributes for."""
    if isinstance(node, FunctionNode):
        for number, (value, version, _) in enumerate(node._saved):
            yield f"tensor {number}", value, version
        for name, value in list(vars(node).items())[node._own :]:  # the user's own, put on ctx
            if not name.startswith("_"):
                yield from _spread(f"ctx.{name}", value, None)
        return
    for slot in dict.fromkeys(name for cls in type(node).__mro__ for name in _own_slots(cls)):
        if slot in _GRAPH or slot.startswith("version_") or not hasattr(node, slot):
            continue
        kind, _, name = slot.partition("_")
        if kind == "saved":
            yield from _spread(name, getattr(node, slot), getattr(node, f"version_{name}", None))
        else:
            yield from _arrays_alone(name if kind == "arg" else slot, getattr(node, slot))


def _own_slots(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _spread(name: str, value: Any, version: Any) -> Iterator[tuple[str, Any, Any]]:
    if type(value) in (tuple, list):
        versions = version if type(version) is tuple and len(version) == len(value) else [version] * len(value)
        for number, (v, beside) in enumerate(zip(value, versions, strict=True)):
            yield f"{name}[{number}]", v, beside
    else:
        yield name, value, version


def _arrays_alone(name: str, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Of what is no saved tensor (numbers, shapes, names), the arrays, and the node inside a CopySlices."""
    for found, v, _ in _spread(name, value, None):
        if (isinstance(v, Node) and name == "fn") or memory_of(v) is not None:
            yield found, v, None


def _of_array(name: str, text: str, value: Any, state: str = "") -> Held | None:
    array = memory_of(value)
    if array is None:
        if not (isinstance(value, Tensor) or (hasattr(value, "dtype") and hasattr(value, "shape"))):
            return None
        return Held(name, text or f"{value.dtype} {tuple(value.shape)}", value, state)
    whole = buffer_of(array)
    text = text or f"{array.dtype} {array.shape}"
    return Held(name, text, value, state, address(whole), min(array.nbytes, whole.nbytes), whole.nbytes)


def buffer_of(array: ndarray) -> ndarray:
    """The array that owns the memory: an array that is a view keeps all of it alive."""
    while (base := array.base) is not None and issubclass(type(base), ndarray):
        array = base
    return array


def address(array: ndarray) -> int:
    """Where the memory begins."""
    place: int = array.__array_interface__["data"][0]
    return place
