"""The nodes that belong to no operator: roots, identities and errors waiting in the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pullback.core.tensor import Tensor, wrap
from pullback.core.types import Gradient
from pullback.graph.node import Edge, Node, Unpack, edge_to
from pullback.graph.undifferentiable import NotImplemented


class GraphRoot(Node):
    """Feeds the gradients that a backward starts from into their edges."""

    __slots__ = ("gradients",)
    takes_undefined = True

    def __init__(self, edges: Iterable[Edge | None], gradients: Iterable[Gradient]) -> None:
        super().__init__(edges)
        self.gradients = tuple(gradients)

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return self.gradients


class Identity(Node):
    """Passes its gradient on."""

    __slots__ = ()
    pointwise = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return (grad,)


class Error(Node):
    """Raises when a gradient reaches it, an undefined one too."""

    __slots__ = ("message",)
    takes_undefined = True

    def __init__(self, message: str, edges: Iterable[Edge | None] = ()) -> None:
        super().__init__(edges)
        self.message = message

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        raise RuntimeError(self.message)


class DelayedError(Error):
    """Marks results that may be used but not differentiated: behind `once_differentiable`."""

    __slots__ = ()

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]  # no gradients, tensors to mark
        """The inputs again, as outputs of `Error` nodes: they raise when differentiated."""
        outs = []
        for x in inputs:
            out = wrap(x._array, x._level)
            out._fn = Error(self.message, (*self.edges(), edge_to(x)))
            out._fn._shape, out._fn._dtype = x.shape, x.dtype
            out._requires_grad = True
            outs.append(out)
        return tuple(outs)


class UndefinedGradBackward(Node):
    """Passes no gradient on: what is behind it counts as not used."""

    __slots__ = ()
    takes_undefined = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return (None,) * len(self.edges())


class UndefinedGrad(UndefinedGradBackward):
    """Cuts tensors off from what they were computed from, though they still require grad."""

    __slots__ = ()

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        """The inputs again, as tensors whose gradient ends here."""
        outs = []
        for x in inputs:
            out = wrap(x._array, x._level)
            if isinstance(x, Tensor) and x._requires_grad:
                out._fn = UndefinedGradBackward((edge_to(x),), x.shape, x.dtype)
                out._requires_grad = True
            outs.append(out)
        return tuple(outs)


__all__ = [
    "DelayedError", "Error", "GraphRoot", "Identity", "NotImplemented", "UndefinedGrad", "UndefinedGradBackward",
]  # fmt: skip
