"""What the derivative formulas of logit and its like call."""

import math

__all__ = ["logit_slope"]


def logit_slope(x, eps, *, ops):
    """1 / (x (1 - x)); outside of [eps, 1 - eps] logit is constant, outside of [0, 1], without eps, undefined."""
    clamped = eps is not None and eps >= 0
    low, high = (eps, 1 - eps) if clamped else (0, 1)
    inside = ops.logical_and(ops.ge(x, low), ops.le(x, high))
    x = ops.where(inside, x, 0.5)  # chosen before dividing, so that no infinity enters a later derivative
    return ops.where(inside, 1 / ops.times_complement(x), 0.0 if clamped else math.nan)
