"""sinh, cosh and tanh: by exp, and by polynomials where that cancels."""

from __future__ import annotations

from typing import Final

from pullback.compiler.native.code import Code, Value
from pullback.compiler.native.functions.coefficients import SINH, TANH
from pullback.compiler.native.functions.exponential import LIMITS, between, exp_of_normal, exp_parts
from pullback.compiler.native.functions.floats import copysign, polynomial, scaled

# From here on tanh is 1.
_FLAT: Final = {64: 20.0, 32: 10.0}


def _half_exp(c: Code, x: Value) -> Value:
    """exp(x) / 2 for x >= 0, finite where that is."""
    p, k = exp_parts(c, between(c, x, 0.0, LIMITS[x.type.bits][0] + 1.0))
    return scaled(c, p, k - 1)


def sinh(c: Code, x: Value) -> Value:
    """The hyperbolic sine."""
    size, z = c.unary("abs", x), x * x
    half = _half_exp(c, size)
    large = copysign(c, half - 0.25 / half, x)
    return c.sel(size < 1.0, c.fma(x * z, polynomial(c, z, SINH), x), large)


def cosh(c: Code, x: Value) -> Value:
    """The hyperbolic cosine."""
    half = _half_exp(c, c.unary("abs", x))
    return half + 0.25 / half


def tanh(c: Code, x: Value) -> Value:
    """The hyperbolic tangent."""
    size, z = c.unary("abs", x), x * x
    e = exp_of_normal(c, c.sel(size > _FLAT[x.type.bits], _FLAT[x.type.bits], size) * 2.0)
    small = c.fma(size * z, polynomial(c, z, TANH), size)
    return copysign(c, c.sel(size < 0.55, small, 1.0 - 2.0 / (e + 1.0)), x)
