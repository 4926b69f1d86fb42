"""Checks whether the backward of a custom Function is the derivative of the operations in its forward.

Inside several transforms forward mode follows the operations of a `forward(ctx, ...)` that has no jvp beside it. That
is wrong where the backward is meant to be something else, such as a straight-through estimator: it is found by one
equation, <g, J t> = <backward(g), t>, with the tangents t of the arguments, those of the outputs, J t, and a random
cotangent g.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.autograd.engine.execution import execute
from pullback.core import modes
from pullback.core.array_type import array_type, is_array, numbers_of
from pullback.core.tensor import Tensor, inside_tensors, new_extra, wrap
from pullback.graph.node import edge_to

_ROUGHLY = 1e-3


def check_agreement(function: Any, args: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Raise if the backward of this Function disagrees with the tangents of the outputs; `outputs` are forward's."""
    state = modes.current()
    level = state.deeper().level
    given, tangents = list(args), [_tangent(x) for x in args]
    for i, x in enumerate(args):
        if isinstance(x, Tensor) and (values := numbers_of(x)) is not None:
            given[i] = leaf = wrap(values.copy(), level)
            leaf._requires_grad, leaf._extra = values.dtype.kind in "fc", new_extra()
    moved = [_tangent(y) for y in outputs]
    rng, pushed = np.random.default_rng(0), []
    roots: list[Any] = []
    try:
        modes.set_modes(state.deeper().with_recording(True))
        found = function.apply(*given)
        for y, t in zip(found if isinstance(found, tuple) else (found,), moved, strict=True):
            if isinstance(y, Tensor) and y._requires_grad:
                cotangent: Any = np.asarray(rng.standard_normal(y.shape), y.dtype)
                roots.append((edge_to(y), cotangent))
                pushed.append(0 if t is None else np.vdot(cotangent, t))
        if roots:
            execute(roots, level=level)
    finally:
        modes.restore(state)
    pulled = [
        np.vdot(numbers_of(leaf._extra.grad), t)
        for leaf, t in zip(given, tangents, strict=True)
        if t is not None and isinstance(leaf, Tensor) and leaf._extra is not None and leaf._extra.grad is not None
    ]
    apart = abs(np.real(sum(pushed)) - np.real(sum(pulled)))
    if apart > _ROUGHLY * sum(map(abs, (*pushed, *pulled))):
        raise NotImplementedError(
            f"You must implement the jvp function for custom autograd.Function {function.__name__} to use it with "
            "forward mode AD here: its backward is not the derivative of the operations in its forward, which forward "
            f"mode would follow. Give {function.__name__} a static method jvp(ctx, *tangents), or wrap its forward and "
            "its rule by pullback.custom_vjp."
        )


def _tangent(x: Any) -> Any:
    """The numbers of the tangent inside of a Tensor; None where there is none."""
    x = inside_tensors(x)
    if not is_array(x) or not array_type(x).dual or x.tangent is None:
        return None
    return numbers_of(x.tangent)
