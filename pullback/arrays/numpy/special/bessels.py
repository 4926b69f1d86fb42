"""Bessel functions: of whole order, of any order, scaled, spherical; the Airy function."""

import math

import numpy as np
import scipy.special as scipy_special

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.special.reals import in_double, of_reals


def vanishing(function, at=np.isposinf):
    """The function of (orders and) x with its limit 0 `at` infinity, or another place, where SciPy has nan."""

    def kernel(*args):
        value = function(*args)
        if value.dtype.kind == "f" and np.isnan(value).any():
            value = np.where(at(args[-1]), 0, value).astype(value.dtype, copy=False)
        return value

    kernel.__name__ = function.__name__
    return kernel


_OVERFLOWS = 1e3


def to_the_end(function, scaled):
    """The function, finite up to 713 too, where SciPy's overflows at 709.8 with exp(|x|), and infinite at infinity."""

    def kernel(x):
        value = function(x)
        beyond = np.logical_not(np.isfinite(value))
        if not beyond.any():
            return value
        near = np.clip(x, -_OVERFLOWS, _OVERFLOWS)  # exp(inf) would meet 0
        with np.errstate(over="ignore"):
            root = np.exp(np.abs(near) / 2)
            by_parts = scaled(near) * root * root
        return np.where(beyond, by_parts, value).astype(value.dtype, copy=False)

    kernel.__name__ = function.__name__
    return kernel


bessel_j0 = of_reals(vanishing(scipy_special.j0, np.isinf))
bessel_j1 = of_reals(vanishing(scipy_special.j1, np.isinf))
bessel_y0 = of_reals(vanishing(scipy_special.y0))
bessel_y1 = of_reals(vanishing(scipy_special.y1))
jv = vanishing(scipy_special.jv)
yv = vanishing(scipy_special.yv)
i0 = of_reals(to_the_end(scipy_special.i0, scipy_special.i0e))
i0e = of_reals(scipy_special.i0e)
i1 = of_reals(to_the_end(scipy_special.i1, scipy_special.i1e))
i1e = of_reals(scipy_special.i1e)
k0 = of_reals(scipy_special.k0)
k0e = of_reals(scipy_special.k0e)
k1 = of_reals(scipy_special.k1)
k1e = of_reals(scipy_special.k1e)
iv = vanishing(scipy_special.iv, lambda x: np.abs(x) < 1e-200)
kv = scipy_special.kv

_NEAR = 2.0
_FAR = 25.0
_SMALL = 1e-4
_TINY = 1e-9  # the first terms of a series are exact up to here
_LARGE = 1e300  # derivatives of scaled functions are 0 from here on, and those of SciPy nan somewhere
_AIRY_ENDS = 1000.0


@of_reals
def airy_ai(self):
    """Airy's function Ai; 0 from 108 on, where SciPy has nan in the end."""
    return scipy_special.airy(np.minimum(self, _AIRY_ENDS))[0]


@of_reals
def airy_ai_prime(self):
    """The derivative of Ai."""
    return scipy_special.airy(np.minimum(self, _AIRY_ENDS))[1]


@of_reals
def spherical_bessel_j0(self):
    """sin(x) / x, 1 at 0 and 0 at infinity."""
    x = np.asarray(self)
    x = x if x.dtype.kind == "f" else x.astype(float)
    with np.errstate(invalid="ignore"):
        value = np.sin(x) / np.where(x == 0, 1, x)
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, value)).astype(x.dtype, copy=False)


def spherical_jn(self, order):
    """The spherical Bessel function of the first kind of a whole order; 0 for order -1, which a factor 0 precedes."""
    x, dtype = in_double(self)
    if order < 0:
        return np.zeros(x.shape, dtype)
    small = np.abs(x) < _SMALL
    # SciPy's is 0 below 1e-154 and nan at -inf; the parity is that of the order.
    value = scipy_special.spherical_jn(order, np.where(small, 1, np.abs(x)))
    first = np.where(small, x, 0)
    series = first**order / scipy_special.factorial2(2 * order + 1) * (1 - first * first / (4 * order + 6))
    return np.where(small, series, np.where(x < 0, (-1) ** order * value, value)).astype(dtype, copy=False)


def i0e_derivative(self, order):
    """The derivative of exp(-x) I_0(x) of that order, x >= 0.

    exp(-x) I_0(x) = M(1/2, 1, -2 x), Kummer's function (DLMF 10.39.5, 13.3.15): nothing cancels, whereas i1e - i0e,
    which is quicker, loses all digits as x grows.
    """
    x, dtype = in_double(self)
    x = np.minimum(x, _LARGE)
    near = (x < _NEAR) & (order == 1)
    value = np.empty(x.shape)
    value[near] = scipy_special.i1e(x[near]) - scipy_special.i0e(x[near])
    factor = (-2.0) ** order * scipy_special.poch(0.5, order) / math.factorial(order)
    value[~near] = factor * scipy_special.hyp1f1(0.5 + order, 1.0 + order, -2 * x[~near])
    return value.astype(dtype, copy=False)


@of_reals
def i1_derivative(self):
    """I_0(x) - I_1(x) / x, 1/2 at 0."""
    first = i0(self)
    value = first - i1(self) / np.where(self == 0, 1, self)
    near = np.abs(self) < _TINY
    return np.where(np.isinf(first), first, np.where(near, 0.5, value)).astype(first.dtype, copy=False)


def i1e_derivative(self):
    """The derivative of exp(-|x|) I_1(x): i0e - i1e - i1e / |x|, 1/2 at 0."""
    x, dtype = in_double(self)
    x = np.abs(x)
    value = -i0e_derivative(x, 1) - scipy_special.i1e(x) / np.where(x == 0, 1, x)
    return np.where(x < _TINY, 0.5 - x, value).astype(dtype, copy=False)


@loops("coefficients")
def k0e_derivative(self, order):
    """The derivative of f(x) = exp(x) K_0(x) of that order.

    By x f[k+2] = (2 x - 1 - k) f[k+1] + (2 k + 1) f[k], from Bessel's equation; where that cancels, by Tricomi's
    function: f(x) = sqrt(pi) U(1/2, 1, 2 x) (DLMF 10.39.6, 13.3.22).
    """
    x, dtype = in_double(self)
    x = np.minimum(x, _LARGE)
    far = x > _FAR
    near = np.where(far, 1, x)
    values = [scipy_special.k0e(near), scipy_special.k0e(near) - scipy_special.k1e(near)]
    for k in range(order - 1):
        values.append(((2 * near - 1 - k) * values[-1] + (2 * k + 1) * values[-2]) / near)
    value = np.where(x == 0, (-1) ** order * math.inf, values[order])
    if far.any():
        factor = math.sqrt(math.pi) * (-2.0) ** order * scipy_special.poch(0.5, order)
        tail = scipy_special.hyperu(0.5 + order, 1.0 + order, 2 * np.where(far, x, _FAR))
        value = np.where(far, factor * tail, value)
    return value.astype(dtype, copy=False)
