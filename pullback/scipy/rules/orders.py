"""The order in which SciPy gives eigenvalues."""

from __future__ import annotations

import numpy as np

from pullback.core.numpy_types import AnyArray


def order_like(ours: AnyArray, theirs: AnyArray) -> AnyArray:
    """Which of our values stands where in SciPy's order."""
    left, order = list(range(len(ours))), []
    for value in theirs:
        nearest = min(left, key=lambda i: abs(ours[i] - value))
        left.remove(nearest)
        order.append(nearest)
    return np.array(order, int)
