"""Powers of a base that is 0."""

from __future__ import annotations

import numpy as np

from pullback.core.numpy_types import AnyArray, Numeric
from pullback.interop.operands import frozen, is_hidden


def power_at_zero(base: AnyArray | float, exponent: AnyArray | float) -> tuple[AnyArray | bool, AnyArray | float]:
    """Return where the base is 0, and its power there; 1 elsewhere, and where the power is infinite.

    A density that is computed by exp(exponent log(base)) has the slope 0 * inf there. A power has its own.
    """
    if not is_hidden(base) and np.all(frozen(base, "all")):
        return False, 1.0  # which costs less
    zero = np.equal(base, 0) & np.greater_equal(exponent, 0)
    return zero, np.where(zero, np.where(zero, base, 1.0) ** np.where(zero, exponent, 1.0), 1.0)


def where_not(zero: Numeric, x: AnyArray | float, instead: float) -> AnyArray:
    """`x` without the elements where the base is 0."""
    return x if zero is False else np.where(zero, instead, x)
