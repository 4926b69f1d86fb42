"""log and its kin: x = m 2**e, log(m) by a polynomial in s**2, for s = (m - 1) / (m + 1)."""

from __future__ import annotations

import math

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import LN2, LOG, LOG10_2, RECIPROCAL_LN2, RECIPROCAL_LN10
from pullback.compiler.native.functions.exponential import exp
from pullback.compiler.native.functions.floats import (
    INF,
    NAN,
    as_whole,
    fast_two_sum,
    format_of,
    polynomial,
    power_of_two,
    split_exponent,
    truncated,
)


def _of_fraction(c: Code, f: Value, e: Value, lost: Value | None = None) -> Value:
    """log((1 + f + lost) * 2**e), for a `lost` that is less than the last digit of 1 + f."""
    first, second = LN2[f.type.bits]
    s = f / (f + 2.0)
    z, half = s * s, f * f * 0.5
    rest = e * second
    if lost is not None:
        # 1 / (1 + f) = (1 - s) / (1 + s)
        rest = c.fma(lost, c.fma(s, s * 2.0 - 2.0, 1.0), rest)
    low = c.fma(s, c.fma(z, polynomial(c, z, LOG), half), rest)
    return e * first - ((half - low) - f)


def log_of_sum(c: Code, high: Value, low: Value, more: Value) -> Value:
    """log((high + low) * 2**more) of a positive number that is not so large or small that 1 / high were neither.

    `low` is less than the last digit of `high`.
    """
    m, e = split_exponent(c, high)
    return _of_fraction(c, m - 1.0, e + more, low * power_of_two(c, -as_whole(c, e)))


def _specials(c: Code, x: Value, result: Value) -> Value:
    """Logarithms of infinity, NaN, negative numbers and 0."""
    result = c.sel(x < INF, result, x)
    return c.sel(x.eq(0.0), -INF, c.sel(x < 0.0, NAN, result))


def log(c: Code, x: Value) -> Value:
    """The natural logarithm."""
    m, e = split_exponent(c, x)
    return _specials(c, x, _of_fraction(c, m - 1.0, e))


def in_parts(c: Code, m: Value) -> tuple[Value, Value]:
    """log(m), in two parts of which the first has half the digits."""
    f = m - 1.0
    s = f / (f + 2.0)
    z, half = s * s, f * f * 0.5
    high = truncated(c, f - half)
    return high, ((f - high) - half) + s * c.fma(z, polynomial(c, z, LOG), half)


def log2(c: Code, x: Value) -> Value:
    """The logarithm to base 2, exact for powers of 2."""
    m, e = split_exponent(c, x)
    high, low = in_parts(c, m)
    first, second = RECIPROCAL_LN2[x.type.bits]
    total, lost = fast_two_sum(e, high * first)
    return _specials(c, x, total + (lost + c.fma(high + low, second, low * first)))


def log10(c: Code, x: Value) -> Value:
    """The logarithm to base 10."""
    m, e = split_exponent(c, x)
    high, low = in_parts(c, m)
    first, second = RECIPROCAL_LN10[x.type.bits]
    two_first, two_second = LOG10_2[x.type.bits]
    total, lost = fast_two_sum(e * two_first, high * first)
    rest = c.fma(high + low, second, low * first)
    return _specials(c, x, total + (lost + c.fma(e, two_second, rest)))


def log1p(c: Code, x: Value) -> Value:
    """log(1 + x), accurate for small x."""
    f = format_of(x)
    large = x > 2.0**f.digits * 4
    m, e = split_exponent(c, c.sel(large, x, x + 1.0))
    k = c.sel(large, c.like(0, c.bits(x)), as_whole(c, e))
    down = power_of_two(c, -k)
    # (1 + x) 2**-k - 1 without the rounding of 1 + x
    fraction = c.sel(large, m - 1.0, c.fma(x, down, down - 1.0))
    result = _of_fraction(c, fraction, e)
    result = c.sel(x < INF, result, x)
    result = c.sel(x.eq(-1.0), -INF, c.sel(x < -1.0, NAN, result))
    return c.sel(c.unary("abs", x) < f.epsilon / 4, x, result)


def softplus(c: Code, x: Value) -> Value:
    """log(1 + e**x), without overflow."""
    positive = c.sel(x > 0.0, x, c.sel(x <= 0.0, c.like(0.0, x), x))
    return positive + log1p(c, exp(c, -c.unary("abs", x)))


def log_sigmoid(c: Code, x: Value) -> Value:
    """log(1 / (1 + e**-x))."""
    negative = c.sel(x < 0.0, x, c.sel(x >= 0.0, c.like(0.0, x), x))
    return negative - log1p(c, exp(c, -c.unary("abs", x)))


def logaddexp(c: Code, x: Value, y: Value) -> Value:
    """log(e**x + e**y), without overflow."""
    high = c.sel(x > y, x, y)
    result = high + log1p(c, exp(c, -c.unary("abs", x - y)))
    return c.sel(x.eq(y), high + math.log(2), result)  # equal infinities have no difference
