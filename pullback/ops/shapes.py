"""Functions of shapes alone: `broadcast_shapes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.named import named


@named("broadcast_shapes")
def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape to which tensors of the given shapes broadcast; an int n counts as (n,).

    Parameters
    ----------
    *shapes : tuple of int, or int

    Returns
    -------
    tuple of int

    Raises
    ------
    RuntimeError
        They do not broadcast.

    Examples
    --------
    >>> pb.broadcast_shapes((5, 1), 3)
    (5, 3)
    """
    given = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    if any(n < 0 for shape in given for n in shape):
        raise RuntimeError(f"broadcast_shapes(): sizes must not be negative, got {given}.")
    try:
        return np.broadcast_shapes(*given)
    except ValueError as error:
        raise RuntimeError(f"broadcast_shapes(): the shapes {given} do not broadcast.") from error


def greedy_contractions(equation: str, shapes: Any) -> Any:
    """Which operands of an einsum to contract, step by step, as NumPy's greedy search says."""
    return np.einsum_path(equation, *(np.broadcast_to(0.0, shape) for shape in shapes), optimize="greedy")[0][1:]
