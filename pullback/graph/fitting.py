"""Reducing a gradient to its input's shape and dtype: sums over broadcast dimensions, drops imaginary parts."""

from __future__ import annotations

from typing import Any

from pullback.core.errors import GradientError, as_list
from pullback.core.types import DType, Gradient, Shape
from pullback.graph.node import Edge, Node


def _index_of(edge: Edge, node: Node) -> int | str:
    """Which of the node's gradients goes to this edge."""
    return next((i for i, other in enumerate(node.edges()) if other is edge), "?")


def sum_to_shape(g: Gradient, shape: Shape, node: Node, edge: Edge, ops: Any) -> Gradient:
    """The transpose of broadcasting `shape` to `g.shape`: sums over what was repeated."""
    lead = g.ndim - len(shape)
    if lead > 0 and g.shape[lead:] == shape:  # a bias, say
        return ops.sum(g, 0 if lead == 1 else tuple(range(lead)))
    if lead < 0 or any(
        have not in (want, want if want != 1 else have) for have, want in zip(g.shape[lead:], shape, strict=True)
    ):
        raise GradientError(
            f"Function {node.name()} returned an invalid gradient at index {_index_of(edge, node)} - got "
            f"{as_list(g.shape)} but expected shape compatible with {as_list(shape)}: got shape {tuple(g.shape)}, "
            f"expected a shape that sums to {tuple(shape)}, the shape of the input (towards {edge.node().name()})."
        )
    repeated = tuple(range(lead)) + tuple(
        lead + i for i, (have, want) in enumerate(zip(g.shape[lead:], shape, strict=True)) if want == 1 and have != 1
    )
    if repeated:
        g = ops.sum(g, repeated, True)
    return ops.reshape(g, shape) if lead else g


def to_dtype(g: Gradient, dtype: DType, ops: Any) -> Gradient:
    """`g` in the dtype of the input: its real part for a real input, then a cast."""
    if dtype.kind != "c" and g.dtype.kind == "c":
        g = ops.real(g)
    return g if g.dtype == dtype else ops._to_copy(g, dtype)


def complex_of_pairs(x: Gradient, ops: Any) -> Gradient:
    """Complex numbers of pairs along the last dimension: a copy, since in a batch they need not lie side by side."""
    return ops.complex(ops.select(x, -1, 0), ops.select(x, -1, 1))
