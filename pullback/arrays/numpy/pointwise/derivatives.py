"""Kernels that derivative formulas call: slopes whose own derivatives would lose digits if they were composed."""

import math

import numpy as np

from pullback.arrays.numpy.dtypes import is_complex
from pullback.arrays.numpy.pointwise.exponentials import sigmoid
from pullback.arrays.numpy.pointwise.powers import rsqrt

logistic = sigmoid


def _of_parts(real, imag):
    """The complex number of these parts; `1 - z` loses the sign of a zero, which tells the side of a branch cut."""
    z = np.empty(np.shape(real), np.result_type(real, np.complex64))
    z.real, z.imag = real, imag
    return z


# Of complex numbers products of roots, and quotients one after the other: so no square overflows, nothing cancels near
# 1 or 1j, and the branch is that of the function. Of real numbers (1 - x) (1 + x), because 1 - x**2 cancels near 1.
def asin_slope(self):
    """1 / sqrt(1 - x**2)."""
    if is_complex(self):
        x, y = self.real, self.imag
        return rsqrt(_of_parts(1 - x, -y)) * rsqrt(_of_parts(1 + x, y))
    return rsqrt((1 - self) * (1 + self))


def acosh_slope(self):
    """1 / sqrt(x**2 - 1)."""
    if is_complex(self):
        x, y = self.real, self.imag
        return rsqrt(_of_parts(x - 1, y)) * rsqrt(_of_parts(x + 1, y))
    return rsqrt(self - 1) * rsqrt(self + 1)


def asinh_slope(self):
    """1 / sqrt(1 + x**2)."""
    if is_complex(self):
        x, y = self.real, self.imag
        return rsqrt(_of_parts(1 - y, x)) * rsqrt(_of_parts(1 + y, -x))
    return 1 / np.hypot(self, 1)


def atan_slope(self):
    """1 / (1 + x**2)."""
    if is_complex(self):
        return 1 / (1 + 1j * self) / (1 - 1j * self)
    with np.errstate(over="ignore"):
        return 1 / (1 + self * self)


def atanh_slope(self):
    """1 / (1 - x**2)."""
    if is_complex(self):
        return 1 / (1 - self) / (1 + self)
    with np.errstate(over="ignore"):
        return 1 / ((1 - self) * (1 + self))


def times_complement(self):
    """x (1 - x)."""
    return self * (1 - self)


def hypot_slope(self, other, norm):
    """self / norm, 0 where norm, the hypotenuse of self and other, is 0; 1 in modulus along an infinite side."""
    slope = self / np.where(np.equal(norm, 0), np.inf, norm).astype(norm.dtype, copy=False)
    if not np.isinf(norm).any():
        return slope
    along, beside = np.isinf(self), np.isinf(other)
    limit = np.where(along, np.copysign(np.where(beside, math.sqrt(0.5), 1.0), self), 0.0)
    return np.where(np.logical_or(along, beside), limit, slope).astype(norm.dtype, copy=False)
