"""Parts of elementary functions: floating-point formats, polynomials, powers of two, numbers in two parts.

A compiler may contract a product and a sum, or may not, or may have no such instruction. So numbers in two parts come
from products that are exact, for which it makes no difference.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import LN2, Table

INF: Final = math.inf
NAN: Final = math.nan


class Format(NamedTuple):
    """A format of floating-point numbers.

    Attributes
    ----------
    digits : int
        Bits of the significand that are stored.
    bias : int
        Of the exponent.
    magic : float
        What is added and subtracted again to round to a whole number. The sum's last bits are that number.
    tiny, largest : float
        The smallest normal number, the largest number.
    epsilon : float
        The distance of 1 to the next number.
    split : int
        So many last bits of a significand are left out, so that products of what is left are exact.
    """

    digits: int
    bias: int
    magic: float
    tiny: float
    largest: float
    split: int

    @property
    def epsilon(self) -> float:
        """The distance of 1 to the next number."""
        return 2.0**-self.digits


FORMATS: Final = {
    64: Format(52, 1023, 1.5 * 2.0**52, 2.0**-1022, math.ldexp(2 - 2.0**-52, 1023), 27),
    32: Format(23, 127, 1.5 * 2.0**23, 2.0**-126, math.ldexp(2 - 2.0**-23, 127), 12),
}


def format_of(x: Value) -> Format:
    """The format of a value."""
    return FORMATS[x.type.bits]


def polynomial(c: Code, x: Value, table: Table) -> Value:
    """The polynomial at x."""
    first, *others = table[x.type.bits]
    total = c.like(first, x)
    for coefficient in others:
        total = c.fma(total, x, coefficient)
    return total


def nearest(c: Code, x: Value) -> tuple[Value, Value]:
    """The nearest whole number as a float and as a whole number, of what is small."""
    f = format_of(x)
    shifted = x + f.magic
    return shifted - f.magic, c.bits(shifted) - _magic_bits(f)


def as_whole(c: Code, x: Value) -> Value:
    """A small whole number, given as a float. Few processors convert vectors of doubles."""
    return c.toint(x) if x.type.bits == 32 else nearest(c, x)[1]


def as_float(c: Code, k: Value) -> Value:
    """A small whole number as a float."""
    f = FORMATS[k.type.bits]
    return c.tofloat(k) if k.type.bits == 32 else c.float(k + _magic_bits(f)) - f.magic


def _magic_bits(f: Format) -> int:
    return ((f.bias + f.digits) << f.digits) + (1 << (f.digits - 1))


def power_of_two(c: Code, k: Value) -> Value:
    """2**k of a whole number for which that is a normal number."""
    f = FORMATS[k.type.bits]
    return c.float(c.shifted("shl", k + f.bias, f.digits))


def scaled(c: Code, x: Value, k: Value) -> Value:
    """x * 2**k in two steps: right too where the result is subnormal or infinite, for |k| < 2 bias."""
    f = FORMATS[k.type.bits]
    both = k + 2 * f.bias
    one = c.shifted("srl", both, 1)
    for biased in (one, both - one):
        x = x * c.float(c.shifted("shl", biased, f.digits))
    return x


def truncated(c: Code, x: Value) -> Value:
    """x without the last half of its digits: products of two such numbers are exact."""
    return c.float(c.bits(x) & -(1 << format_of(x).split))


def sign_of(c: Code, x: Value) -> Value:
    """The bit of the sign, alone."""
    return c.bits(x) & -(1 << (x.type.bits - 1))


def with_sign(c: Code, x: Value, sign: Value) -> Value:
    """x, its sign changed where this bit is set."""
    return c.float(c.bits(x) ^ sign)


def copysign(c: Code, x: Value, y: Value) -> Value:
    """|x| with the sign of y."""
    return with_sign(c, c.unary("abs", x), sign_of(c, y))


def is_nan(c: Code, x: Value) -> Value:
    """A mask."""
    return x.ne(x)


def two_sum(x: Value, y: Value | float) -> tuple[Value, Value]:
    """x + y and what rounding took from it (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def fast_two_sum(x: Value, y: Value) -> tuple[Value, Value]:
    """x + y and what rounding took from it, where |x| >= |y| or x is 0 (Dekker)."""
    total = x + y
    return total, y - (total - x)


def two_product(c: Code, x: Value, y: Value) -> tuple[Value, Value]:
    """x y in two parts, the first of which has half the digits."""
    x_high, y_high = truncated(c, x), truncated(c, y)
    x_low, y_low = x - x_high, y - y_high
    return x_high * y_high, x_high * y_low + x_low * y


def split_exponent(c: Code, x: Value) -> tuple[Value, Value]:
    """(m, e): x = m * 2**e of a positive finite number, with m between sqrt(1/2) and sqrt(2); e as a float."""
    f = format_of(x)
    small = x < f.tiny
    bits = c.bits(c.sel(small, x * 2.0 ** (f.digits + 2), x))
    # The exponent with its bias, so that it is positive: few processors keep the sign in shifts of 64 bits.
    one_and_more = (f.bias << f.digits) - (0x3FE6A09E667F3BCD if f.digits == 52 else 0x3F3504F3)
    k = c.shifted("srl", bits + one_and_more, f.digits)
    m = c.float(bits - c.shifted("shl", k, f.digits) + (f.bias << f.digits))
    return m, as_float(c, k) - c.sel(small, c.like(float(f.bias + f.digits + 2), x), float(f.bias))


def without_ln2(c: Code, x: Value) -> tuple[Value, Value, Value, Value]:
    """(high, low, n, k) with x = n log(2) + high - low; n = k is whole, and |high| at most log(2) / 2."""
    first, second = LN2[x.type.bits]
    n, k = nearest(c, x * (1 / math.log(2)))
    return x - n * first, n * second, n, k
