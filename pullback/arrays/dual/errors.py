"""Errors for what forward mode cannot do, by name of operator."""

from __future__ import annotations

from typing import Any

from pullback.core.errors import GradientError, Portable


class MixedCotangentsError(Portable, RuntimeError):
    """One backward came both from a dual tensor itself and from what `unpack_dual` gave of it."""

    def __init__(self) -> None:
        super().__init__(
            "this backward starts both from a dual tensor (forward over reverse, whose gradients are dual) and from a "
            "primal or tangent that unpack_dual took out of one (reverse over forward, whose gradients are plain): "
            "their gradients cannot be added. Call backward() or autograd.grad() for each of them alone, or take "
            "everything apart with unpack_dual first."
        )


def no_forward_derivative(operator: str, argument: str = "") -> NotImplementedError:
    """The error for an operator without tangent rule, or without one for this argument."""
    of = f" with respect to {argument!r}" if argument else ""
    return NotImplementedError(
        f"Trying to use forward AD with {operator} that does not support it: the forward-mode derivative for "
        f"{operator!r}{of} is not implemented. Put the computation into a pullback.autograd.Function with a jvp of its "
        "own, or take the derivative in reverse mode. (An operator of yours has it as the `result:` formula of its "
        "declaration.)"
    )


def data_in_transform(transform: str) -> GradientError:
    """The error for an assignment to `.data` of a tensor of a transform in forward mode."""
    return GradientError(
        f"assigning to .data: mutating directly with `.data` inside func.{transform} is not allowed: its derivative "
        "would be lost. Use y.copy_(value), or y = value; for other values with the derivative of y, y + (value - "
        "y).detach()."
    )


def data_of_other_form(dual: Any, data: Any) -> GradientError:
    """The error for an assignment to `.data` that the tangent does not fit."""
    return GradientError(
        f"assigning to .data: the tensor has a tangent of shape {tuple(dual.shape)} and dtype {dual.dtype}, which does "
        f"not fit shape {tuple(data.shape)} and dtype {data.dtype}. Use forward_ad.unpack_dual(t).primal, or another "
        "tensor."
    )
