"""validate_grad: gives a gradient the shape and dtype of the input it belongs to (sums broadcast dimensions, casts)."""

from __future__ import annotations

from pullback.autograd.engine.run import Run
from pullback.autograd.engine.structural_zeros import Masked, fitted
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError, with_article
from pullback.core.tensor import Tensor
from pullback.core.types import Gradient
from pullback.graph.fitting import sum_to_shape, to_dtype
from pullback.graph.node import Edge, Node


def validate_grad(g: Gradient, edge: Edge, node: Node, run: Run | None) -> Gradient:
    """`g` with the shape and dtype of `edge`, or an error that names the node that produced it."""
    if type(g) is Masked:
        return fitted(g, lambda value: validate_grad(value, edge, node, run), edge._shape)  # type: ignore[arg-type]  # known, of edges
    if not hasattr(g, "shape"):
        raise GradientError(
            f"Function {node.name()} returned {with_article(g)} as gradient; expected an array or Tensor of shape "
            f"{edge._shape}, or None."
        )
    ops = TENSOR if isinstance(g, Tensor) else run.ops  # type: ignore[union-attr]  # without a run all are Tensors
    if g.shape != edge._shape:
        g = sum_to_shape(g, edge._shape, node, edge, ops)  # type: ignore[arg-type]  # edges lead where it is known
    if g.dtype != edge._dtype:
        g = to_dtype(g, edge._dtype, ops)  # type: ignore[arg-type]
    return g
