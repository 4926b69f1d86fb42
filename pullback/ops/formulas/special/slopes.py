"""Helpers of the derivative formulas of the special functions."""

import math

from pullback.ops.constants import one_over_sqrt_2, sqrt_2

__all__ = ["beta_density_slope", "degree", "log1p_argument", "log1p_divisor", "mills_decay"]


def log1p_argument(self, other, *, ops):
    """`other` as the argument of log1p in d xlog1py / d self: 0 where self is 0 and log1p has no value."""
    return ops.where(ops.logical_and(ops.eq(self, 0), ops.le(other, -1)), 0.0, other)


def log1p_divisor(self, other, *, ops):
    """1 + other as the divisor in d xlog1py / d other: 1 where self and it are 0."""
    return ops.where(ops.logical_and(ops.eq(self, 0), ops.eq(other, -1)), 1.0, other + 1)


def mills_decay(x, mills, *, ops):
    """x + mills, the rate at which the inverse Mills ratio falls; by integrals of erfc where that cancels."""
    positive = ops.gt(x, 0)
    z = ops.where(positive, 0.0, x) * -one_over_sqrt_2
    below = sqrt_2 * ops.scaled_repeated_erfc(z, 1) / ops.special_erfcx(z)
    return ops.where(positive, ops.where(ops.isinf(x), 0, x) + mills, below)


def degree(n, less=0.0, *, ops):
    """The degree that a polynomial makes of n, minus `less`; in floating point, lest an unsigned 0 - 1 wrap around."""
    if issubclass(type(n), (int, float)):
        return (math.trunc(n) if math.isfinite(n) else n) - less
    return ops.trunc(n) - less


def beta_density_slope(alpha, beta, x, *, ops):
    """The derivative of the density of the beta distribution in x."""
    # (a - 1) / x = (a - 1) (1 - x) / x + (a - 1), where (a - 1) / B(a, b) = b / B(a - 1, b + 1); likewise for b. The
    # shorter (a + b - 1) / B(a - 1, b) would be 0 times infinity where a + b = 1.
    rising = beta * ops.beta_density(alpha - 1, beta + 1, x)
    falling = alpha * ops.beta_density(alpha + 1, beta - 1, x)
    return rising - falling + (alpha - beta) * ops.beta_density(alpha, beta, x)
