"""Remainders, exact for all quotients, and quotients rounded down, by the rules of NumPy."""

from __future__ import annotations

from typing import Final

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.floats import INF, NAN, copysign, power_of_two, truncated
from pullback.compiler.native.functions.rare import DOUBLE, rarely

HUGE_QUOTIENT: Final = "pullback_huge_fmod"
_MOST: Final = 2.0**26  # so products of a quotient and half the digits of a divisor are exact


def fmod(c: Code, x: Value, y: Value) -> Value:
    """The remainder of x / y, with the sign of x."""
    size, divisor = c.unary("abs", x), c.unary("abs", y)
    rest = c.cast(_rest(c, c.cast(size, 64), c.cast(divisor, 64)), x.type.bits)
    rest = rarely(c, rest, _is_huge, HUGE_QUOTIENT, size, divisor)
    rest = c.sel(divisor.eq(INF) & (size < INF), size, rest)
    return c.sel(size.eq(INF) | divisor.eq(0.0), NAN, copysign(c, rest, x))


def remainder(c: Code, x: Value, y: Value) -> Value:
    """The remainder of x / y, with the sign of y."""
    rest = fmod(c, x, y)
    other_sign = (y < 0.0) ^ (rest < 0.0)
    return c.sel(rest.eq(0.0), copysign(c, c.like(0.0, x), y), c.sel(other_sign, rest + y, rest))


def floor_divide(c: Code, x: Value, y: Value) -> Value:
    """The quotient rounded down."""
    rest, quotient = fmod(c, x, y), x / y
    whole = (x - rest) / y
    whole = c.sel(rest.ne(0.0) & ((y < 0.0) ^ (rest < 0.0)), whole - 1.0, whole)
    down = c.unary("floor", whole)
    down = c.sel(whole - down > 0.5, down + 1.0, down)
    down = c.sel(whole.eq(0.0), copysign(c, c.like(0.0, x), quotient), down)
    return c.sel(y.eq(0.0), quotient, down)


def _is_huge(c: Code, size: Value, divisor: Value) -> Value:
    return (size >= divisor * _MOST) & (size < INF) & (divisor > 0.0)


def _rest(c: Code, x: Value, y: Value) -> Value:
    """x modulo y of positive doubles, whose quotient is not huge."""
    quotient = c.unary("trunc", x / y)
    high = truncated(c, y)
    rest = (x - quotient * high) - quotient * (y - high)
    # the quotient may have been rounded up
    return c.sel(rest < 0.0, rest + y, c.sel(rest >= y, rest - y, rest))


def huge_fmod() -> Code:
    """The function for huge quotients: it goes down by 25 bits of the quotient at a time."""
    c = Code(HUGE_QUOTIENT, [("x", DOUBLE), ("y", DOUBLE)], DOUBLE, shared=False)
    x, y = c.params
    # the largest y 2**k <= x, in three steps, as the quotient may overflow
    step = c.variable(y)
    with c.loop(0, 3):
        quotient = x / c.get(step)
        quotient = c.sel(quotient > 2.0**1000, 2.0**1000, quotient)
        c.set(step, c.get(step) * power_of_two(c, c.shifted("srl", c.bits(quotient), 52) - 1023))
    rest = c.variable(x)
    with c.loop(0, 90):
        c.set(rest, _rest(c, c.get(rest), c.get(step)))
        less = c.get(step) * 2.0**-25
        c.set(step, c.sel(less < y, y, less))
    c.give(c.get(rest))
    return c
