"""Powers and roots."""

from __future__ import annotations

from typing import Final

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import CBRT, EXP2, EXP2_SINGLE, POW_LOG, POW_LOG_SINGLE, POW_SCALE
from pullback.compiler.native.functions.exponential import between
from pullback.compiler.native.functions.floats import (
    INF,
    NAN,
    as_whole,
    copysign,
    format_of,
    is_nan,
    nearest,
    polynomial,
    scaled,
    sign_of,
    split_exponent,
    truncated,
    with_sign,
)

MOST_PRODUCTS: Final = 4  # a power by products of more factors is less accurate than by the logarithm


def rsqrt(c: Code, x: Value) -> Value:
    """1 / sqrt(x)."""
    return 1.0 / c.unary("sqrt", x)


def cbrt(c: Code, x: Value) -> Value:
    """The cube root."""
    size = c.unary("abs", x)
    m, e = split_exponent(c, size)
    third, k = nearest(c, e * (1 / 3))
    left = e - third * 3.0  # -1, 0 or 1
    m = m * c.sel(left < 0.0, 0.5, c.sel(left > 0.0, c.like(2.0, x), 1.0))
    # A step of Halley's from an estimate with half the digits, whose square is exact.
    t = polynomial(c, m, CBRT)
    if x.type.bits == 64:
        cube = t * t * t
        t = t * (cube + m * 2.0) / (cube * 2.0 + m)
    t = truncated(c, t)
    s = m / (t * t)
    t = t + t * ((s - t) / (t * 2.0 + s))
    result = copysign(c, scaled(c, t, k), x)
    return c.sel((size < INF) & x.ne(0.0), result, x)


def hypot(c: Code, x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2), without overflow or underflow on the way."""
    f = format_of(x)
    x, y = c.unary("abs", x), c.unary("abs", y)
    infinite = x.eq(INF) | y.eq(INF)
    part = 2.0 ** (f.bias // 2 - 2)
    large, small = (x > part) | (y > part), (x < 1 / part) & (y < 1 / part)
    up = 2.0 ** (f.bias // 3 * 2)
    down = c.sel(large, 1 / up, c.sel(small, c.like(up, x), 1.0))
    back = c.sel(large, up, c.sel(small, c.like(1 / up, x), 1.0))
    x, y = x * down, y * down
    return c.sel(infinite, INF, c.unary("sqrt", c.fma(x, x, y * y)) * back)


def whole_power(c: Code, x: Value, n: int) -> Value:
    """x**n by products, of |n| <= `MOST_PRODUCTS`."""
    if n < 0:
        return whole_power(c, 1.0 / x, -n)
    if n == 0:
        return c.like(1.0, x)
    if n == 1:
        return x
    half = whole_power(c, x, n // 2)
    return half * half * x if n % 2 else half * half


def power(c: Code, x: Value, y: Value) -> Value:
    """x**y, as C99 has it."""
    size = c.unary("abs", x)
    result = (_power_in_double if x.type.bits == 32 else _power_in_parts)(c, size, y)
    return _power_specials(c, x, y, size, result)


def _power_specials(c: Code, x: Value, y: Value, size: Value, result: Value) -> Value:
    f = format_of(x)
    y_size = c.unary("abs", y)
    whole = c.unary("trunc", y).eq(y)
    half = y * 0.5
    odd = whole & c.unary("trunc", half).ne(half) & (y_size < 2.0 ** (f.digits + 1))
    grows = (y > 0.0) ^ (size < 1.0)  # if y is infinite or x is 0 or infinite
    extreme = size.eq(0.0) | size.eq(INF) | y_size.eq(INF)
    result = c.sel(extreme, c.sel(grows, INF, c.like(0.0, x)), result)
    result = with_sign(c, result, c.bits(c.sel(odd, c.float(sign_of(c, x)), 0.0)))
    result = c.sel((x < 0.0) & ~whole & (size < INF), NAN, result)
    result = c.sel(is_nan(c, x) | is_nan(c, y), NAN, result)
    one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & y_size.eq(INF))
    return c.sel(one, 1.0, result)


def _power_in_double(c: Code, x: Value, y: Value) -> Value:
    """x**y of positive float32 numbers."""
    m, e, y = (c.cast(value, 64) for value in (*split_exponent(c, x), y))
    s = (m - 1.0) / (m + 1.0)
    t = between(c, y * c.fma(s, polynomial(c, s * s, POW_LOG_SINGLE), e), -200.0, 200.0)
    n, _ = nearest(c, t)
    return scaled(c, c.cast(polynomial(c, t - n, EXP2_SINGLE), 32), as_whole(c, c.cast(n, 32)))


def _power_in_parts(c: Code, x: Value, y: Value) -> Value:
    """x**y of positive float64 numbers: log2(x) to 66 digits, in two parts, the first of which has half of y's.

    After the pow of Sun's fdlibm, without its table.
    """
    m, e = split_exponent(c, x)
    # s = (m - 1) / (m + 1) in two parts
    reciprocal = 1.0 / (m + 1.0)
    s = (m - 1.0) * reciprocal
    s_high, sum_high = truncated(c, s), truncated(c, m + 1.0)
    s_low = reciprocal * (((m - 1.0) - s_high * sum_high) - s_high * (m - (sum_high - 1.0)))
    # log(m) = 2/3 s (3 + z + z**2 P(z))
    z, z_high = s * s, s_high * s_high
    rest = c.fma(z * z, polynomial(c, z, POW_LOG), s_low * (s_high + s))
    series_high = truncated(c, (z_high + 3.0) + rest)
    series_low = rest - ((series_high - 3.0) - z_high)
    first, second = s_high * series_high, c.fma(s_low, series_high, series_low * s)
    high = truncated(c, first + second)
    low = second - (high - first)
    scale_high, scale_low = POW_SCALE[64]
    high, low = high * scale_high, c.fma(high, scale_low, low * (scale_high + scale_low))
    log_high = truncated(c, (high + low) + e)
    log_low = low - ((log_high - e) - high)
    # 2**(y log2(x)); what is beyond these limits is infinite or 0 in any case
    y = between(c, y, -(2.0**66), 2.0**66)
    y_high = truncated(c, y)
    high, low = y_high * log_high, c.fma(y - y_high, log_high, y * log_low)
    total = high + low
    outside = c.unary("abs", total) > 1100.0
    high = c.sel(outside, between(c, total, -1100.0, 1100.0), high)
    low = c.sel(outside, 0.0, low)
    n, k = nearest(c, high)
    r = (high - n) + low
    return scaled(c, c.fma(r, polynomial(c, r, EXP2), 1.0), k)
