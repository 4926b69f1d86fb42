"""erf and its kin, and the distribution function of the normal distribution."""

from __future__ import annotations

from typing import Final

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import ERF, ERFCX, EXP, LOG_ERFC, ROOT_HALF
from pullback.compiler.native.functions.exponential import LIMITS, between, exp, exp_of_normal
from pullback.compiler.native.functions.floats import (
    INF,
    copysign,
    fast_two_sum,
    polynomial,
    scaled,
    truncated,
    two_product,
    two_sum,
    without_ln2,
)

_END: Final = 40.0  # erfc is 0 long before


def erf(c: Code, x: Value) -> Value:
    """The error function."""
    size = c.unary("abs", x)
    small = c.fma(x, polynomial(c, x * x, ERF), x)
    within = between(c, size, 1.0, 6.0 if x.type.bits == 64 else 4.0)
    large = 1.0 - exp_of_normal(c, polynomial(c, within - 2.0, LOG_ERFC))
    return c.sel(size < 1.0, small, copysign(c, large, x))


def erfc(c: Code, x: Value) -> Value:
    """1 - erf(x), accurate where that cancels."""
    size = between(c, c.unary("abs", x), 0.0, _END)
    tail = _tail(c, size, *two_product(c, size, size))
    return c.sel(x < 0.0, 2.0 - tail, tail)


def normal_cdf(c: Code, x: Value) -> Value:
    """The distribution function of the standard normal distribution, accurate in the lower tail too."""
    size = between(c, c.unary("abs", x), 0.0, _END * 1.5)
    high, low = two_product(c, size, size)
    first, second = ROOT_HALF[x.type.bits]
    half = truncated(c, size)
    scaled_size, beside = fast_two_sum(half * first, c.fma(size, second, (size - half) * first))
    tail = _tail(c, scaled_size, high * 0.5, low * 0.5, beside) * 0.5
    return c.sel(x > 0.0, 1.0 - tail, tail)


def erfcx(c: Code, x: Value) -> Value:
    """exp(x**2) erfc(x)."""
    size = c.unary("abs", x)
    numerator, numerator_lost, denominator, denominator_lost = _scaled(c, size)
    tail = numerator * 0.5 / denominator
    tail = c.fma(tail, numerator_lost * 0.9 - denominator_lost * tail * 1.75, tail)
    tail = c.sel(size < INF, tail, c.sel(size.eq(INF), c.like(0.0, x), x))
    size = between(c, size, 0.0, _END)
    high, low = fast_two_sum(*two_product(c, size, size))
    square = exp(c, high)
    square = c.sel(square < INF, c.fma(square, low, square), square)
    return c.sel(x < 0.0, square * 2.0 - tail, tail)


def _scaled(c: Code, x: Value) -> tuple[Value, Value, Value, Value]:
    """Numerator and denominator of 2 exp(x**2) erfc(x) for x >= 0, and what rounding took from each."""
    t = x / (x * 0.5 + 2.0)
    p = t * polynomial(c, t - 1.0, ERFCX)
    return (*fast_two_sum(c.like(1.0, x), p), *two_sum(x, 0.5))


def _tail(c: Code, x: Value, high: Value, low: Value, beside: Value | None = None) -> Value:
    """exp(x**2 - high - low) erfc(x) for x >= 0, where high + low is about x**2; of x + `beside`, if given."""
    high, low = fast_two_sum(high, low)
    first, second, _, k = without_ln2(c, between(c, -high, LIMITS[x.type.bits][1], 0.0))
    r = first - second
    power = c.fma(r * r, polynomial(c, r, EXP), r)
    p = power + 1.0
    # 1 / p is about 1 - r + r**2 / 2
    lost = ((1.0 - p) + power + ((first - r) - second)) * c.fma(r, r * 0.5 - 1.0, 1.0)
    numerator, numerator_lost, denominator, denominator_lost = _scaled(c, x)
    quotient = numerator * 0.5 / denominator
    result = p * quotient
    # numerator is between 1 and 1.3, which is near enough for what is lost
    share = lost - low + (numerator_lost * 0.9 - denominator_lost * quotient * 1.75)
    if beside is not None:
        share = share - beside * quotient * 1.6  # the slope of log(exp(x**2) erfc(x)), to a third at 0
    return scaled(c, c.fma(result, share, result), k)
