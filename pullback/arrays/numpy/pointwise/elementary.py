"""NumPy kernels of elementary functions that are no ufuncs, or whose ufunc is not exact: logit, sinc, binary digits."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.dtypes import in_common, is_complex
from pullback.arrays.numpy.scipy_functions import scipy_special

gcd = np.gcd
lcm = np.lcm
nextafter = np.nextafter
_SERIES = 1.0  # below, sinc and its derivatives are power series: 1 / x would lose digits


def logit(self, eps=None):
    """log(x / (1 - x)) of x = self, first brought into [eps, 1 - eps]; a negative eps is as none."""
    if is_complex(self):
        raise ValueError("not defined for complex tensors; write log(z / (1 - z)).")
    if eps is not None and eps >= 0:
        self = np.clip(self, eps, 1 - eps)
    x = _floating(self)
    return scipy_special().logit(x).astype(x.dtype, copy=False)


def sinc(self):
    """sin(pi x) / (pi x), 1 at 0 and 0 at infinity."""
    x = _floating(self)
    with np.errstate(over="ignore"):
        return _sin_pi(x, 0) / np.where(x == 0, 1, math.pi * x) + np.equal(x, 0)


@loops("coefficients")
def sinc_derivative(self, order):
    """The derivative of sinc of that order, from (x sinc)' = cos(pi x) by the rule of Leibniz, or by its series."""
    x = _floating(self)
    near = np.abs(x) < _SERIES
    far = np.where(near, 1, x)
    value = sinc(far)
    for k in range(1, order + 1):
        value = (math.pi ** (k - 1) * _sin_pi(far, k) - k * value) / far
    return np.where(near, _sinc_series(np.where(near, x, 0), order), value).astype(x.dtype, copy=False)


def _floating(x):
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def _sin_pi(x, quarters):
    """sin(pi x + quarters pi / 2): exact zeros, and no digits lost for large x. Infinity gives 0."""
    whole = np.rint(np.real(x))
    whole = np.where(np.isfinite(whole), whole, np.where(np.isnan(whole), whole, 0))
    rest = np.where(np.isinf(x), 0, x - whole) if not is_complex(x) else x - whole
    turn = rest * math.pi
    part = np.cos(turn) if quarters % 2 else np.sin(turn)
    negative = np.not_equal(np.remainder(whole, 2) >= 1, quarters % 4 >= 2)
    return np.where(negative, -part, part)


@loops("coefficients")
def _sinc_series(x, order):
    """The derivative of sum (-1)**m (pi x)**(2 m) / (2 m + 1)!."""
    total = np.zeros_like(x)
    for m in range(16 + order, (order + 1) // 2 - 1, -1):
        p = 2 * m - order
        total = total * (x * x) + (-1) ** m * math.pi ** (2 * m) / (2 * m + 1) / math.factorial(p)
    return total * x if order % 2 else total


def frexp(self):
    """(mantissa, exponent) with self = mantissa * 2**exponent and 0.5 <= |mantissa| < 1."""
    return tuple(np.frexp(self))


def ldexp(self, other):
    """self * 2**other; for whole exponents without overflow or underflow of the power alone."""
    if isinstance(other, float) or (isinstance(self, (int, float)) and np.asarray(other).dtype.kind == "f"):
        self, other = in_common(self, other)
    self, exponent = _floating(self), np.asarray(other)
    if is_complex(self) or exponent.dtype.kind not in "iu":
        return self * np.exp2(other)
    limit = np.iinfo(np.int32).max
    return np.ldexp(self, np.clip(exponent, -limit, limit).astype(np.int32))


def heaviside(self, values):
    """0 where self < 0, 1 where self > 0, values where self is 0."""
    if is_complex(self) or is_complex(values):
        raise ValueError("not defined for complex tensors, which have no sign.")
    dtype = np.result_type(self, values)
    if dtype.kind == "f":
        return np.heaviside(self, values)
    return np.where(np.equal(self, 0), values, np.greater(self, 0)).astype(dtype, copy=False)
