"""Running hooks inside the engine: raw gradients become Tensors for the user's eyes and raw again afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.autograd.run import Box, Run
from pullback.core.errors import GradientError
from pullback.core.hook_dict import HookDict
from pullback.core.node import Edge, InputMetadata, Node
from pullback.core.tensor import Tensor, extra_of, ndarray, wrap
from pullback.core.types import DType, Gradient, Shape


def to_tensor(run: Run, raw: Gradient) -> Any:
    """A gradient in flow as a Tensor of the level of this run; None stays None.

    A broadcast one is made whole: a user may want to write into it.
    """
    if raw is None or run.create_graph:
        return raw
    if type(raw) is not ndarray:
        raw = np.asarray(raw) if isinstance(raw, np.generic) else raw
    elif not raw.flags.writeable:
        raw = raw.copy()
    return wrap(raw, run.level)


def from_tensor(run: Run, value: Any, where: str, shape: Shape | None, dtype: DType | None) -> Gradient:
    """A gradient that a hook or custom Function gave, checked, in the form that flows."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise TypeError(f"{where} returned a {type(value).__name__} as gradient; expected a Tensor or None.")
    if shape is not None and value.shape != shape:
        raise GradientError(f"{where} returned a gradient of shape {value.shape}; expected {shape}.")
    if dtype is not None and value.dtype != dtype:
        raise GradientError(f"{where} returned a gradient of dtype {value.dtype}; expected {dtype}.")
    return value if run.create_graph else raw_of(value, run.level)


def raw_of(value: Tensor, level: int) -> Gradient:
    """A Tensor that a user gave as a gradient at `level`, as what flows there: the array inside."""
    if value._level == level or (value._level < level and not value._requires_grad):
        return value._array
    return value


def pass_through(run: Run, hooks: HookDict, grad: Gradient, edge: Edge | _Fields) -> Gradient:
    """`grad` after the hooks of one tensor, in order; each may replace it."""
    if grad is None:
        return None
    for hook in list(hooks.values()):
        result = run.call(hook, to_tensor(run, grad))
        if result is not None:
            grad = from_tensor(run, result, f"hook {_name(hook)!r}", edge._shape, edge._dtype)
    return grad


def of_tensors(run: Run, node: Node, box: Box) -> None:
    """Run the hooks of the node's output tensors on the gradient in `box`, then keep those that are retained."""
    extra: Any = node._extra
    if not extra.tensor_hooks and not extra.retained:
        return
    grads = _as_list(node, box)
    metadata = node.input_metadata
    for nr, hooks in extra.tensor_hooks.items():
        grads[nr] = pass_through(run, hooks, grads[nr], _Fields(metadata[nr]))
    for nr, reference in extra.retained.items():
        tensor = reference()
        if tensor is not None and grads[nr] is not None:
            held = extra_of(tensor).grad
            new = to_tensor(run, grads[nr]).clone() if run.create_graph else to_tensor(run, _copied(grads[nr]))
            extra_of(tensor).grad = new if held is None else held + new
    box[0] = grads if node.outputs != 1 else grads[0]


def before(run: Run, node: Node, box: Box) -> None:
    """Run the node's pre-hooks, which see and may replace the gradient in `box`."""
    grads = _as_list(node, box)
    metadata = node.input_metadata
    for hook in list(node._extra.pre_hooks.values()):  # type: ignore[union-attr]  # asked before the call
        result = run.call(hook, tuple(to_tensor(run, g) for g in grads))
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            _check_count(node, "pre-hook", hook, result, grads)
            grads = [
                from_tensor(run, r, f"pre-hook {_name(hook)!r} of {node.name()}", m.shape, m.dtype)
                for r, m in zip(result, metadata, strict=True)
            ]
    box[0] = grads if node.outputs != 1 else grads[0]


def _as_list(node: Node, box: Box) -> list[Gradient]:
    if node.outputs == 1:
        return [box[0]]
    return [None] * node.outputs if box[0] is None else list(box[0])


def _copied(raw: Gradient) -> Gradient:
    return raw.clone() if isinstance(raw, Tensor) else np.array(raw)


def after(run: Run, node: Node, grads: Sequence[Gradient], grad: Gradient) -> Sequence[Gradient]:
    """The node's hooks, which see and may replace the gradients of its inputs."""
    outputs = tuple(to_tensor(run, g) for g in (grad if node.outputs != 1 else (grad,)))
    edges = node.edges()
    for hook in list(node._extra.post_hooks.values()):  # type: ignore[union-attr]
        inputs = tuple(to_tensor(run, g) for g in grads)
        result = run.call(hook, inputs, outputs)
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            _check_count(node, "hook", hook, result, grads)
            where = f"hook {_name(hook)!r} of {node.name()}"
            grads = [
                None if edge is None else from_tensor(run, r, where, *_expected(g, edge))
                for r, g, edge in zip(result, grads, edges, strict=True)
            ]
    return grads


def _expected(g: Gradient, edge: Edge) -> tuple[Shape | None, DType | None]:
    """Shape and dtype of what may replace the gradient `g` towards `edge`: as broadcast, if it was, or as it ends."""
    return (edge._shape, edge._dtype) if g is None else (g.shape, g.dtype)


class _Fields:
    """Input metadata under the names that an edge has."""

    def __init__(self, metadata: InputMetadata) -> None:
        self._shape, self._dtype = metadata.shape, metadata.dtype


def _check_count(node: Node, kind: str, hook: object, result: Sequence[Any], grads: Sequence[Any]) -> None:
    if len(result) != len(grads):
        raise GradientError(
            f"{kind} {_name(hook)!r} of {node.name()} returned {len(result)} gradients; expected {len(grads)}."
        )


def _name(hook: object) -> str:
    return getattr(hook, "__name__", repr(hook))
