"""asin, acos, atan, atan2, and asinh, acosh, atanh: polynomials, after the usual reductions."""

from __future__ import annotations

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import ACOSH, ASIN, ASINH, ATAN, ATANH, PI
from pullback.compiler.native.functions.floats import (
    INF,
    NAN,
    copysign,
    fast_two_sum,
    format_of,
    is_nan,
    polynomial,
    sign_of,
    truncated,
    two_product,
    two_sum,
)
from pullback.compiler.native.functions.logarithms import log, log_of_sum


def _arc(c: Code, x: Value) -> tuple[Value, Value, Value, Value]:
    """(|x|, whether it is above 1/2, s, asin(s) - s) with s = |x|, or sqrt((1 - |x|) / 2) above 1/2."""
    size = c.unary("abs", x)
    large = size > 0.5
    z = c.sel(large, 0.5 - size * 0.5, size * size)
    s = c.sel(large, c.unary("sqrt", z), size)
    return size, large, s, s * z * polynomial(c, z, ASIN)


def asin(c: Code, x: Value) -> Value:
    """The inverse sine."""
    _, large, s, beside = _arc(c, x)
    first, second = PI[x.type.bits]
    twice = s * 2.0
    near = first / 2 - twice
    rest = ((first / 2 - near) - twice) + (second / 2 - beside * 2.0)
    return copysign(c, c.sel(large, near + rest, s + beside), x)


def acos(c: Code, x: Value) -> Value:
    """The inverse cosine."""
    _, large, s, beside = _arc(c, x)
    first, second = PI[x.type.bits]
    negative = x < 0.0
    twice = (s + beside) * 2.0
    below = first - (twice - second)
    signed, beside = copysign(c, s, x), copysign(c, beside, x)
    middle = first / 2 - (signed - (second / 2 - beside))
    return c.sel(large, c.sel(negative, below, twice), middle)


def _angle(c: Code, high: Value, low: Value) -> tuple[Value, Value]:
    """atan(high / low) of positive numbers, in two parts."""
    first, second = PI[high.type.bits]
    steep, middle = high > low * 2.0, high > low * 0.5
    over = c.sel(steep, -low, c.sel(middle, high - low, high))
    under = c.sel(steep, high, c.sel(middle, high + low, low))
    base = c.sel(steep, first / 2, c.sel(middle, c.like(first / 4, high), 0.0))
    rest = c.sel(steep, second / 2, c.sel(middle, c.like(second / 4, high), 0.0))
    t = over / under
    z = t * t
    total, lost = fast_two_sum(base, t)
    return total, lost + c.fma(t * z, polynomial(c, z, ATAN), rest)


def atan(c: Code, x: Value) -> Value:
    """The inverse tangent."""
    total, rest = _angle(c, c.unary("abs", x), c.like(1.0, x))
    return copysign(c, total + rest, x)


def atan2(c: Code, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), as C99 has it."""
    f = format_of(x)
    first, second = PI[x.type.bits]
    high, low = c.unary("abs", y), c.unary("abs", x)
    both = high.eq(INF) & low.eq(INF)
    high, low = (c.sel(both, 1.0, value) for value in (high, low))
    low = c.sel(high.eq(0.0) & low.eq(0.0), 1.0, low)
    # sums of large numbers overflow, and products of small ones lose digits
    large = (high > f.largest / 8) | (low > f.largest / 8)
    small = (high < f.tiny / f.epsilon) & (low < f.tiny / f.epsilon)
    factor = c.sel(large, 0.125, c.sel(small, c.like(1 / f.epsilon, x), 1.0))
    total, rest = _angle(c, high * factor, low * factor)
    back = first - total
    left = back + (((first - back) - total) + (second - rest))
    result = c.sel(sign_of(c, x).eq(0), total + rest, left)
    return c.sel(is_nan(c, x) | is_nan(c, y), NAN, copysign(c, result, y))


def asinh(c: Code, x: Value) -> Value:
    """The inverse hyperbolic sine."""
    size, z = c.unary("abs", x), x * x
    small = c.fma(size * z, polynomial(c, z, ASINH), size)
    return copysign(c, c.sel(size < 0.5, small, _log_of_root(c, size, 1.0)), x)


def acosh(c: Code, x: Value) -> Value:
    """The inverse hyperbolic cosine."""
    t = x - 1.0
    root = c.unary("sqrt", t * 2.0)
    return c.sel(x < 1.5, c.fma(root * t, polynomial(c, t, ACOSH), root), _log_of_root(c, x, -1.0))


def _log_of_root(c: Code, x: Value, one: float) -> Value:
    """log(x + sqrt(x**2 + one)) of x >= 1/2."""
    digits = format_of(x).digits
    huge = x > 2.0**digits
    within = c.sel(huge, 2.0, x)
    first, second = two_product(c, within, within)
    square, lost = fast_two_sum(first, second)
    square, more = two_sum(square, one)
    root = c.unary("sqrt", square)
    half = truncated(c, root)
    # what the root has not: (square - root**2) / (2 root)
    beyond = ((square - half * half) - (root - half) * (root + half) + (lost + more)) / (root * 2.0)
    total, rest = two_sum(root, within)
    total, rest = c.sel(huge, x * 2.0**-digits, total), c.sel(huge, 0.0, rest + beyond)
    return c.sel(x < INF, log_of_sum(c, total, rest, c.sel(huge, c.like(digits + 1.0, x), 0.0)), x)


def atanh(c: Code, x: Value) -> Value:
    """The inverse hyperbolic tangent."""
    size, z = c.unary("abs", x), x * x
    large = copysign(c, log(c, (size + 1.0) / (1.0 - size)) * 0.5, x)
    return c.sel(size < 0.5, c.fma(x * z, polynomial(c, z, ATANH), x), large)
