"""NumPy kernels of the elementwise operators.

Most are NumPy's ufuncs themselves. The functions below differ from the nearest ufunc in semantics (PyTorch's) or in
speed; the comment on each says which. Powers, exponentials, complex parts, comparisons and choices have files of their
own. Names are the operators', so several hide builtins of Python here.
"""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.dtypes import is_complex
from pullback.arrays.numpy.fast.sincos import SINCOS
from pullback.arrays.numpy.fast.updates import scaled_into, writes_out
from pullback.arrays.numpy.scipy_functions import scipy_special

add = np.add
sub = np.subtract
mul = np.multiply
div = np.true_divide
neg = np.negative
floor_divide = np.floor_divide
remainder = np.remainder
fmod = np.fmod
float_power = np.float_power
square = np.square
sqrt = np.sqrt
cbrt = np.cbrt
exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
log = np.log
log2 = np.log2
log10 = np.log10
sin, cos = SINCOS["sin"], SINCOS["cos"]
tan = np.tan
asin = np.arcsin
acos = np.arccos
atan = np.arctan
atan2 = np.arctan2
sinh = np.sinh
cosh = np.cosh
tanh = np.tanh
asinh = np.arcsinh
acosh = np.arccosh
atanh = np.arctanh
abs = np.absolute
signbit = np.signbit
floor = np.floor
ceil = np.ceil
trunc = np.trunc
hypot = np.hypot
copysign = np.copysign
deg2rad = np.deg2rad
rad2deg = np.rad2deg
eq = np.equal
ne = np.not_equal
isnan = np.isnan
isinf = np.isinf
isfinite = np.isfinite
isreal = np.isreal
logical_and = np.logical_and
logical_or = np.logical_or
logical_xor = np.logical_xor
logical_not = np.logical_not
bitwise_and = np.bitwise_and
bitwise_or = np.bitwise_or
bitwise_xor = np.bitwise_xor
bitwise_not = np.invert
bitwise_left_shift = np.left_shift
bitwise_right_shift = np.right_shift


# Arithmetic. Operators, not ufuncs, where both sides may be Python numbers: a ufunc would make float64 of them.


def log1p(self):
    """log(1 + self); NumPy's of small complex numbers loses the real part."""
    return scipy_special().log1p(self) if is_complex(self) else np.log1p(self)


@writes_out
def add_alpha(self, other, alpha, out=None):
    """self + alpha * other."""
    if out is self and scaled_into(self, other, alpha):
        return self
    return np.add(self, other if alpha == 1 else other * alpha, out=out)


@writes_out
def sub_alpha(self, other, alpha, out=None):
    """self - alpha * other."""
    if out is self and scaled_into(self, other, -alpha):
        return self
    return np.subtract(self, other if alpha == 1 else other * alpha, out=out)


def rsub(self, other, alpha=1):
    """other - alpha * self."""
    return np.subtract(other, self if alpha == 1 else self * alpha)


def div_rounded(self, other, rounding_mode):
    """self / other, rounded towards zero ("trunc"), down ("floor") or not at all (None)."""
    if rounding_mode is None:
        return np.true_divide(self, other)
    if rounding_mode == "floor":
        return np.floor_divide(self, other)
    if rounding_mode != "trunc":
        raise ValueError(f"rounding_mode must be None, 'trunc' or 'floor', but it is {rounding_mode!r}.")
    if np.result_type(self, other).kind not in "iu":
        return np.trunc(np.true_divide(self, other))
    # A float64 quotient is wrong past 2**53, so integers are divided as integers: floor, mended where it is not trunc.
    quotient = np.floor_divide(self, other)
    inexact = np.not_equal(np.multiply(quotient, other), self)
    return np.add(quotient, np.logical_and(np.less(quotient, 0), inexact), dtype=quotient.dtype)


@writes_out
def addcmul(self, tensor1, tensor2, value=1, out=None):
    """self + value * tensor1 * tensor2."""
    return add_alpha(self, tensor1 * tensor2, value, out)


@writes_out
def addcdiv(self, tensor1, tensor2, value=1, out=None):
    """self + value * tensor1 / tensor2."""
    return add_alpha(self, tensor1 / tensor2, value, out)


# Signs


def sgn(self):
    """self / abs(self), 0 at 0. Booleans are their own signs, which np.sign does not know."""
    try:
        return np.sign(self)
    except TypeError:
        return self.copy()


def sign(self):
    """-1, 0 or 1 (real arguments; `sgn` takes complex ones)."""
    if is_complex(self):
        raise ValueError("not defined for complex tensors; use sgn, which gives z / |z|.")
    return sgn(self)


# Rounding


def round(self, decimals=0):
    """Round to `decimals` places, halves to even."""
    if is_complex(self):
        raise ValueError("not defined for complex tensors; round .real and .imag separately.")
    if self.dtype.kind == "b":
        return self.copy()
    if -308 <= decimals <= 308:
        return np.round(self, decimals)
    # NumPy multiplies as many tens, one by one, and gives nan beyond the largest float64.
    return self.copy() if decimals > 0 else np.where(np.isfinite(self), np.copysign(0, self), self).astype(self.dtype)


def frac(self):
    """self - trunc(self): the fractional part, with the sign of self."""
    return np.subtract(self, np.trunc(self))


# Comparisons beyond the ufuncs


def equal(self, other):
    """True if shape and all elements agree: a Python bool."""
    return bool(np.array_equal(self, other))


@loops("arguments")
def isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|self - other| <= atol + rtol * |other|, elementwise."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise ValueError(f"{name} must be at least 0, but it is {value}.")
    rtol, atol = (
        x if isinstance(x, np.ndarray) else float(x) for x in (rtol, atol)
    )  # np.isclose(Tensor) comes back here
    return np.isclose(self, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True if all elements are close: a Python bool."""
    return bool(np.all(isclose(self, other, rtol, atol, equal_nan)))


def isposinf(self):
    """True if each element is +inf."""
    return np.equal(refuse_complex(self), math.inf)


def isneginf(self):
    """True if each element is -inf."""
    return np.equal(refuse_complex(self), -math.inf)


def refuse_complex(x):
    """x, or an error when it is complex."""
    if is_complex(x):
        raise ValueError("infinities of complex tensors have no sign; look at .real and .imag separately.")
    return x
