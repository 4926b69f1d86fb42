"""Helpers of the derivative formulas of logit, sinc and other elementary functions."""

import math

__all__ = ["logit_slope"]


def logit_slope(x, eps, *, ops):
    """1 / (x (1 - x)); outside of [eps, 1 - eps] logit is constant, outside of [0, 1], without eps, undefined."""
    if eps is None or eps < 0:
        outside = ops.logical_or(ops.lt(x, 0), ops.gt(x, 1))
        return 1 / ops.times_complement(x + ops.where(outside, math.nan, 0.0))  # nan in every later derivative too
    outside = ops.logical_or(ops.lt(x, eps), ops.gt(x, 1 - eps))
    x = ops.where(outside, 0.5, x)  # chosen before dividing, so that no infinity enters a later derivative
    return ops.where(outside, 0.0, 1 / ops.times_complement(x))
