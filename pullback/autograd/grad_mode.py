"""The switches of grad mode under PyTorch's module name, `autograd.grad_mode`."""

from __future__ import annotations

from typing import Self

from pullback.core.modes import (
    Modes,
    ModeSwitch,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class set_multithreading_enabled(ModeSwitch):
    """Accepted for PyTorch's sake and without effect: a backward runs in the thread that called it, always.

    Parameters
    ----------
    mode : bool

    Raises
    ------
    TypeError
        `mode` is not a bool.

    Examples
    --------
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> with pb.autograd.set_multithreading_enabled(False):
    ...     (x * x).backward()
    >>> x.grad
    tensor(4.)
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_multithreading_enabled takes a bool, got {type(mode).__name__}.")
        self.mode = mode

    def _changed(self, modes: Modes) -> Modes:
        return modes

    def _fresh(self) -> Self:
        return type(self)(self.mode)


def is_multithreading_enabled() -> bool:
    """False: a backward runs in the thread that called it.

    Returns
    -------
    bool

    Examples
    --------
    >>> pb.autograd.is_multithreading_enabled()
    False
    """
    return False
