"""Helpers of the derivative formulas of the elementwise operators.

A *slope* is the derivative of the operator at its arguments, without conjugation: gradients are `grad * conj(slope)`,
tangents `tangent * slope`.
"""

import math

from pullback.ops.formulas.plain_values import none_of

__all__ = [
    "above",
    "angle_direction",
    "angle_gradient",
    "below",
    "halved_at_ties",
    "log_argument",
    "log_ratio",
    "nonzero_or_inf",
    "over_hypot",
    "over_square_norm",
    "pow_exponent_slope",
    "pow_slope",
    "sgn_slope",
    "times_conj",
    "times_factor",
    "within",
    "xlogy_divisor",
    "zero_at_infinity",
]  # fmt: skip


# By the code of the dtype; the reciprocals of smaller numbers overflow.
SMALLEST_NORMAL = {"e": 6.2e-5, "f": 1.2e-38, "F": 1.2e-38, "d": 2.3e-308, "D": 2.3e-308}


def is_complex(x):
    """True if a tensor, an array or a number is complex."""
    return issubclass(type(x), complex) or (hasattr(x, "dtype") and x.dtype.kind == "c")


# Arithmetic and powers


def times_factor(x, factor, *, ops):
    """x * factor, without the multiplication where factor is 1."""
    return x if factor == 1 else x * factor


def times_conj(x, factor, *, ops):
    """x * conj(factor) for a Python number."""
    return x if factor == 1 else x * factor.conjugate()


def pow_slope(self, exponent, *, ops):
    """d self**exponent / d self = exponent * self**(exponent - 1), and 0 for the exponent 0 everywhere."""
    if issubclass(type(exponent), (int, float, complex)):
        if exponent == 2:
            return self + self
        if exponent == 0:
            return ops.zeros_like(self)
        return exponent * ops.pow(self, exponent - 1)
    # Only 0 * x**-1 needs care, where that is not finite. The base is replaced there alone, so that mixed second
    # derivatives stay right.
    vanishing = ops.logical_not(ops.gt(ops.abs(self), SMALLEST_NORMAL.get(self.dtype.char, 0.0)))
    base = ops.where(ops.logical_and(ops.eq(exponent, 0), vanishing), 1, self)
    return exponent * ops.pow(base, exponent - 1.0)  # 1.0: an unsigned 0 - 1 would wrap around


def pow_exponent_slope(self, exponent, result, *, ops):
    """d self**exponent / d exponent = result * log(self), and 0 at self = 0 where the exponent is not negative."""
    if issubclass(type(self), (int, float)) and self > 0:
        return result * math.log(self)  # a Python number, which leaves the dtype alone
    real_exponent = ops.real(exponent) if is_complex(exponent) else exponent
    vanishes = ops.logical_and(ops.eq(self, 0), ops.ge(real_exponent, 0))
    base = ops.where(vanishes, 1, self)
    if is_complex(result) and not is_complex(base):
        base = base + 0j  # a negative one has a logarithm there
    return result * ops.log(base)


# Exponentials and logarithms


def log_ratio(self, other, *, ops):
    """self - other, and 0 where both are the same infinity."""
    ratio = self - other
    return ops.where(
        ops.logical_and(ops.eq(self, other), ops.ne(ratio, 0)), 0, ratio
    )  # inf - inf is nan, which is not 0


def log_argument(self, other, *, ops):
    """`other` as the argument of log in d xlogy / d self: 1, whose log is 0, where self is 0 and log has no value."""
    return ops.where(ops.logical_and(ops.eq(self, 0), ops.le(other, 0)), 1.0, other)


def xlogy_divisor(self, other, *, ops):
    """`other` as the divisor in d xlogy / d other = self / other: 1 where both are 0."""
    return ops.where(ops.logical_and(ops.eq(self, 0), ops.eq(other, 0)), 1.0, other)


def zero_at_infinity(x, *, ops):
    """x, and 0 where it is infinite: for products whose other factors vanish faster there."""
    return ops.where(ops.isinf(x), 0, x)


# Distances and angles


def nonzero_or_inf(r, *, ops):
    """r, and inf where r is 0: as a divisor it gives 0 there. Chosen before dividing, so 0/0 enters no derivative."""
    return ops.where(ops.eq(r, 0), math.inf, r)


def over_square_norm(part, y, x, *, ops):
    """part / (y**2 + x**2), 0 at the origin; no square is formed. Differentiable: used at every order."""
    r = nonzero_or_inf(ops.hypot(y, x), ops=ops)
    return part / r / r


def over_hypot(part, y, x, *, ops):
    """part / hypot(y, x), 0 at the origin."""
    return part / nonzero_or_inf(ops.hypot(y, x), ops=ops)


def angle_gradient(grad, z, *, ops):
    """grad times the gradient of the argument at z."""
    return grad * _angle_slope(z, ops) if is_complex(z) else ops.zeros_like(grad)


def angle_direction(z, movement, *, ops):
    """How the argument of z moves with z."""
    return ops.real(ops.conj(movement) * _angle_slope(z, ops)) if is_complex(z) else ops.zeros_like(movement)


def _angle_slope(z, ops):
    """i z / |z|**2, 0 at 0."""
    r = nonzero_or_inf(ops.abs(z), ops=ops)
    return z * 1j / r / r


def sgn_slope(z, movement, sgn, *, ops):
    """How z / |z| moves with z: the part of the movement across the ray, over |z|. Real signs do not move."""
    if not is_complex(sgn):
        return ops.zeros_like(movement)
    across = movement - sgn * ops.real(sgn.conjugate() * movement)
    return across / nonzero_or_inf(ops.abs(z), ops=ops)


# Limits and choices


def halved_at_ties(grad, self, other, *, ops):
    """grad, halved where the two are equal."""
    tied = ops.eq(self, other)
    if none_of(tied):
        return grad
    return ops.where(tied, grad / 2, grad)


def within(self, min, max, *, ops):
    """True if min <= self <= max, and there is room in between; a limit of None does not limit."""
    if min is None:
        return ops.le(self, max)
    if max is None:
        return ops.ge(self, min)
    inside = ops.logical_and(ops.ge(self, min), ops.le(self, max))
    if type(min) in _NUMBERS and type(max) in _NUMBERS and min < max:
        return inside
    return ops.logical_and(inside, ops.lt(min, max))


def below(self, min, max, *, ops):
    """True if the result is min because self is less."""
    return ops.lt(self, min) if max is None else ops.logical_and(ops.lt(self, min), ops.lt(min, max))


def above(self, min, max, *, ops):
    """True if the result is max because self is greater, or because min is not less."""
    return ops.gt(self, max) if min is None else ops.logical_or(ops.gt(self, max), ops.le(max, min))


_NUMBERS = (int, float)
