"""Casts that composites make of their arguments."""

import numpy as np


def floating(x, ops):
    """Whole numbers as floating-point ones."""
    return x if x.dtype.kind in "fc" else ops.to(x, np.dtype(float))
