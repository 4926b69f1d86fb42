"""Nodes by what they save: the few patterns that most operators share. Generated nodes inherit from them."""

from __future__ import annotations

from typing import Any

from pullback.core.array_face import Array
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient, Version
from pullback.graph.node import KEEPS_ARGUMENT, MASKING, Node, NodeExtra, Unpack
from pullback.graph.saved import Released, save_input, save_other, watch_output


class SavesSelf(Node):
    """Keeps its only tensor argument. Closures that record and the engine's loop write save, apply and release out.

    Subclasses implement `pull(ops, grad, self_)`, the formula: the gradient from the cotangent and the argument.
    """

    __slots__ = ("saved_self", "version_self")
    saved_self: Any
    version_self: Version
    inputs = (0,)
    saves_self = True

    def save(self, out: Any, input: Any, *_: Any) -> None:
        self.saved_self, self.version_self = input, input._counter and input._counter.save()

    def pull(self, ops: Any, grad: Gradient, self_: Any) -> Gradient:
        """The gradient of the argument."""
        raise NotImplementedError(f"{self.name()} has no pull().")

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> tuple[Gradient]:
        return (self.pull(ops, grad, unpack(self.saved_self, self.version_self, self)),)

    def release(self) -> None:
        self.version_self, self.saved_self = Released, None


def standing_in(cls: type[Node]) -> NodeExtra | None:
    """Return what stands in the `_extra` of nodes of this class until one is hooked."""
    return MASKING if cls.masking else KEEPS_ARGUMENT if issubclass(cls, SavesSelf) else None


class SavesResult(Node):
    """Keeps what it computed."""

    __slots__ = ("saved_result", "version_result")
    saved_result: Any
    version_result: Version
    inputs = (0,)

    def save(self, out: Any, *_: Any) -> None:
        self.saved_result, self.version_result = out._array, watch_output(out)

    def release(self) -> None:
        self.version_result, self.saved_result = Released, None


class SavesSelfAndResult(Node):
    """Keeps its only tensor argument and what it computed."""

    __slots__ = ("saved_result", "saved_self", "version_result", "version_self")
    saved_self: Any
    saved_result: Any
    version_self: Version
    version_result: Version
    inputs = (0,)
    saves_self = True

    def save(self, out: Any, input: Any, *_: Any) -> None:
        self.saved_self, self.version_self = input, input._counter and input._counter.save()
        self.saved_result, self.version_result = out._array, watch_output(out)

    def release(self) -> None:
        self.version_self, self.saved_self = Released, None
        self.version_result, self.saved_result = Released, None


class SavesPair(Node):
    """Keeps both of its tensor arguments."""

    __slots__ = ("saved_other", "saved_self", "version_other", "version_self")
    saved_self: Any
    saved_other: Any
    version_self: Version
    version_other: Version
    inputs = (0, 1)
    saves_self = True

    def save(self, out: Any, input: Any, other: Any, *_: Any) -> None:
        self.saved_self, self.version_self = save_input(input)
        self.saved_other, self.version_other = save_input(other)

    def release(self) -> None:
        self.version_self, self.saved_self = Released, None
        self.version_other, self.saved_other = Released, None


class SavesForEachOther(SavesPair):
    """Keeps each of its two tensor arguments if the other needs a gradient."""

    __slots__ = ()

    def save(self, out: Any, input: Any, other: Any, *_: Any) -> None:
        # save_input written out, because every product passes here.
        if self._next1 is not None:
            if type(input) is Tensor or type(input) is Array:
                self.saved_self, counter = input, input._counter
                self.version_self = counter and counter.save()
            else:
                self.saved_self, self.version_self = save_other(input)
        if self._next0 is not None:
            if type(other) is Tensor or type(other) is Array:
                self.saved_other, counter = other, other._counter
                self.version_other = counter and counter.save()
            elif type(other) is float:
                self.saved_other, self.version_other = other, None
            else:
                self.saved_other, self.version_other = save_other(other)
