"""Checks of the arguments of losses."""

from __future__ import annotations

import warnings
from typing import Any

from pullback.core.cuts import frames_to_user


def warn_of_sizes(input: Any, target: Any) -> None:
    """Warn of a target that is broadcast against the input, or the other way round: hardly ever is that meant."""
    if hasattr(input, "shape") and hasattr(target, "shape") and tuple(input.shape) != tuple(target.shape):
        warnings.warn(
            f"Using a target size ({tuple(target.shape)}) that is different to the input size ({tuple(input.shape)}). "
            "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size: "
            "target.reshape(input.shape), or target.expand_as(input) if broadcasting is meant.",
            stacklevel=frames_to_user(),
        )


def check_reduction(name: str, reduction: str) -> None:
    """Refuse an unknown reduction."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{name}(): reduction must be 'none', 'mean' or 'sum'; {reduction!r} is not a valid value.")
