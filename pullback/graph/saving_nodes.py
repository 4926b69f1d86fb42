"""The nodes that keep their only argument and nothing else, for which the engine has its fastest way."""

from __future__ import annotations

from typing import Any

from pullback.core.types import Gradient, Version
from pullback.graph.node import KEEPS_ARGUMENT, MASKING, Node, NodeExtra, Unpack
from pullback.graph.saved import Released, version_when_saved


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
        self.saved_self, self.version_self = input, version_when_saved(input)

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
