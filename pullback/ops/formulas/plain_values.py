"""Values on which formulas branch, as plain arrays, whatever type of array flows."""

import numpy as np

from pullback.core.tensor import Tensor

__all__ = ["plain_of", "sizes_of"]


def plain_of(x):
    """The innermost array of numbers."""
    while isinstance(x, Tensor):
        x = x._array
    return x.values() if hasattr(x, "tangent") else x


def sizes_of(x):
    """Moduli; a tangent beside a number counts, for a cotangent may be all tangent."""
    while isinstance(x, Tensor):
        x = x._array
    if not hasattr(x, "tangent"):
        return np.abs(x)
    return sizes_of(x.primal) if x.tangent is None else sizes_of(x.primal) + sizes_of(x.tangent)
