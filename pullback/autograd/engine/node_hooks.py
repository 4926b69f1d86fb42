"""Running hooks inside the engine: raw gradients become Tensors for the user's eyes and raw again afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.autograd.engine.accumulate import keep_grad
from pullback.autograd.engine.run import Box, Run
from pullback.autograd.engine.structural_zeros import masked_again, unmasked
from pullback.autograd.engine.validate import validate_grad
from pullback.core.array_type import array_type, leaving_gradient
from pullback.core.errors import GradientError, with_article
from pullback.core.hook_dict import HookDict
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import Gradient
from pullback.graph.node import LEAF, AccumulateGrad, Node, NodeExtra


def to_tensor(run: Run, raw: Gradient) -> Any:
    """A gradient in flow as a Tensor of the level of this run; None stays None.

    A broadcast one is made whole: a user may want to write into it.
    """
    if raw is None or run.create_graph:
        return raw
    if type(raw) is not ndarray:
        raw = np.asarray(raw) if issubclass(type(raw), np.generic) else raw
    elif not raw.flags.writeable:
        raw = raw.copy()
    return wrap(raw, run.level)


def replacement(run: Run, value: Any, before: Gradient, where: str) -> Gradient:
    """A gradient that a hook gave in place of `before`, checked, in the form that flows."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned {type(value).__name__!r}: {where} returned {with_article(value)} as "
            "gradient; expected a Tensor or None."
        )
    if before is None:
        raise GradientError(
            f"{where} can't replace a None gradient with a non-None value: no gradient came here in this backward, so "
            "there is nothing to change. Return None where the gradient is None."
        )
    for what, found, expected in (("shape", value.shape, before.shape), ("dtype", value.dtype, before.dtype)):
        if found != expected:
            raise GradientError(
                f"{where} has changed the {'size' if what == 'shape' else 'type'} of value: it returned a gradient of "
                f"{what} {found}; expected {expected}. Return one that looks like the "
                "gradient it was given, or None to leave that as it is."
            )
    return value if run.create_graph else raw_of(value, run.level)


def raw_of(value: Tensor, level: int) -> Gradient:
    """A Tensor that a user gave as a gradient at `level`, as what flows there: the array inside."""
    if value._level == level or (value._level < level and not value._requires_grad):
        return value._array
    return value


class RunHook(ABC):
    """A hook on a tensor that must know which backward it is in; it replaces nothing."""

    @abstractmethod
    def __call__(self, run: Run, grad: Tensor | None) -> None:
        """Take note of the gradient of this tensor in `run`."""


def pass_through(run: Run, hooks: HookDict, grad: Gradient, node: Node, nr: int = 0) -> Gradient:
    """`grad` (None too) after the hooks of a tensor, output `nr` of `node`, in order; each may replace it."""
    for hook in list(hooks.values()):
        seen = to_tensor(run, grad)
        result = run.call(hook, run, seen) if isinstance(hook, RunHook) else run.call(hook, seen)
        if result is not None:
            place = f"output {nr} of {node.name()}" if type(node) is not AccumulateGrad else "a leaf"
            grad = replacement(run, result, grad, f"hook {_name(hook)!r} on {place}")
    return grad


def of_tensors(run: Run, node: Node, box: Box) -> None:
    """Run the hooks of the node's output tensors on the gradient in `box`, then keep those that are retained."""
    extra = node._extra or LEAF  # which has nothing
    kept = _kept(run, node, extra)
    if not extra.tensor_hooks and not kept:
        return
    grads = _as_list(node, box)
    for nr, hooks in list(extra.tensor_hooks.items()):
        grads[nr] = pass_through(run, hooks, grads[nr], node, nr)
    for nr, tensor in kept:
        if grads[nr] is not None:
            new = to_tensor(run, grads[nr]).clone() if run.create_graph else to_tensor(run, _copied(grads[nr]))
            keep_grad(run, tensor, new)
    box[0] = grads if node.outputs != 1 else grads[0]


def _kept(run: Run, node: Node, extra: NodeExtra) -> list[tuple[int, Tensor]]:
    """The outputs of `node` that keep their gradient, by number: those retained, those that this run is asked for."""
    kept = [(nr, tensor) for nr, reference in extra.retained.items() if (tensor := reference()) is not None]
    if type(run.targets) is dict and node in run.targets:
        kept += run.targets[node].items()
    return kept


def before(run: Run, node: Node, box: Box) -> None:
    """Run the node's pre-hooks, which see and may replace the gradient in `box`."""
    grads = _as_list(node, box)
    for hook in list(node._extra.pre_hooks.values()):  # type: ignore[union-attr]  # asked before the call
        result = run.call(hook, tuple(to_tensor(run, g) for g in grads))
        if result is not None:
            grads = _replaced(run, result, grads, f"pre-hook {_name(hook)!r} of {node.name()}")
    box[0] = grads if node.outputs != 1 else grads[0]


def _as_list(node: Node, box: Box) -> list[Gradient]:
    if node.outputs == 1:
        return [box[0]]
    return [None] * node.outputs if box[0] is None else list(box[0])


def _copied(raw: Gradient) -> Gradient:
    raw = leaving_gradient(raw)
    return array_type(raw).copy(raw)


def after(run: Run, node: Node, grads: Sequence[Gradient], grad: Gradient) -> Sequence[Gradient]:
    """The node's hooks, which see and may replace the gradients of its inputs, each in the shape of its input."""
    outputs = tuple(to_tensor(run, g) for g in _as_list(node, [grad]))
    edges = node.edges()
    grads = [
        g if g is None or edge is None else validate_grad(g, edge, node, run)
        for g, edge in zip(grads, edges, strict=True)
    ]
    grads, kept = unmasked(grads)
    for hook in list(node._extra.post_hooks.values()):  # type: ignore[union-attr]
        result = run.call(hook, tuple(to_tensor(run, g) for g in grads), outputs)
        if result is not None:
            grads = _replaced(run, result, grads, f"hook {_name(hook)!r} of {node.name()}")
    return masked_again(grads, kept)  # type: ignore[no-any-return]


def _replaced(run: Run, result: Any, grads: Sequence[Gradient], where: str) -> list[Gradient]:
    """The gradients that a node's hook gave in place of `grads`."""
    if not isinstance(result, tuple):
        raise TypeError(
            f"expected tuple, but hook returned {type(result).__name__!r}: {where} returned {with_article(result)}; "
            f"expected a tuple with {len(grads)} gradient(s), or None to "
            "leave them as they are."
        )
    if len(result) != len(grads):
        raise GradientError(
            f"{where} has returned an incorrect number of values (got {len(result)}, but expected {len(grads)}): it "
            f"returned {len(result)} gradients; expected {len(grads)}, each a Tensor or None."
        )
    return [replacement(run, new, old, where) for new, old in zip(result, grads, strict=True)]


def _name(hook: object) -> str:
    return getattr(hook, "__name__", repr(hook))
