"""grad(is_grads_batched=True): a batch of cotangents, in one backward where that can be, or one for each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from pullback.core import modes, slots
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError, ReadError, UnsupportedError, type_name
from pullback.core.factory import asarray
from pullback.core.tensor import Tensor, ndarray, set_requires_grad

Row: TypeAlias = tuple[Any, ...]  # a gradient for each input: Tensor or None


def in_one_pass(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    gradients: Callable[[list[Tensor], bool], Row],
    batches: Sequence[Tensor],
    keep: bool,
    create_graph: bool,
) -> Row | None:
    """The gradients for every row of the batches, by one backward; None where each row needs its own."""
    graph = slots.batched_graph(outputs, inputs)
    if not graph.takes_batches():
        return None
    try:
        # The graph stays as it is, for the rows where an operator has no rule for batches.
        found: Row = slots.batched_backward(graph, lambda row: gradients(row, True), batches, create_graph)
    except (UnsupportedError, ReadError):
        return None
    if not keep:
        graph.release()
    return found


def each(
    gradients: Callable[[list[Tensor], bool], Row], batches: Sequence[Tensor], create_graph: bool, level: int
) -> Row:
    """The gradients for every row of the batches, stacked.

    `gradients` takes a list of cotangents and whether more are to come.
    """
    size = batches[0].shape[0]
    before = modes.set_modes(modes.current().with_recording(create_graph, level))
    try:
        found = [gradients([batch[i] for batch in batches], i < size - 1) for i in range(size)]
        return tuple(_stacked(rows) for rows in zip(*found, strict=True))
    finally:
        modes.restore(before)


def _stacked(rows: Sequence[Tensor | None]) -> Tensor | None:
    """The gradients of one input under each other, zeros where a row has none; None if no row has one."""
    there = next((g for g in rows if g is not None), None)
    if there is None:
        return None
    return TENSOR.stack([TENSOR.zeros_like(there) if g is None else g for g in rows])  # type: ignore[no-any-return]


def zeros(rows: int, tensor: Tensor, create_graph: bool) -> Tensor:
    """Return what stands for the gradients of an input on which the outputs do not depend."""
    zero = TENSOR.zeros_like(tensor)
    return set_requires_grad(TENSOR.stack([zero] * rows).detach(), create_graph)


def checked(outputs: Sequence[Any], grad_outputs: Any) -> list[Tensor]:
    """The batches of cotangents, one for each output, of one size."""
    if grad_outputs is None:
        grad_outputs = (None,) * len(outputs)
    given = grad_outputs if isinstance(grad_outputs, (list, tuple)) else (grad_outputs,)
    if len(given) != len(outputs):
        raise GradientError(
            f"got {len(outputs)} outputs and {len(given)} batches of cotangents in grad_outputs: with "
            "is_grads_batched=True every output needs one."
        )
    batches = [_batch(output, g, i) for i, (output, g) in enumerate(zip(outputs, given, strict=True))]
    sizes = [batch.shape[0] for batch in batches]
    if len(set(sizes)) != 1:
        raise ValueError(
            f"with is_grads_batched=True all grad_outputs must have the same first dimension, got {sizes}: one row of "
            "each goes into one backward."
        )
    if sizes[0] == 0:
        raise GradientError("with is_grads_batched=True the batch in grad_outputs must not be empty: it has 0 rows.")
    return batches


def _batch(output: Any, given: Any, i: int) -> Tensor:
    if given is None:
        raise GradientError(
            f"with is_grads_batched=True every output needs a batch of cotangents, but grad_outputs[{i}] is None. For "
            f"an output of one element pass ones of shape (rows, *outputs[{i}].shape)."
        )
    if not isinstance(given, (Tensor, ndarray, np.generic, int, float, complex)):
        raise TypeError(f"grad_outputs[{i}] must be a Tensor or an ndarray, got {type_name(given)}.")
    batch = asarray(given)
    if batch.ndim == 0 or batch.shape[1:] != tuple(output.shape):
        raise GradientError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension: "
            f"with is_grads_batched=True the first dimension of grad_outputs[{i}] counts the rows and the others are "
            f"those of the output: expected shape (rows{''.join(f', {n}' for n in output.shape)}"
            f"{'' if output.shape else ','}), because outputs[{i}] has shape {tuple(output.shape)}, got {batch.shape}."
        )
    return batch


__all__ = ["checked", "each", "in_one_pass", "zeros"]
