"""NumPy kernels of the elementwise operators.

Most are NumPy's ufuncs themselves. The functions below differ from the nearest ufunc in semantics (PyTorch's) or in
speed; the comment on each says which. Names are the operators', so several hide builtins of Python in this file.
"""

import functools
import math

import numpy as np

from pullback.arrays.numpy.selecting import SMALL, clamp, lerp, nan_to_num, relu, where

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "add_alpha",
    "addcdiv",
    "addcmul",
    "allclose",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "complex",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "div",
    "div_rounded",
    "eq",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "ge",
    "gt",
    "hypot",
    "imag",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "le",
    "lerp",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "nan_to_num",
    "ne",
    "neg",
    "polar",
    "pow",
    "rad2deg",
    "real",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "sub",
    "sub_alpha",
    "tan",
    "tanh",
    "trunc",
    "where",
    "xlogy",
]  # fmt: skip

PythonComplex = complex  # the builtin's name is an operator's here

add = np.add
sub = np.subtract
mul = np.multiply
div = np.true_divide
neg = np.negative
floor_divide = np.floor_divide
remainder = np.remainder
fmod = np.fmod
float_power = np.float_power
sqrt = np.sqrt
exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
log = np.log
log2 = np.log2
log10 = np.log10
log1p = np.log1p
sin = np.sin
cos = np.cos
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
clamp_min = maximum = np.maximum
clamp_max = minimum = np.minimum
fmax = np.fmax
fmin = np.fmin
hypot = np.hypot
copysign = np.copysign
deg2rad = np.deg2rad
rad2deg = np.rad2deg
eq = np.equal
ne = np.not_equal
lt = np.less
le = np.less_equal
gt = np.greater
ge = np.greater_equal
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


@functools.cache
def scipy_special():
    """scipy.special, imported when first needed: it takes longer to import than the whole package."""
    import scipy.special

    return scipy.special


def is_complex(x):
    """Whether an array or a number is complex."""
    return x.dtype.kind == "c" if hasattr(x, "dtype") else type(x) is PythonComplex


# Arithmetic


def add_alpha(self, other, alpha):
    """self + alpha * other."""
    return np.add(self, other if alpha == 1 else np.multiply(other, alpha))


def sub_alpha(self, other, alpha):
    """self - alpha * other."""
    return np.subtract(self, other if alpha == 1 else np.multiply(other, alpha))


def rsub(self, other, alpha=1):
    """other - alpha * self."""
    return np.subtract(other, self if alpha == 1 else np.multiply(self, alpha))


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


def addcmul(self, tensor1, tensor2, value=1):
    """self + value * tensor1 * tensor2."""
    return add_alpha(self, np.multiply(tensor1, tensor2), value)


def addcdiv(self, tensor1, tensor2, value=1):
    """self + value * tensor1 / tensor2."""
    return add_alpha(self, np.true_divide(tensor1, tensor2), value)


# Powers


def pow(self, exponent):
    """self ** exponent. A Python number as exponent of a real array takes the fast ways of `real_power`."""
    if type(exponent) is int or type(exponent) is float:
        kind = self.dtype.kind if hasattr(self, "dtype") else ""
        if exponent == 2 and kind in ("f", "c"):
            return np.square(self)
        if kind == "f":
            return real_power(self, exponent)
    try:
        return np.power(self, exponent)
    except ValueError:
        if isinstance(exponent, int):
            raise
        return integer_power(self, exponent)


def integer_power(self, exponent):
    """Powers of integers where some exponents are negative: 1 / self**-exponent towards zero, and 0 for 1 / 0.

    PyTorch's rule. np.power refuses them, as `pow` does for an exponent that is a number.
    """
    powers = np.power(self, np.maximum(exponent, 0))
    reciprocals = np.where(np.abs(self) == 1, np.power(self, np.abs(exponent)), 0)
    return np.where(np.less(exponent, 0), reciprocals, powers).astype(powers.dtype, copy=False)


def real_power(x, n):
    """x ** n for a floating array and a Python number.

    np.power takes 47 ns an element where the base is negative and 2 ns where it is not (NumPy 2.4, AVX-512), so whole
    exponents go through products or |x|.
    """
    if n == 3:
        return x * x * x
    if n == 4:
        return np.square(np.square(x))
    if n == -1:
        return np.reciprocal(x)
    if n == 0.5:
        return np.sqrt(x)
    if math.isfinite(n) and n == math.floor(n):
        magnitude = np.power(np.absolute(x), n)
        return np.copysign(magnitude, x) if n % 2 else magnitude
    return np.power(x, n)


def rsqrt(self):
    """1 / sqrt(self)."""
    return np.reciprocal(np.sqrt(self))


def reciprocal(self):
    """1 / self; unlike np.reciprocal a true division for integers."""
    return np.true_divide(1, self)


# Exponentials and logarithms


def logaddexp(self, other):
    """log(exp(self) + exp(other)) without overflow; complex arguments too, which np.logaddexp refuses."""
    if not (is_complex(self) or is_complex(other)):
        return np.logaddexp(self, other)
    first = np.real(self) >= np.real(other)
    high, low = np.where(first, self, other), np.where(first, other, self)
    return np.where(high == low, high + math.log(2), high + np.log1p(np.exp(np.where(high == low, 0, low - high))))


def logaddexp2(self, other):
    """log2(2**self + 2**other) without overflow."""
    return np.logaddexp2(self, other)


def sigmoid(self):
    """1 / (1 + exp(-self)). SciPy's expit is quickest on small arrays, NumPy's vectorised exp on large ones."""
    if is_complex(self):
        return complex_sigmoid(self)
    if np.size(self) < SMALL:
        return scipy_special().expit(self)
    with np.errstate(over="ignore"):  # exp(-self) = inf gives 0, which is the answer
        y = np.exp(np.negative(self))
        y += 1
        return np.reciprocal(y, out=y)


def complex_sigmoid(z):
    """sigmoid of complex z by whichever of exp(z) and exp(-z) is at most 1 in modulus."""
    right = np.real(z) >= 0
    e = np.exp(np.where(right, -z, z))
    return np.where(right, 1, e) / (1 + e)


def xlogy(self, other):
    """self * log(other), 0 where self is 0."""
    return scipy_special().xlogy(self, other)


def erf(self):
    """The error function."""
    return scipy_special().erf(self)


def erfc(self):
    """1 - erf(self), accurate where that cancels."""
    return scipy_special().erfc(self)


# Complex parts and signs


def conj(self):
    """The conjugate, in memory of its own. (np.conjugate makes int8 of booleans.)"""
    return np.conjugate(self) if is_complex(self) else self.copy()


def real(self):
    """The real part: a view."""
    return self.real


def imag(self):
    """The imaginary part: a view."""
    if self.dtype.kind != "c":
        raise ValueError(
            f"a tensor of dtype {self.dtype} has no imaginary part to view; use zeros_like(tensor) for zeros."
        )
    return self.imag


def angle(self):
    """The argument of a complex number in (-pi, pi]; 0 or pi for a real one."""
    return np.arctan2(self.imag, self.real) if is_complex(self) else np.arctan2(0, self)


def complex(real, imag):
    """real + 1j * imag, without arithmetic: infinities and nans stay in their part."""
    out = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), complex_type(real, imag))
    out.real, out.imag = real, imag
    return out


def polar(abs, angle):
    """abs * exp(1j * angle)."""
    complex_type(abs, angle)
    return complex(abs * np.cos(angle), abs * np.sin(angle))


def complex_type(first, second):
    """The complex dtype for two parts of one floating dtype."""
    dtypes = [np.asarray(x).dtype for x in (first, second)]
    if dtypes[0].kind != "f" or dtypes[0] != dtypes[1]:
        raise ValueError(f"both parts must have one real floating dtype, but they are {dtypes[0]} and {dtypes[1]}.")
    return np.result_type(dtypes[0], np.complex64)


def sgn(self):
    """self / abs(self), 0 at 0. Booleans are their own signs, which np.sign does not know."""
    return self.copy() if getattr(self, "dtype", None) == np.bool else np.sign(self)


def sign(self):
    """-1, 0 or 1 (real arguments; `sgn` takes complex ones)."""
    if is_complex(self):
        raise ValueError("not defined for complex tensors; use sgn, which gives z / |z|.")
    return sgn(self)


# Rounding


def round(self, decimals=0):
    """Round to `decimals` places, halves to even."""
    return np.round(self, decimals)


def frac(self):
    """self - trunc(self): the fractional part, with the sign of self."""
    return np.subtract(self, np.trunc(self))


# Comparisons beyond the ufuncs


def equal(self, other):
    """Whether shape and all elements agree: a Python bool."""
    return bool(np.array_equal(self, other))


def isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|self - other| <= atol + rtol * |other|, elementwise."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise ValueError(f"{name} must be at least 0, but it is {value}.")
    return np.isclose(self, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close: a Python bool."""
    return bool(np.all(isclose(self, other, rtol, atol, equal_nan)))


def isposinf(self):
    """Whether each element is +inf."""
    return np.equal(refuse_complex(self), math.inf)


def isneginf(self):
    """Whether each element is -inf."""
    return np.equal(refuse_complex(self), -math.inf)


def refuse_complex(x):
    """x, or an error when it is complex."""
    if is_complex(x):
        raise ValueError("infinities of complex tensors have no sign; look at .real and .imag apart.")
    return x
