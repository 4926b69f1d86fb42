"""Making a gradient fit the place where it enters: summed over broadcast dimensions, real where the input is real."""

from __future__ import annotations

from typing import Any

from pullback.autograd.run import Run
from pullback.autograd.structural_zeros import Masked, summed_to
from pullback.core.dispatch import TENSOR
from pullback.core.errors import GradientError, with_article
from pullback.core.familiar import as_list
from pullback.core.node import Edge, Node
from pullback.core.tensor import Tensor
from pullback.core.types import DType, Gradient, Shape


def fit(g: Gradient, edge: Edge, node: Node, run: Run | None) -> Gradient:
    """`g` with the shape and dtype of `edge`, or an error that names the node that produced it."""
    if type(g) is Masked:
        return _fit_masked(g, edge, node, run)
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


def _fit_masked(g: Masked, edge: Edge, node: Node, run: Run | None) -> Gradient:
    if g.shape == edge._shape:
        return Masked(fit(g.value, edge, node, run), g.mask, g.dirty)
    return summed_to(g, fit(g.cleaned(), edge, node, run), edge._shape)  # type: ignore[arg-type]  # known, of edges


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
