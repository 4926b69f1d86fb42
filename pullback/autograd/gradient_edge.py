"""GradientEdge: a place in the graph where a gradient arrives, named without the tensor that it belongs to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core.errors import GradientError, type_name
from pullback.core.named import named
from pullback.core.tensor import Tensor, wrap
from pullback.graph.node import AccumulateGrad, Node, edge_to, entrance_of


class GradientEdge(NamedTuple):
    """The gradient of output `output_nr` of `node`.

    `autograd.grad` and `backward` take one wherever they take a tensor. It keeps the graph behind it alive, but not
    the tensor. Where `grad` must fill in a cotangent, or zeros, it knows shape and dtype from the node.

    Parameters
    ----------
    node : Node
    output_nr : int
    ownership_token : None
        Present for PyTorch's sake, which may need it to keep the graph alive; here `node` does.

    Examples
    --------
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> y = x * 2
    >>> edge = pb.autograd.graph.GradientEdge(y.grad_fn, 0)
    >>> pb.autograd.grad(y * y, edge)
    (tensor(12.),)
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


@named("autograd.graph.get_gradient_edge", "Tensor tensor")
def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge at which the gradient of `tensor` arrives: `grad(loss, edge)` gives what `grad(loss, tensor)` gives.

    Parameters
    ----------
    tensor : Tensor

    Returns
    -------
    GradientEdge
        Its node is `tensor.grad_fn`, or the AccumulateGrad node of a leaf.

    Raises
    ------
    RuntimeError
        The tensor does not require grad.

    Examples
    --------
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> y = x * 2
    >>> edge = pb.autograd.graph.get_gradient_edge(y)
    >>> loss = y * y
    >>> del y
    >>> pb.autograd.grad(loss, edge)
    (tensor(12.),)
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"get_gradient_edge takes a Tensor, got {type_name(tensor)}.")
    edge = edge_to(tensor)
    if edge is None:
        raise GradientError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients. Call "
            "requires_grad_() on it before computing with it."
        )
    return GradientEdge(edge.node(), edge.output_nr)


def stand_in(edge: GradientEdge) -> Tensor:
    """A tensor with no values of its own whose gradient arrives at `edge`: the leaf itself for the edge of a leaf."""
    entrance: Any = entrance_of(edge)
    if type(entrance) is AccumulateGrad:
        return entrance.variable
    shape, dtype = entrance._shape, entrance._dtype
    if shape is None or dtype is None:
        raise GradientError(
            f"output {edge.output_nr} of {edge.node.name()} is not a tensor, or one without known shape and dtype, so "
            "no gradient can be asked for there. Take the edge from a tensor: get_gradient_edge(tensor)."
        )
    out = wrap(np.broadcast_to(np.zeros((), dtype), shape), _level_of(edge.node))
    out._fn, out._requires_grad = entrance, True
    return out


def _level_of(node: Node) -> int:
    """The level of the graph behind `node`: that of any leaf in it."""
    seen, stack = {node}, [node]
    while stack:
        node = stack.pop()
        if type(node) is AccumulateGrad:
            return node.variable._level
        new = [n for n, _ in node.next_functions if n is not None and n not in seen]
        seen.update(new)
        stack += new
    return 0


__all__ = ["GradientEdge", "get_gradient_edge", "stand_in"]
