"""The reentrant checkpoint: forward records nothing; backward runs the function again, and a backward of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from pullback.autograd.api import run_backward
from pullback.autograd.checkpoint.randomness import as_it_was, states_around
from pullback.autograd.engine import user_callbacks
from pullback.autograd.function import Function, once_differentiable
from pullback.core import modes
from pullback.core.errors import GradientError
from pullback.core.tensor import Tensor, detached_here, set_requires_grad
from pullback.graph.captured import Captured


def reentrant(function: Callable[..., Any], preserve_rng_state: bool, args: tuple[Any, ...]) -> Any:
    """A call, whose caller loses no derivative of the tensors that the function leaves behind."""
    captured = _captured(function)
    found = CheckpointFunction.apply(captured, preserve_rng_state, *args)
    known = {id(x) for x in (*captured.held_tensors, *args)}  # into which a function may write statistics
    places = [place for place in captured.left_behind() if isinstance(place[1], Tensor)]
    places = [(name, x, put) for name, x, put in places if known.isdisjoint((id(x), id(x._base)))]
    if places:
        names, tensors, puts = zip(*places, strict=True)
        given = (*tensors, *(x for x in args if isinstance(x, Tensor)))
        marked = _LeftBehind.apply(captured.name(), names, len(places), *given)
        for put, before, x in zip(puts, tensors, marked, strict=True):
            if not before.requires_grad:
                put(x)
    return found


def _captured(function: Callable[..., Any]) -> Captured:
    captured = Captured(f"checkpoint({getattr(function, '__name__', type(function).__name__)})", function)
    captured.keep()
    return captured


class _LeftBehind(Function):
    """Tensors that a function has put somewhere, as what depends on its arguments in an unknown way."""

    follows_intermediates = False

    @staticmethod
    def forward(ctx: Any, name: str, names: tuple[str, ...], count: int, *tensors: Tensor) -> Any:
        """The first tensors, as they are."""
        ctx.call, ctx.places = name, names
        ctx.set_materialize_grads(False)
        return tensors[:count]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Refuse what comes."""
        names = [
            name for name, grad in zip(ctx.places, grads, strict=True) if grad is not None and bool((grad != 0).any())
        ]
        if names:
            raise GradientError(
                f"{ctx.call}: the function has left a tensor behind in {' and '.join(names)}, and the result depends "
                "on it. With use_reentrant=True nothing is recorded while the function runs, so that it has no "
                "derivative. Return it from the function, pass use_reentrant=False, or detach() it."
            )
        return (None,) * len(ctx.needs_input_grad)


class CheckpointFunction(Function):
    """A function of tensors that saves its inputs alone."""

    follows_intermediates = False

    @staticmethod
    def forward(ctx: Any, function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function; Function.apply has switched recording off."""
        if not any(ctx.needs_input_grad):
            warnings.warn(
                "checkpoint(use_reentrant=True): none of the inputs have requires_grad=True, so gradients will be "
                "None. Pass use_reentrant=False, which finds parameters inside the function.",
                stacklevel=4,
            )
        ctx.captured = function if isinstance(function, Captured) else _captured(function)
        (function,) = ctx.captured.functions
        ctx.randomness = states_around(function, args) if preserve_rng_state else []
        ctx.arguments = [None if isinstance(x, Tensor) else x for x in args]
        ctx.places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        found = function(*args)
        ctx.captured.settle()
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run the function again, recording, and pull the gradients back through that."""
        if any(run.targets is not None for run in user_callbacks.here.runs):
            raise GradientError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(): "
                "the backward inside it does not see these. Pass use_reentrant=False to checkpoint(), or call "
                "backward() without inputs."
            )
        args = list(ctx.arguments)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = set_requires_grad(detached_here(tensor), tensor.requires_grad)
        before = modes.set_modes(modes.current().with_recording(True, ctx._level))
        try:
            with as_it_was(ctx.randomness) if ctx.randomness else nullcontext():
                outputs = ctx.captured.renew()[0](*args)
        finally:
            modes.restore(before)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (out, g)
            for out, g in zip(outputs, grads, strict=True)
            if isinstance(out, Tensor) and out.requires_grad and g is not None
        ]
        if not pairs:
            raise GradientError(
                "none of output has requires_grad=True, this checkpoint() is not necessary: "
                "checkpoint(use_reentrant=True) "
                "none of the outputs has requires_grad=True, so this checkpoint is not "
                "necessary; detach outside of it, or pass use_reentrant=False."
            )
        run_backward([out for out, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in args))
