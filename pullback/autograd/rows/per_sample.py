"""backward(per_sample=True): the gradient of each sample's loss, in one backward where samples are taken apart.

The cotangents of all samples' losses are unit vectors, and stay as sparse: see `arrays.diagonal`. What cannot be done
so goes row by row through the graph. Loaded when it is first asked for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pullback.arrays.batched import Batch, BatchedArray
from pullback.arrays.diagonal import DiagonalArray, SamplesMixed
from pullback.autograd.api import gradients_of_rows
from pullback.autograd.engine import dependencies, execution
from pullback.autograd.engine.accumulate import owned
from pullback.autograd.engine.roots import Cotangents, Tensors, roots_of, tensors_of
from pullback.autograd.engine.run import Output
from pullback.autograd.gradient_edge import GradientEdge, stand_in
from pullback.autograd.rows.batched_pass import Graph, opened
from pullback.core.array_face import wrap_as
from pullback.core.array_type import NDARRAY, TENSOR, array_type
from pullback.core.cuts import frames_to_user
from pullback.core.errors import GradientError, ReadError, UnsupportedError
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import Gradient
from pullback.graph.node import AccumulateGrad, Node, edge_to

ELEMENTS = 1 << 24  # so many numbers at most are in one cotangent of several rows
_REMEDY = (
    "Give the losses of the samples, one each (reduction='none' and no sum over the batch): "
    "losses.backward(per_sample=True)."
)


def backward(
    tensors: tuple[Tensor, ...],
    grad_tensors: Cotangents,
    retain_graph: bool,
    create_graph: bool,
    inputs: Tensors | Mapping[Any, Tensor | GradientEdge] | None,
) -> None:
    """Leave the gradients of each sample in `.grad_sample`; see `pullback.autograd.backward`."""
    if create_graph:
        raise GradientError(
            "backward(per_sample=True) does not record itself (create_graph=True). For derivatives of the gradients of "
            "samples write func.vmap(func.grad(loss), in_dims=...), which nests."
        )
    losses, cotangents = _losses(tensors, grad_tensors)
    samples = losses[0].shape[0]
    leaves = _leaves(losses) if inputs is None else _chosen(inputs)
    for leaf in leaves:
        if leaf.grad_sample is not None:
            raise GradientError(
                f"backward(per_sample=True): a leaf of shape {tuple(leaf.shape)} has a .grad_sample already, perhaps "
                "of other samples, to which nothing is added. Read it and set it to None before; the losses of one "
                "batch go in together, autograd.backward([losses, others], per_sample=True)."
            )
    graph = Graph(losses, leaves)
    found = _in_one(graph, cotangents, samples) if samples > 1 else None
    if found is None:
        found = _by_rows(graph, cotangents, samples)
    if not retain_graph:
        graph.release()
    for leaf, gradients in zip(leaves, found, strict=True):
        if gradients is not None:
            leaf.grad_sample = gradients


# -- what is differentiated --------------------------------------------------------------------------------------------
def _losses(tensors: tuple[Tensor, ...], given: Cotangents) -> tuple[list[Tensor], list[ndarray]]:
    """The tensors that have samples along their first dimension, and their cotangents."""
    given = (given,) * len(tensors) if given is None or isinstance(given, Tensor) else given
    given = given if isinstance(given, (list, tuple)) else (given,)
    if len(given) != len(tensors):
        raise GradientError(f"got {len(tensors)} tensors and {len(given)} gradients in grad_tensors.")
    losses: list[Tensor] = []
    cotangents: list[ndarray] = []
    for tensor, cotangent in zip(tensors, given, strict=True):
        if tensor._level or array_type(tensor._array) is not NDARRAY:
            raise GradientError(
                "backward(per_sample=True) inside of a transform, or of tensors around other arrays than ndarrays, is "
                "not possible. Write func.vmap(func.grad(loss), in_dims=...)."
            )
        loss = tensor if tensor.ndim else _terms(tensor)
        if cotangent is None and (tensor.ndim == 0 or tensor.numel() == tensor.shape[0]):
            cotangent = np.ones(tensor.shape, tensor.dtype) if tensor.dtype.kind == "f" else None
        ((_, root),), _ = roots_of((tensor,), (cotangent,), "grad_tensors", create_graph=False)
        losses.append(loss)
        cotangents.append(np.broadcast_to(np.asarray(root), loss.shape))
    sizes = [loss.shape[0] for loss in losses]
    if len(set(sizes)) != 1 or not sizes[0]:
        raise GradientError(
            f"backward(per_sample=True): losses of {sizes} samples; there must be some, and as many in each."
        )
    return losses, cotangents


def _terms(loss: Tensor) -> Tensor:
    """Return what stands for the terms of which a loss without dimensions is the sum."""
    edge = edge_to(loss)
    name = "a leaf" if edge is None else edge.node().name()
    if name == "MeanBackward0":
        raise GradientError(
            "backward(per_sample=True): the loss is a mean. The gradient of a sample's loss, or of its share in the "
            "mean? Say which: losses.backward(per_sample=True) before the mean, or (losses / n).sum() in its place."
        )
    terms = edge.node()._next0 if edge is not None and name == "SumBackward0" else None
    if terms is None or not terms._shape:
        raise GradientError(
            f"backward(per_sample=True): a loss without dimensions must be the sum of the losses of samples, "
            f"losses.sum(); this one comes from {name}. {_REMEDY}"
        )
    return stand_in(GradientEdge(terms.node(), terms.output_nr))


def _leaves(losses: Sequence[Tensor]) -> list[Tensor]:
    """Every leaf to which the graph leads."""
    nodes: dict[Node, int] = {}
    dependencies.count([edge for edge in map(edge_to, losses) if edge is not None], nodes)
    return [node.variable for node in nodes if type(node) is AccumulateGrad and node.variable._requires_grad]


def _chosen(inputs: Any) -> list[Tensor]:
    found = tensors_of(tuple(inputs.values()) if isinstance(inputs, Mapping) else inputs, "inputs")
    for i, x in enumerate(found):
        if not x.is_leaf or not x._requires_grad:
            raise GradientError(
                f"backward(per_sample=True): inputs[{i}] is not a leaf that requires grad, and has no .grad_sample. "
                "For a computed tensor take autograd.grad(losses, x, np.eye(n), is_grads_batched=True)."
            )
    return list(found)


# -- all samples at once -----------------------------------------------------------------------------------------------
def _in_one(graph: Graph, cotangents: Sequence[ndarray], samples: int) -> list[Tensor | None] | None:
    """The gradients by one backward; None where one gradient after the other is needed."""
    if not graph.takes_batches():
        return None
    captures: dict[Output, int] = {}
    for i, leaf in enumerate(graph.inputs):
        captures[edge_to(leaf).node(), 0] = i  # type: ignore[union-attr]  # a leaf that requires grad has one
    try:
        with opened(samples, "backward(per_sample=True)") as (batch, _):
            roots = [
                (edge_to(loss), DiagonalArray(cotangent, batch, 0))
                for loss, cotangent in zip(graph.outputs, cotangents, strict=True)
            ]
            # The graph stays as it is, for the rows if samples turn out to be mixed.
            captured = execution.execute(roots, keep_graph=True, captures=captures)  # type: ignore[arg-type]
    except SamplesMixed as mixed:
        warnings.warn(
            f"backward(per_sample=True): {mixed.shown} may mix the samples of a batch, so the gradient of each goes "
            "through the graph alone, which takes as long as a backward for each sample. func.vmap(func.grad(loss)), "
            "where the loss of one sample can be written, is fast.",
            stacklevel=frames_to_user(),
        )
        return None
    except (UnsupportedError, ReadError):
        return None
    found: list[Tensor | None] = []
    for i, leaf in enumerate(graph.inputs):
        box = [_values(captured.pop(i, None), batch)]
        found.append(None if box[0] is None else wrap_as(leaf, owned(box), 0))
    return found


def _values(gradient: Gradient, batch: Batch) -> Any:
    """The gradients of all samples as one array."""
    if gradient is None:
        return None
    if type(gradient) is DiagonalArray:
        gradient = gradient.whole()
    if type(gradient) is BatchedArray:
        return gradient.values
    return np.repeat(np.asarray(gradient)[None], batch.size, 0)  # zeros, which are the same for all


# -- row by row --------------------------------------------------------------------------------------------------------
def _by_rows(graph: Graph, cotangents: Sequence[ndarray], samples: int) -> list[Tensor | None]:
    """The same as rows of the Jacobian, as many at a time as there is room for."""
    largest = max([math.prod(node._shape or ()) for node in graph.runs])
    step = max(1, min(samples, ELEMENTS // max(largest, 1)))
    parts = []
    for start in range(0, samples, step):
        count = min(step, samples - start)
        own = np.arange(start, start + count)
        rows = [np.zeros((count, *g.shape), g.dtype) for g in cotangents]
        for row, g in zip(rows, cotangents, strict=True):
            row[np.arange(count), own] = g[own]
        given = [wrap_as(loss, row, 0) for loss, row in zip(graph.outputs, rows, strict=True)]
        outputs, inputs = tuple(graph.outputs), tuple(graph.inputs)
        parts.append(gradients_of_rows(outputs, inputs, given, True, False, True))
    return [_joined(found) for found in zip(*parts, strict=True)]


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    there = [part for part in parts if part is not None]
    if not there:
        return None
    return there[0] if len(there) == 1 else TENSOR.cat(there)  # all, or none
