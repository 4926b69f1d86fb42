"""Errors for what forward mode cannot do, by name of operator."""

from __future__ import annotations

from pullback.core.errors import Portable


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
