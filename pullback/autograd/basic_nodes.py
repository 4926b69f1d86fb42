"""The nodes that belong to no operator: roots, identities and errors waiting in the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import DType, Gradient, Shape
from pullback.graph.node import Edge, Node, Unpack, bare, edge_to
from pullback.graph.undifferentiable import Error, NotImplemented


class GraphRoot(Node):
    """Feeds the gradients that a backward starts from into their edges: what a call of it gives, whatever it is given.

    Parameters
    ----------
    edges : iterable of Edge or None
    gradients : iterable of Tensor or ndarray
        One for each edge.
    shape : tuple of int, optional
    dtype : dtype, optional

    Examples
    --------
    >>> y = pb.ones(2, requires_grad=True) * 2
    >>> root = pb.autograd.basic_nodes.GraphRoot((y.grad_fn,), (pb.ones(2),), y.shape, y.dtype)
    >>> root()
    tensor([1., 1.])
    """

    __slots__ = ("gradients",)
    takes_undefined = True

    def __init__(
        self,
        edges: Iterable[Edge | None],
        gradients: Iterable[Gradient],
        shape: Shape | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(edges, shape, dtype)
        self.gradients = tuple(gradients)

    def __call__(self, *grads: Tensor | None) -> Any:
        """The gradients as Tensors, a single one bare."""
        return bare(tuple(wrap(g) if issubclass(type(g), ndarray) else g for g in self.gradients))

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return self.gradients


class Identity(Node):
    """Passes its gradient on."""

    __slots__ = ()
    pointwise = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return (grad,)


class DelayedError(Error):
    """Marks results that may be used but not differentiated: behind `once_differentiable`.

    Parameters
    ----------
    message : str
    edges : int or iterable of Edge or None, optional
        Where the gradient would go besides the inputs. PyTorch's second argument, the number of inputs, may stand here.

    Raises
    ------
    TypeError
        Of a call: there are other inputs than that number.

    Examples
    --------
    >>> marked = pb.autograd.basic_nodes.DelayedError("not this way", 1)(pb.ones(2))
    >>> marked.grad_fn.name(), marked.requires_grad
    ('Error', True)
    """

    __slots__ = ("num_inputs",)

    def __init__(self, message: str, edges: int | Iterable[Edge | None] = ()) -> None:
        self.num_inputs = edges if isinstance(edges, int) else None
        super().__init__(message, () if isinstance(edges, int) else edges)

    def __call__(self, *inputs: Tensor) -> Any:  # type: ignore[override]  # no gradients, tensors to mark
        """The inputs again (a single one bare), as outputs of `Error` nodes: they raise when differentiated."""
        if self.num_inputs not in (None, len(inputs)):
            raise TypeError(f"DelayedError: expected {self.num_inputs} inputs, as it was made for, got {len(inputs)}.")
        return bare(tuple(failing(x, self.message, (*self.edges(), edge_to(x))) for x in inputs))


def failing(x: Tensor, message: str, edges: Iterable[Edge | None], further: Iterable[Edge | None] = ()) -> Tensor:
    """The numbers of `x` as the output of an `Error`, which raises on the way to any of these edges."""
    out = wrap(x._array, x._level)
    error = out._fn = Error(message, edges, further)
    error._shape, error._dtype = x.shape, x.dtype
    out._requires_grad = True
    return out


class UndefinedGradBackward(Node):
    """Passes no gradient on: what is behind it counts as not used."""

    __slots__ = ()
    takes_undefined = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return (None,) * len(self.edges())


class UndefinedGrad(UndefinedGradBackward):
    """Cuts tensors off from what they were computed from, though they still require grad."""

    __slots__ = ()

    def __call__(self, *inputs: Tensor) -> Any:  # type: ignore[override]
        """The inputs again (a single one bare), as tensors whose gradient ends here."""
        outs = []
        for x in inputs:
            out = wrap(x._array, x._level)
            if isinstance(x, Tensor) and x._requires_grad:
                out._fn = UndefinedGradBackward((edge_to(x),), x.shape, x.dtype)
                out._requires_grad = True
            outs.append(out)
        return bare(tuple(outs))


__all__ = [
    "DelayedError", "Error", "GraphRoot", "Identity", "NotImplemented", "UndefinedGrad", "UndefinedGradBackward",
]  # fmt: skip
