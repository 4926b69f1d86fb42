"""scipy.ndimage's measurement whose slope SciPy's own code does not give everywhere."""

from __future__ import annotations

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import RULES, scipy_rule


@scipy_rule("scipy.ndimage.standard_deviation")
def standard_deviation(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> AnyArray:
    """The root of the variance; where all elements are equal, its slope is 0 by convention, as that of np.std."""
    variance = RULES["scipy.ndimage.variance"](input, labels, index)
    spread = variance != 0
    return np.where(spread, np.sqrt(np.where(spread, variance, 1.0)), 0.0)
