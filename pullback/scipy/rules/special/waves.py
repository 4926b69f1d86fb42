"""Dawson's integral, Faddeeva's function and Voigt's profile, differentiated: by the recurrence, or its limit far out.

w^(k+1) = -2 z w^(k) - 2 k w^(k-1) for k > 0 cancels where |z| is large; there the asymptotic series is differentiated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from pullback.core.numpy_types import AnyArray
from pullback.scipy.rules.special.integrals import of_arrays

_FAR = 7.5
_TERMS = 24


def _by_recurrence(z: AnyArray, first: AnyArray, constant: complex, n: int) -> AnyArray:
    """The n-th derivative of f with f' = -2 z f + constant."""
    before, value = first, first
    for k in range(n):
        before, value = value, -2 * z * value + (constant if k == 0 else -2 * k * before)
    return value


def _far(z: AnyArray, factor: complex, n: int) -> AnyArray | complex:
    """The n-th derivative of factor * sum of (2 j - 1)!! / (2**j z**(2 j + 1))."""
    total: Any = 0.0
    c = 1.0
    for j in range(_TERMS):
        total = total + c * math.factorial(2 * j + n) / math.factorial(2 * j) * z ** -(2.0 * j + 1 + n)
        c *= (2 * j + 1) / 2
    return factor * (-1) ** n * total


def wofz_derivative(z: AnyArray, n: int) -> AnyArray:
    """The n-th derivative of Faddeeva's function exp(-z**2) erfc(-i z)."""
    z = np.asarray(z)
    constant = 2j / math.sqrt(math.pi)
    with np.errstate(all="ignore"):
        near = _by_recurrence(z, sp.wofz(z), constant, n)
        far = (np.abs(z) > _FAR) & (np.imag(z) > 1e-10)
        safe = np.where(far, z, 10.0)
        return np.where(far, _far(safe, 1j / math.sqrt(math.pi), n), near)


def dawsn_derivative(x: AnyArray | float, n: int) -> AnyArray:
    """The n-th derivative of Dawson's integral."""
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        near = _by_recurrence(x, sp.dawsn(x), 1.0, n)
        far = (np.abs(x) > _FAR) & (x.dtype.kind != "c")
        return np.where(far, _far(np.where(far, x, 10.0), 0.5, n), near)


@of_arrays(2)
def voigt_derivative(x: AnyArray | float, sigma: AnyArray | float, gamma: AnyArray | float, n: int, m: int) -> AnyArray:
    """The derivative of Voigt's profile, n times in x and m in gamma: Re of i**m times a derivative of w."""
    if m == n == 0:
        return sp.voigt_profile(x, sigma, gamma)
    k = n + m
    scale = np.where(sigma == 0, 1.0, sigma * math.sqrt(2))
    z = (x + 1j * gamma) / scale
    value = (1j**m * wofz_derivative(z, k)).real / scale**k / (scale * math.sqrt(math.pi))
    # sigma = 0 is Lorentz's profile: Re of i / (pi (x + i gamma))
    y = x + 1j * gamma
    lorentz = (1j**m * 1j / math.pi * (-1) ** k * math.factorial(k) * y ** -(k + 1.0)).real
    return np.where(sigma == 0, lorentz, value)
