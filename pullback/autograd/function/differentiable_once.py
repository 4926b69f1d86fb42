"""once_differentiable: marks the backward of a custom Function as one that cannot be differentiated itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.autograd.basic_nodes import failing
from pullback.core import modes
from pullback.core.array_type import array_type
from pullback.core.errors import GradientError, type_name
from pullback.core.tensor import Tensor, detached_here
from pullback.graph.node import edge_to

__all__ = ["has_tangent", "once_differentiable"]


def has_tangent(x: Any) -> bool:
    """True if `x` is a Tensor around an array with a derivative of its own, a dual one."""
    return isinstance(x, Tensor) and array_type(x._array).dual


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a `backward` that is not itself differentiable, because it leaves Tensors for NumPy, say.

    It runs without recording. Where a second derivative would go through it, an error is raised instead.

    Parameters
    ----------
    backward : callable

    Returns
    -------
    callable

    Raises
    ------
    TypeError
        `backward` cannot be called.
    RuntimeError
        Of the second derivative: it would go through this backward.

    Examples
    --------
    >>> class Sine(pb.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.cosine = np.cos(x.detach().numpy())
    ...         return pb.tensor(np.sin(x.detach().numpy()))
    ...     @staticmethod
    ...     @pb.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return pb.tensor(grad.numpy() * ctx.cosine)
    >>> x = pb.tensor(0.0, requires_grad=True)
    >>> Sine.apply(x).backward()
    >>> x.grad
    tensor(1.)
    """
    if not callable(backward):
        raise TypeError(f"once_differentiable: it decorates a backward, got {type_name(backward)}.")

    @functools.wraps(backward)
    def once(ctx: Any, *grads: Tensor | None) -> Any:
        state = modes.current()
        if any(has_tangent(g) for g in grads):
            raise GradientError(
                f"trying to differentiate twice through {ctx.name()}, whose backward is marked with "
                "@once_differentiable, by forward mode. Write its backward with Tensor operations alone and remove the "
                "mark, or take the derivative without forward mode."
            )
        try:
            modes.set_modes(state.with_recording(False, ctx._level))
            results = backward(ctx, *(detached_here(g) if isinstance(g, Tensor) else g for g in grads))
        finally:
            modes.restore(state)
        if not state.records(ctx._level):
            return results
        message = (
            f"trying to differentiate twice through {ctx.name()}, whose backward is marked with @once_differentiable"
        )
        # The graph shows the arguments, as PyTorch's does. A second derivative might come from the gradients as well.
        return tuple(
            failing(r, message, ctx.edges(), map(edge_to, (r, *grads))) if isinstance(r, Tensor) else r
            for r in (results if isinstance(results, tuple) else (results,))
        )

    once.once = True  # type: ignore[attr-defined]  # its results are marked: see function_intermediates
    return once
