"""Integrals from 0 on of functions that turn from one exponential into another: Gauss's rule, stretched.

Derivatives in parameters are such integrals: what is under the integral sign is differentiated, never approximated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray

_NODES = 128
_NEGLIGIBLE = 42.0  # exp(-42) is 6e-19
_BLOCK = 1 << 12


@functools.cache
def gauss(count: int) -> tuple[AnyArray, AnyArray]:
    """Nodes and weights of Gauss's rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def integral(
    exponent: Callable[..., Any],
    weight: Callable[..., Any],
    start: AnyArray,
    turn: AnyArray,
    *args: AnyArray,
    limit: AnyArray | None = None,
) -> AnyArray:
    """The integral over u > 0 of weight(u, *args) exp(exponent(u, *args)).

    Parameters
    ----------
    exponent, weight : functions of u and of the arguments, which they get with a last dimension for u
        The exponent is 0 at 0 and falls in the end, with at most a small hump before.
    start : ndarray
        Where the exponent has not fallen far yet, if it falls as fast as it can: the end is looked for from here.
    turn : ndarray
        Where the exponent turns from one straight line into another, if it does; the nodes lie densely there.
    *args : ndarrays, all of one shape and one dimension
    limit : ndarray, optional
        Where the integral ends, if not at infinity.
    """
    result = np.empty(start.shape)
    limit = np.full(start.shape, np.inf) if limit is None else limit
    for first in range(0, len(start), _BLOCK):
        part = slice(first, first + _BLOCK)
        columns = [x[part] for x in args]
        result[part] = _integral(exponent, weight, start[part], turn[part], limit[part], columns)
    return result


def _integral(
    exponent: Callable[..., Any],
    weight: Callable[..., Any],
    end: AnyArray,
    turn: AnyArray,
    limit: AnyArray,
    args: Sequence[AnyArray],
) -> AnyArray:
    for _ in range(200):
        short = (exponent(end, *args) > -_NEGLIGIBLE) & (end < limit)
        if not short.any():
            break
        end = np.where(short, 2 * end, end)
    end = np.minimum(end, limit)
    inner = 0 * end
    for _ in range(4):  # nodes beyond the end of what counts are wasted
        middle = (inner + end) / 2
        far = exponent(middle, *args) < -_NEGLIGIBLE
        inner, end = np.where(far, inner, middle), np.where(far, middle, end)
    low, high = np.arcsinh(-turn), np.arcsinh(end - turn)
    nodes, weights = gauss(_NODES)
    w = low[:, None] + (high - low)[:, None] * nodes
    u = np.maximum(turn[:, None] + np.sinh(w), 0.0)
    columns = [x[:, None] for x in args]
    values = weight(u, *columns) * np.exp(exponent(u, *columns)) * np.cosh(w)
    return (high - low) * (values @ weights)
