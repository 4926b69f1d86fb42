"""sin, cos and tan: x = n pi/2 + r, and polynomials in r.

Multiples of pi/2 are taken away in parts whose products with n are exact, for |x| to some millions. What is larger goes
lane by lane through a function that multiplies by the digits of 2/pi that matter (Payne and Hanek, SIGNUM Newsletter
18, 1983), which the module of the code must contain: see `functions.helpers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from pullback.compiler.native.code import INDEX, Code, Value
from pullback.compiler.native.functions.coefficients import COS, HALF_PI, PI, SIN, TAN, TWO_OVER_PI
from pullback.compiler.native.functions.floats import (
    INF,
    NAN,
    as_whole,
    fast_two_sum,
    format_of,
    nearest,
    polynomial,
    sign_of,
    truncated,
    two_product,
    two_sum,
    with_sign,
)
from pullback.compiler.native.functions.rare import DOUBLE, rarely

HUGE: Final = {name: f"pullback_huge_{name}" for name in ("sin", "cos", "tan")}
LIMIT: Final = 3e6  # so n has 21 bits, and the parts of pi/2 have 32
_LIMB: Final = 0xFFFFFFFF


class Turned(NamedTuple):
    """x = n pi/2 + r + lost, n a whole number, perhaps but modulo 4."""

    r: Value
    lost: Value
    n: Value


def sin(c: Code, x: Value) -> Value:
    """The sine."""
    return _with_huge(c, "sin", x)


def cos(c: Code, x: Value) -> Value:
    """The cosine."""
    return _with_huge(c, "cos", x)


def tan(c: Code, x: Value) -> Value:
    """The tangent."""
    return _with_huge(c, "tan", x)


def sin_pi(c: Code, x: Value, quarters: int = 0) -> Value:
    """sin(pi x + quarters pi / 2): exact zeros, no digits lost for large x; infinity is as 0."""
    result = _sine(c, _turned_pi(c, x), quarters)
    whole = c.unary("abs", x) > 2.0 ** (format_of(x).digits + 1)  # and even
    at_zero = (0.0, 1.0, 0.0, -1.0)[quarters % 4]
    return c.sel(whole, at_zero, result if quarters else c.sel(x.eq(0.0), x, result))


def tan_pi(c: Code, x: Value) -> Value:
    """tan(pi x): exact zeros and infinities, 0 too of what is so large that it is whole."""
    turned = _turned_pi(c, x)
    result = c.sel(turned.r.eq(0.0) & (turned.n & 1).ne(0), INF, _tangent(c, turned))
    whole = c.unary("abs", x) > 2.0 ** (format_of(x).digits + 1)
    return c.sel(whole, 0.0, c.sel(x.eq(0.0), x, result))


def _turned_pi(c: Code, x: Value) -> Turned:
    """Of pi x, for what is not huge."""
    n = c.unary("rint", x + x)
    left = x - n * 0.5
    first, second = PI[x.type.bits]
    high, low = two_product(c, left, c.like(first, x))
    r, lost = fast_two_sum(high, c.fma(left, second, low))
    return Turned(r, lost, as_whole(c, n - c.unary("floor", n * 0.25) * 4.0))


def sinc(c: Code, x: Value) -> Value:
    """sin(pi x) / (pi x), 1 at 0."""
    return c.sel(x.eq(0.0), 1.0, sin_pi(c, x) / (x * math.pi) + 0.0)  # no negative zeros


def sinc_derivative(c: Code, x: Value, order: int) -> Value:
    """The derivative of sinc of that order.

    From (x sinc)' = cos(pi x) by the rule of Leibniz; below 1, where that cancels, the derivative of the power series
    of sinc, sum (-1)**m (pi x)**(2 m) / (2 m + 1)!.
    """
    wide = c.cast(x, 64)  # as terms of both signs are added
    near = c.unary("abs", wide) < 1.0
    far, inside = c.sel(near, 1.0, wide), c.sel(near, wide, 0.0)
    value = sinc(c, far)
    for k in range(1, order + 1):
        value = (sin_pi(c, far, k) * math.pi ** (k - 1) - value * float(k)) / far
    square, total = inside * inside, c.like(0.0, wide)
    for m in range(16 + order, (order + 1) // 2 - 1, -1):
        term = (-1) ** m * math.pi ** (2 * m) / (2 * m + 1) / math.factorial(2 * m - order)
        total = c.fma(total, square, term)
    return c.cast(c.sel(near, total * inside if order % 2 else total, value), x.type.bits)


def _sine(c: Code, x: Turned, ahead: int = 0) -> Value:
    """The sine of x and so many quarter turns."""
    r, lost, n = x
    z, turns = r * r, n + ahead
    half = z * 0.5
    near = 1.0 - half
    beyond, lower = polynomial(c, z, SIN), (1.0 - near) - half
    if r.type.bits == 64:
        sine = r + c.fma(r * z, beyond, lost)
        lower = lower - r * lost
    else:  # half a unit in the last place, and a fifth of the time
        sine = c.fma(r * z, beyond, r)
    cosine = near + c.fma(z * z, polynomial(c, z, COS), lower)
    result = c.sel((turns & 1).eq(0), sine, cosine)
    return with_sign(c, result, c.shifted("shl", turns & 2, r.type.bits - 2))


def _cosine(c: Code, x: Turned) -> Value:
    return _sine(c, x, 1)


def _tangent(c: Code, x: Turned) -> Value:
    r, lost, n = x
    z = r * r
    beside = r * z * polynomial(c, z, TAN)
    t, less = fast_two_sum(r, c.fma(c.fma(beside, beside + r * 2.0, z), lost, lost) + beside)
    # The odd quarters have -1 / (t + less).
    inverse = -1.0 / t
    high, t_high = truncated(c, inverse), truncated(c, t)
    rest = (high * t_high + 1.0) + high * ((t - t_high) + less)
    return c.sel((n & 1).eq(0), t, c.fma(inverse, rest, high))


_FUNCTIONS: Final[dict[str, Callable[[Code, Turned], Value]]] = {"sin": _sine, "cos": _cosine, "tan": _tangent}


def _with_huge(c: Code, name: str, x: Value) -> Value:
    """A function of x; where a lane is huge, that one by a call."""
    usual = _FUNCTIONS[name](c, _turned(c, x))
    if name != "cos":
        usual = c.sel(x.eq(0.0), x, usual)
    return rarely(c, usual, _is_huge, HUGE[name], x)


def _is_huge(c: Code, x: Value) -> Value:
    return c.unary("abs", x) > LIMIT


def _turned(c: Code, x: Value) -> Turned:
    """Of what is not huge; float32 numbers are reduced in double precision."""
    wide = c.cast(x, 64)
    first, second, third, fourth = HALF_PI[64]
    n, k = nearest(c, wide * (2 / math.pi))
    r = wide - n * first  # exact, and so are the products of n and the first three
    if x.type.bits == 32:
        r = r - n * (second + third)
    else:
        r, lost = _less(r, n * second)
        r, more = _less(r, n * third)
        r, lost = fast_two_sum(r, (lost + more) - n * fourth)
        return Turned(r, lost, k)
    single = c.cast(r, 32)
    return Turned(single, c.cast(r - c.cast(single, 64), 32), as_whole(c, c.cast(n, 32)))


def _less(x: Value, y: Value) -> tuple[Value, Value]:
    """x - y and what rounding took from it, where the difference is exact if |x| < |y|."""
    total = x - y
    return total, (x - total) - y


def huge(name: str) -> Code:
    """The function that computes one of these of one huge number."""
    c = Code(HUGE[name], [("x", DOUBLE)], DOUBLE, shared=False)
    (x,) = c.params
    result = _FUNCTIONS[name](c, _turned_by_digits(c, x))
    c.give(c.sel(c.unary("abs", x) < INF, result, NAN))
    return c


def _turned_by_digits(c: Code, x: Value) -> Turned:
    words = c.room(8 * (len(TWO_OVER_PI) + 2))
    for place, word in enumerate((0, 0, *TWO_OVER_PI)):
        c.store(c.number(word, INDEX), words.at(place, 8))
    # |x| is a whole number of three limbs, of 32 bits each, times a power of 2**32.
    bits = c.bits(c.unary("abs", x))
    k = c.shifted("sra", c.shifted("srl", bits, 52) - (1023 + 52), 5)
    rest = c.float(bits - c.shifted("shl", k, 57))
    limbs: list[Value] = []
    for unit in (2.0**64, 2.0**32, 1.0):
        limbs.insert(0, c.toint(rest * (1 / unit)))
        rest = rest - c.tofloat(limbs[0]) * unit
    # It is multiplied with the eight words that matter of 2/pi, the last digits first.
    product = [c.index(0)] * 11
    taken = [c.load(INDEX, words.at(k + (8 - i), 8)) for i in range(8)]
    for i, eight in enumerate(taken):
        carry = c.index(0)
        for j, limb in enumerate(limbs):
            total = limb * eight + product[i + j] + carry
            product[i + j], carry = total & _LIMB, c.shifted("srl", total, 32)
        product[i + 3] = carry
    # The point is before limb 7. The fraction is taken between -1/2 and 1/2.
    high = product[6]
    up = c.shifted("srl", high, 31)
    n = (product[7] + up) & 3
    pieces = [high - c.shifted("shl", up, 32), *(product[place] for place in (5, 4, 3))]
    a, b, d, e = (c.tofloat(piece) * 2.0 ** (-32 * (place + 1)) for place, piece in enumerate(pieces))
    f, g = two_sum(a, b)
    f, g = fast_two_sum(f, g + (d + e))
    half_pi, beyond = (part / 2 for part in PI[64])
    first, second = two_product(c, f, c.like(half_pi, f))
    r, lost = fast_two_sum(first, c.fma(g, c.like(half_pi, g), c.fma(f, c.like(beyond, f), second)))
    sign = sign_of(c, x)
    return Turned(with_sign(c, r, sign), with_sign(c, lost, sign), c.sel(x < 0.0, -n, n))
