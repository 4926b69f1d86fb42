"""The logarithm of the gamma function, and its derivative. float32 numbers are computed in double precision."""

from __future__ import annotations

import math
from typing import Final

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import (
    DIGAMMA,
    DIGAMMA_FAR,
    DIGAMMA_ROOT,
    LGAMMA,
    LN2,
    LOG_ROOT_TAU,
    STIRLING,
    TRIGAMMA_FAR,
)
from pullback.compiler.native.functions.floats import INF, NAN, fast_two_sum, polynomial, split_exponent, truncated
from pullback.compiler.native.functions.logarithms import in_parts, log
from pullback.compiler.native.functions.trigonometric import sin_pi, tan_pi

_FAR: Final = 8.0  # from here on series in 1 / x


def lgamma(c: Code, x: Value) -> Value:
    """log(|gamma(x)|)."""
    wide = c.cast(x, 64)
    size = c.unary("abs", wide)
    result = c.variable(_of_positive(c, size))
    negative = wide < -1e-100  # what is nearer to 0 has the logarithm of 1 / |x| too
    with c.when(c.any(negative)):
        # gamma(x) gamma(-x) = -pi / (x sin(pi x))
        sine = c.unary("abs", sin_pi(c, wide) * wide)
        reflected = (math.log(math.pi) - log(c, sine)) - c.get(result)
        c.set(result, c.sel(negative, c.sel(sine.eq(0.0), INF, reflected), c.get(result)))
    return c.cast(c.sel(size.eq(INF) | size.eq(0.0), INF, c.get(result)), x.type.bits)


def _of_positive(c: Code, x: Value) -> Value:
    """log(gamma(x)).

    By Stirling's series, or by log(gamma(2 + t)) = t P(t) for t between -3/4 and 1. Below 5/4 a logarithm is
    subtracted: of x, or of x (1 + x) below 1/4. Above 3 one is added, of the product of x - 1, x - 2, ...
    """
    far, low, tiny = x >= _FAR, x < 1.25, x < 0.25
    y, product = x, c.like(1.0, x)
    for _ in range(int(_FAR) - 3):
        more = y >= 3.0
        y = c.sel(more, y - 1.0, y)
        product = c.sel(more, product * y, product)
    t = c.sel(tiny, x, c.sel(low, x - 1.0, y - 2.0))
    near = t * polynomial(c, t, LGAMMA)
    of = c.sel(far | low, c.sel(tiny, x * (x + 1.0), x), product)
    of = c.sel(x < 1e-300, x, of)
    high, rest = _log_in_parts(c, of)
    sign = c.sel(low, -1.0, c.like(1.0, x))
    by_product = high * sign + c.fma(rest, sign, near)
    # (x - 1/2) (log(x) - 1) + log(2 pi) / 2 - 1/2 + S(1 / x**2) / x
    inverse = 1.0 / x
    size = x - 0.5
    half = truncated(c, size)
    less = high - 1.0
    series = c.fma(inverse, polynomial(c, inverse * inverse, STIRLING), LOG_ROOT_TAU[64][0] - 0.5)
    by_series = half * less + (c.fma(size, rest, (size - half) * less) + series)
    return c.sel(far, by_series, by_product)


def _log_in_parts(c: Code, x: Value) -> tuple[Value, Value]:
    """log(x), in two parts of which the first has half the digits."""
    first, second = LN2[x.type.bits]
    m, e = split_exponent(c, x)
    high, low = in_parts(c, m)
    total, lost = fast_two_sum(e * first, high)
    head = truncated(c, total)
    return head, (total - head) + (lost + c.fma(e, second, low))


def digamma(c: Code, x: Value) -> Value:
    """The derivative of log(gamma(x))."""
    wide = c.cast(x, 64)
    # psi(x) = psi(1 - x) - pi / tan(pi x)
    negative = wide < 0.0
    result = c.variable(_digamma_of_positive(c, c.sel(negative, 1.0 - wide, wide)))
    with c.when(c.any(negative)):
        tangent = tan_pi(c, wide)
        reflected = c.get(result) - math.pi / tangent
        c.set(result, c.sel(negative, c.sel(tangent.eq(0.0), NAN, reflected), c.get(result)))
    return c.cast(c.get(result), x.type.bits)


def _digamma_of_positive(c: Code, x: Value) -> Value:
    """By its series, or by (x - root) P(x) between 1 and 9/4, and psi(x + 1) = psi(x) + 1 / x."""
    far, low = x >= _FAR, x < 1.0
    y, over, under = c.sel(low, x + 1.0, x), c.like(0.0, x), c.like(1.0, x)
    for _ in range(int(_FAR) - 2):
        more = y > 2.25
        y = c.sel(more, y - 1.0, y)
        over, under = c.sel(more, c.fma(over, y, under), over), c.sel(more, under * y, under)
    first, second = DIGAMMA_ROOT[64]
    near = ((y - first) - second) * polynomial(c, y - 1.625, DIGAMMA)
    # one division for all
    quotient = c.sel(low | far, c.sel(far, c.like(0.5, x), -1.0), over) / c.sel(low | far, x, under)
    inverse = quotient * 2.0
    z = inverse * inverse
    series = log(c, x) - (quotient + z * polynomial(c, z, DIGAMMA_FAR))
    return c.sel(far, series, near + quotient)


def trigamma(c: Code, x: Value) -> Value:
    """The derivative of digamma."""
    wide = c.cast(x, 64)
    negative = wide < 0.0
    result = c.variable(_trigamma_of_positive(c, c.sel(negative, 1.0 - wide, wide)))
    with c.when(c.any(negative)):
        ratio = math.pi / sin_pi(c, wide)
        c.set(result, c.sel(negative, ratio * ratio - c.get(result), c.get(result)))
    return c.cast(c.get(result), x.type.bits)


def _trigamma_of_positive(c: Code, x: Value) -> Value:
    """By its series, and psi'(x) = psi'(x + 1) + 1 / x**2."""
    y, total = x, c.like(0.0, x)
    for _ in range(int(_FAR)):
        near = y < _FAR
        inverse = 1.0 / y
        total = c.sel(near, c.fma(inverse, inverse, total), total)
        y = c.sel(near, y + 1.0, y)
    inverse = 1.0 / y
    z = inverse * inverse
    return total + (inverse + c.fma(inverse * z, polynomial(c, z, TRIGAMMA_FAR), z * 0.5))
