"""sin, cos and tan: x = n pi/2 + r, and polynomials in r.

Multiples of pi/2 are taken away in parts whose products with n are exact, for |x| to some millions. What is larger goes
lane by lane through a function that multiplies by the digits of 2/pi that matter (Payne and Hanek, SIGNUM Newsletter 18,
1983), which the module of the code must contain: see `functions.helpers`.
"""

from __future__ import annotations

import math
from typing import Final

from pullback.compiler.native.code import ADDRESS, INDEX, Code, Type, Value
from pullback.compiler.native.functions.coefficients import COS, HALF_PI, PI, SIN, TAN, TWO_OVER_PI
from pullback.compiler.native.functions.floats import (
    INF,
    NAN,
    fast_two_sum,
    nearest,
    polynomial,
    sign_of,
    truncated,
    two_product,
    two_sum,
    with_sign,
)

DOUBLE: Final = Type("f", 64)
HUGE: Final = "pullback_quarter_turns"
LIMIT: Final = 3e6  # so n has 21 bits, and the parts of pi/2 have 32
_LIMB: Final = 0xFFFFFFFF


def quarter_turns(c: Code, x: Value) -> tuple[Value, Value, Value]:
    """(r, lost, n): x = n pi/2 + r + lost, in double precision also of a float32; n is whole, perhaps but modulo 4."""
    wide = c.cast(x, 64)
    first, second, third, fourth = HALF_PI[64]
    n, _ = nearest(c, wide * (2 / math.pi))
    r = wide - n * first  # exact, and so are the products
    r, lost = _less(r, n * second)
    if x.type.bits == 64:
        r, more = _less(r, n * third)
        r, lost = fast_two_sum(r, (lost + more) - n * fourth)
    else:
        r = r + (lost - n * third)
    parts = [c.variable(value) for value in (r, lost, n)]
    huge = c.unary("abs", x) > LIMIT
    with c.when(c.any(huge)):
        lanes, size = x.type.lanes, 8
        rooms = [c.room(lanes * size) for _ in range(4)]
        for value, room in zip((wide, r, lost, n), rooms, strict=True):
            c.store(value, room)
        with c.loop(0, lanes) as i:
            one = c.load(DOUBLE, rooms[0].at(i, size))
            with c.when(c.unary("abs", one) > LIMIT):
                c.call(HUGE, None, one, *(room.at(i, size) for room in rooms[1:]))
        for part, room in zip(parts, rooms[1:], strict=True):
            c.set(part, c.load(wide.type, room))
    r, lost, n = (c.get(part) for part in parts)
    return r, lost, n


def _less(x: Value, y: Value) -> tuple[Value, Value]:
    """x - y and what rounding took from it, where the difference is exact if |x| < |y|."""
    total = x - y
    return total, (x - total) - y


def huge_quarter_turns() -> Code:
    """The function that writes r, lost and n of one large number to three addresses."""
    c = Code(HUGE, [("x", DOUBLE), ("r", ADDRESS), ("lost", ADDRESS), ("n", ADDRESS)], shared=False)
    x, *to = c.params
    words = c.room(8 * (len(TWO_OVER_PI) + 2))
    for place, word in enumerate((0, 0, *TWO_OVER_PI)):
        c.store(c.number(word, INDEX), words.at(place, 8))
    # |x| = m * 2**(32 k), m of three limbs of 32 bits
    bits = c.bits(c.unary("abs", x))
    k = c.shifted("sra", c.shifted("srl", bits, 52) - (1023 + 52), 5)
    rest = c.float(bits - c.shifted("shl", k, 57))
    limbs = []
    for place in (2, 1, 0):
        limb = c.toint(rest * 2.0 ** (-32 * place))
        rest = rest - c.tofloat(limb) * 2.0 ** (32 * place)
        limbs.insert(0, limb)
    # times the eight words whose product with m is below 4 and matters; from the last digits on
    product = [c.index(0)] * 11
    taken = [c.load(INDEX, words.at(k + (8 - i), 8)) for i in range(8)]
    for i, word in enumerate(taken):
        carry = c.index(0)
        for j, limb in enumerate(limbs):
            total = limb * word + product[i + j] + carry
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
    r, lost, turns = (with_sign(c, value, sign) for value in (r, lost, c.tofloat(n)))
    for value, address in zip((c.sel(c.unary("abs", x) < INF, r, NAN), lost, turns), to, strict=True):
        c.store(value, address)
    c.give()
    return c


def _quadrant(c: Code, x: Value) -> tuple[Value, Value, Value, Value]:
    """(r, lost, r**2, n) as numbers like x, n a whole one."""
    wide, lost, n = quarter_turns(c, x)
    r = c.cast(wide, x.type.bits)
    if x.type.bits == 32:
        lost = wide - c.cast(r, 64)
    return r, c.cast(lost, x.type.bits), r * r, c.toint(c.cast(n, x.type.bits))


def _sine(c: Code, x: Value, ahead: int) -> Value:
    """The sine of x and so many quarter turns."""
    r, lost, z, n = _quadrant(c, x)
    turns = n + ahead
    sine = r + c.fma(r * z, polynomial(c, z, SIN), lost)
    half = z * 0.5
    near = 1.0 - half
    cosine = near + (((1.0 - near) - half) + c.fma(z * z, polynomial(c, z, COS), -(r * lost)))
    result = c.sel((turns & 1).eq(0), sine, cosine)
    return with_sign(c, result, c.shifted("shl", turns & 2, x.type.bits - 2))


def sin(c: Code, x: Value) -> Value:
    """The sine."""
    return c.sel(x.eq(0.0), x, _sine(c, x, 0))


def cos(c: Code, x: Value) -> Value:
    """The cosine."""
    return _sine(c, x, 1)


def tan(c: Code, x: Value) -> Value:
    """The tangent."""
    r, lost, z, n = _quadrant(c, x)
    beside = r * z * polynomial(c, z, TAN)
    t, less = fast_two_sum(r, c.fma(c.fma(beside, beside + r * 2.0, z), lost, lost) + beside)
    # -1 / (t + less)
    inverse = -1.0 / t
    high = truncated(c, inverse)
    t_high = truncated(c, t)
    rest = (high * t_high + 1.0) + high * ((t - t_high) + less)
    result = c.sel((n & 1).eq(0), t, c.fma(inverse, rest, high))
    return c.sel(x.eq(0.0), x, result)
