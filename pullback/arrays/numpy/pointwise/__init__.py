"""Kernels of the area pointwise: elementwise arithmetic, functions, comparisons and choices, casts and copies."""

from pullback.arrays.numpy.pointwise.casting import clone, copy, fill, fill_, fill_diagonal, to_copy, zero, zero_
from pullback.arrays.numpy.pointwise.comparisons import (
    clamp_max, clamp_min, fmax, fmin, ge, gt, le, lt, maximum, minimum,
)
from pullback.arrays.numpy.pointwise.complexes import angle, complex, conj, imag, polar, real
from pullback.arrays.numpy.pointwise.derivatives import (
    acosh_slope, asin_slope, asinh_slope, atan_slope, atanh_slope, hypot_slope, logistic, times_complement,
)
from pullback.arrays.numpy.pointwise.elementary import (
    frexp, gcd, heaviside, lcm, ldexp, logit, nextafter, sinc, sinc_derivative,
)
from pullback.arrays.numpy.fast.error_function import erf
from pullback.arrays.numpy.pointwise.exponentials import erfc, logaddexp, logaddexp2, sigmoid, xlogy
from pullback.arrays.numpy.pointwise.powers import pow, reciprocal, rsqrt
from pullback.arrays.numpy.pointwise.selecting import clamp, lerp, nan_to_num, relu, where
from pullback.arrays.numpy.pointwise.ufuncs import (
    abs, acos, acosh, add, add_alpha, addcdiv, addcmul, allclose, asin, asinh, atan, atan2, atanh, bitwise_and,
    bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt, ceil, copysign, cos, cosh,
    deg2rad, div, div_rounded, eq, equal, exp, exp2, expm1, float_power, floor, floor_divide, fmod, frac, hypot,
    isclose, isfinite, isinf, isnan, isneginf, isposinf, isreal, log, log10, log1p, log2, logical_and, logical_not,
    logical_or, logical_xor, mul, ne, neg, rad2deg, remainder, round, rsub, sgn, sign, signbit, sin, sinh, sqrt,
    square, sub, sub_alpha, tan, tanh, trunc,
)
