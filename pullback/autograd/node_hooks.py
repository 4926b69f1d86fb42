"""Running hooks inside the engine: raw gradients become Tensors for the user's eyes and raw again afterwards."""

import numpy as np

from pullback.core.errors import GradientError
from pullback.core.tensor import Tensor, extra_of, wrap


def to_tensor(run, raw):
    """A gradient in flow as a Tensor of the level of this run; None stays None."""
    if raw is None or run.create_graph:
        return raw
    return wrap(np.asarray(raw) if isinstance(raw, np.generic) else raw, run.level)


def from_tensor(run, value, where, shape, dtype):
    """A gradient that a hook or custom Function gave, checked, in the form that flows."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise TypeError(f"{where} returned a {type(value).__name__} as gradient; expected a Tensor or None.")
    if shape is not None and value.shape != shape:
        raise GradientError(f"{where} returned a gradient of shape {value.shape}; expected {shape}.")
    if dtype is not None and value.dtype != dtype:
        raise GradientError(f"{where} returned a gradient of dtype {value.dtype}; expected {dtype}.")
    if run.create_graph:
        return value
    return value._data if value._level == run.level else value


def pass_through(run, hooks, grad, edge):
    """`grad` after the hooks of one tensor, in order; each may replace it."""
    if grad is None:
        return None
    for hook in list(hooks.values()):
        result = hook(to_tensor(run, grad))
        if result is not None:
            grad = from_tensor(run, result, f"hook {_name(hook)!r}", edge._shape, edge._dtype)
    return grad


def before(run, node, grad):
    """Hooks of the node's output tensors, retained gradients, then the node's pre-hooks."""
    extra = node._extra
    several = node.outputs != 1
    grads = list(grad) if several and grad is not None else [grad] * (1 if not several else node.outputs)
    metadata = node.input_metadata
    for nr, hooks in extra.tensor_hooks.items():
        grads[nr] = pass_through(run, hooks, grads[nr], _Fields(metadata[nr]))
    for nr, reference in extra.retained.items():
        tensor = reference()
        if tensor is not None and grads[nr] is not None:
            held = extra_of(tensor).grad
            new = to_tensor(run, grads[nr] if run.create_graph else np.array(grads[nr]))
            extra_of(tensor).grad = new if held is None else held + new
    for hook in list((extra.pre_hooks or {}).values()):
        result = hook(tuple(to_tensor(run, g) for g in grads))
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            _check_count(node, "pre-hook", hook, result, grads)
            grads = [
                from_tensor(run, r, f"pre-hook {_name(hook)!r} of {node.name()}", m.shape, m.dtype)
                for r, m in zip(result, metadata, strict=True)
            ]
    return grads if several else grads[0]


def after(run, node, grads, grad):
    """The node's hooks, which see and may replace the gradients of its inputs."""
    outputs = tuple(to_tensor(run, g) for g in (grad if node.outputs != 1 else (grad,)))
    for hook in list(node._extra.post_hooks.values()):
        inputs = tuple(to_tensor(run, g) for g in grads)
        result = hook(inputs, outputs)
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            _check_count(node, "hook", hook, result, grads)
            grads = [from_tensor(run, r, f"hook {_name(hook)!r} of {node.name()}", None, None) for r in result]
    return grads


class _Fields:
    """Input metadata under the names that an edge has."""

    def __init__(self, metadata):
        self._shape, self._dtype = metadata.shape, metadata.dtype


def _check_count(node, kind, hook, result, grads):
    if len(result) != len(grads):
        raise GradientError(
            f"{kind} {_name(hook)!r} of {node.name()} returned {len(result)} gradients; expected {len(grads)}."
        )


def _name(hook):
    return getattr(hook, "__name__", repr(hook))
