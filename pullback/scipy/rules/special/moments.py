"""Integrals of elementary functions over [0, 1], which have no removable point: derivatives of exprel and log1p."""

from __future__ import annotations

import math

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.scipy.rules.special.integrals import of_arrays
from pullback.scipy.rules.special.quadrature import gauss


@of_arrays(1)
def exp_moment(x: ArrayLike, n: int) -> AnyArray:
    """The integral of t**n exp(x t) from 0 to 1."""
    nodes, weights = gauss(40)
    x = np.clip(x, -1e300, 1e300)  # of infinities, the limits
    end = np.minimum(1.0, 60 / np.maximum(np.abs(x), 1.0))[:, None]
    u, rising = end * nodes, x[:, None] > 0
    t = np.where(rising, 1 - u, u)
    # from the end where the exponential is largest
    values = t**n * np.exp(-np.abs(x)[:, None] * u) * end
    return (values @ weights) * np.exp(np.maximum(x, 0.0))


@of_arrays(1)
def log1p_moment(x: ArrayLike, n: int) -> AnyArray:
    """The integral of t**n / (1 + x t)**(n + 1) from 0 to 1."""
    small = np.abs(x) < 0.5
    y = np.where(small, 1.0, x)
    value = np.log1p(y) / y
    for k in range(1, n + 1):
        value = (value - (1 + y) ** -float(k) / k) / y
    z, series = np.where(small, x, 0.0), np.zeros_like(x)
    terms = [math.comb(n + j, n) / (n + j + 1) for j in range(70 + 12 * n)]
    for c in reversed(terms):
        series = series * -z + c
    return np.where(small, series, value)
