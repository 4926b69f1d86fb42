"""What computes: plain functions on ndarrays, which take the arguments of the schema by position."""

import functools

import numpy as np
from numpy.polynomial import Polynomial
from scipy.special import zeta

# Below this the power series (radius of convergence pi), above it the closed form, whose two terms cancel near 0.
_SERIES_BELOW = 1.5
_TERMS = 28  # (1.5 / pi)**(2 * 28) < 1e-17


def langevin(x, order=0):
    """The `order`-th derivative of coth(x) - 1/x, element by element, for real x."""
    x = _real(x)
    small = np.abs(x) < _SERIES_BELOW
    near, far = np.where(small, x, 0), np.where(small, _SERIES_BELOW, x)
    return np.where(small, _series(order)(near), _closed_form(far, order)).astype(x.dtype)


def inverse_langevin(y):
    """The x with langevin(x) = y; infinite at -1 and 1, nan beyond."""
    y = _real(y)
    inside = np.abs(y) < 1
    target = np.where(inside, y, 0)
    x = target * (3 - target**2) / (1 - target**2)  # Cohen's approximation, within 5 per cent everywhere
    for _ in range(5):  # Newton doubles the number of correct digits each time
        x = x - (langevin(x) - target) / langevin(x, 1)
    edge = np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan)
    return np.where(inside, x, edge).astype(y.dtype)


def brillouin(x, spin):
    """a L(a x) - b L(b x) with b = 1 / (2 spin), a = 1 + b: the poles of the textbook form have cancelled."""
    b = 0.5 / _real(spin)
    a = 1 + b
    return a * langevin(a * x) - b * langevin(b * x)


def _real(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise TypeError("defined for real numbers here, not for complex ones")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


@functools.cache
def _series(order):
    """L(x) = 2 sum over k >= 1 of (-1)**(k + 1) zeta(2 k) / pi**(2 k) x**(2 k - 1), differentiated."""
    k = np.arange(1, _TERMS + order + 1)
    coefficients = np.zeros(2 * len(k))
    coefficients[1::2] = 2 * (-1.0) ** (k + 1) * zeta(2 * k) / np.pi ** (2 * k)
    series = Polynomial(coefficients)
    return series.deriv(order) if order else series


def _closed_form(x, order):
    """The `order`-th derivative of coth(x) less that of 1/x, away from 0."""
    coth = 1 / np.tanh(x)
    pole = (-1.0) ** order * np.prod(np.arange(1.0, order + 1)) / x ** (order + 1)
    if order == 0:
        return coth - pole
    decay = np.exp(-2 * np.abs(x))
    return 4 * decay / (1 - decay) ** 2 * _coth_polynomial(order)(coth) - pole


@functools.cache
def _coth_polynomial(order):
    """Q with coth^(order) = Q(coth) / sinh**2, from coth' = -1 / sinh**2 = 1 - coth**2."""
    if order == 1:
        return Polynomial([-1.0])
    before = _coth_polynomial(order - 1)
    return Polynomial([0, -2]) * before + Polynomial([1, 0, -1]) * before.deriv()
