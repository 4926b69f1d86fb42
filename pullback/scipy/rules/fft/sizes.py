"""Inputs cut or filled with zeros, as transforms of another length take them."""

from __future__ import annotations

import numpy as np

from pullback.core.numpy_types import AnyArray


def resized(x: AnyArray, n: int | None, axis: int) -> AnyArray:
    """`x` with `n` elements along an axis: its first ones, or all and then zeros."""
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if n is None or n == x.shape[axis]:
        return x
    if n < 1:
        raise ValueError(f"invalid number of data points ({n}) specified")
    if n < x.shape[axis]:
        index = [slice(None)] * x.ndim
        index[axis] = slice(n)
        return x[tuple(index)]
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, n - x.shape[axis])
    return np.pad(x, widths)
