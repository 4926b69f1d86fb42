"""exp and its kin: x = n log(2) + r, and a polynomial in r."""

from __future__ import annotations

from typing import Final

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import EXP, EXP2
from pullback.compiler.native.functions.floats import (
    format_of,
    nearest,
    polynomial,
    power_of_two,
    scaled,
    sign_of,
    with_sign,
    without_ln2,
)

# From here on exp is infinite, or 0.
LIMITS: Final = {64: (710.0, -746.0), 32: (89.0, -104.0)}


def between(c: Code, x: Value, low: float, high: float) -> Value:
    """x brought into these limits; NaN stays."""
    return c.sel(x > high, high, c.sel(x < low, low, x))


def exp_parts(c: Code, x: Value) -> tuple[Value, Value]:
    """(p, k) with exp(x) = p * 2**k, of what `LIMITS` allow."""
    high, low, _, k = without_ln2(c, x)
    r = high - low
    return c.fma(r * r, polynomial(c, r, EXP), r) + 1.0, k


def exp_of_normal(c: Code, x: Value) -> Value:
    """e**x where that is a normal number."""
    p, k = exp_parts(c, x)
    return p * power_of_two(c, k)


def exp(c: Code, x: Value) -> Value:
    """e**x."""
    high, low = LIMITS[x.type.bits]
    return scaled(c, *exp_parts(c, between(c, x, low, high)))


def exp2(c: Code, x: Value) -> Value:
    """2**x."""
    f = format_of(x)
    x = between(c, x, float(-f.bias - f.digits - 2), float(f.bias + 1))
    n, k = nearest(c, x)
    r = x - n
    return scaled(c, c.fma(r, polynomial(c, r, EXP2), 1.0), k)


def expm1(c: Code, x: Value) -> Value:
    """e**x - 1, accurate for small x."""
    f = format_of(x)
    limit = LIMITS[x.type.bits][0]
    high, low, _, k = without_ln2(c, between(c, x, -40.0 if f.digits == 52 else -20.0, limit))
    r = high - low
    # e**(r + lost) - 1, for lost is what rounding took from r.
    lost = (high - r) - low
    p = r + (c.fma(r * r, polynomial(c, r, EXP), lost) + lost * r)
    half = power_of_two(c, k - 1)  # 2**k may be infinite where the result is not
    whole = c.fma(p, half, half - 0.5) * 2.0
    return c.sel(c.unary("abs", x) < f.epsilon / 4, x, whole)


def sigmoid(c: Code, x: Value) -> Value:
    """1 / (1 + e**-x), or e**x / (1 + e**x), which does not overflow."""
    high, low, _, k = without_ln2(c, between(c, -c.unary("abs", x), LIMITS[x.type.bits][1], 0.0))
    r = high - low
    beside = c.fma(r * r, polynomial(c, r, EXP), r)
    p = beside + 1.0
    e = scaled(c, p, k)
    result = c.sel(x < 0.0, e, 1.0) / (e + 1.0)
    # What rounding took from e, relative to e: 1 / p is about 1 - r + r**2 / 2. The slope of log(e / (1 + e)) in log(e)
    # is 1 / (1 + e), that of log(1 / (1 + e)) is -e / (1 + e); both are 1 minus the result, up to the sign.
    lost = ((1.0 - p) + beside + ((high - r) - low)) * c.fma(r, r * 0.5 - 1.0, 1.0)
    share = (1.0 - result) * lost
    return c.fma(result, with_sign(c, share, sign_of(c, -x)), result)
