"""The kernels of scipy.signal's operators: plain functions on ndarrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy import signal

from pullback.core.numpy_types import AnyArray

_CONVOLVED_FROM = 20_000  # products in a row
_DIRECT_BELOW = 10_000_000  # products; beyond, transforms are faster


def moving_sum(x: AnyArray, b: AnyArray) -> AnyArray:
    """By lfilter, which of one coefficient is a product."""
    if b.shape[-1] == 1:
        return x * b
    dtype = np.result_type(x, b)
    # If `a` has one number lfilter convolves each row by a call from Python, which for short rows takes three times as
    # long as its recursion.
    one = np.array([1, 0], dtype) if b.shape[-1] * x.shape[-1] < _CONVOLVED_FROM else np.ones(1, dtype)
    return _by_each_filter(lambda b, x: signal.lfilter(b, one, x), b, x)


def recursion(x: AnyArray, a: AnyArray) -> AnyArray:
    """By lfilter."""
    one = np.array([1], x.dtype if x.dtype is a.dtype else np.result_type(x, a))  # in half the time of np.ones
    return _by_each_filter(lambda a, x: signal.lfilter(one, a, x), a, x)


def _by_each_filter(run: Callable[..., Any], filters: AnyArray, x: AnyArray) -> AnyArray:
    """Each filter along the rows that are its own: dimensions in front are broadcast, those of stride 0 are one."""
    dtype = x.dtype
    if filters.dtype is not dtype:
        dtype = np.result_type(x, filters)
        filters, x = filters.astype(dtype, copy=False), x.astype(dtype, copy=False)
    if filters.ndim == 1:
        return run(filters, x) if x.size else x
    front = np.broadcast_shapes(x.shape[:-1], filters.shape[:-1])
    x = np.broadcast_to(x, (*front, x.shape[-1]))
    same = [slice(1) if step == 0 else slice(None) for step in filters.strides[:-1]]
    filters = filters[tuple(same)].reshape((1,) * (x.ndim - filters.ndim) + filters[tuple(same)].shape)
    made = np.empty(x.shape, dtype)
    for index in np.ndindex(*filters.shape[:-1]) if x.size else ():
        place = tuple(slice(None) if n == 1 else i for n, i in zip(filters.shape, index, strict=False))
        made[place] = run(filters[index], x[place])
    return made


def lagged_products(x: AnyArray, y: AnyArray, lags: int) -> AnyArray:
    """A product of the rows for each lag."""
    size = x.shape[-1]
    return np.stack([np.vecdot(y[..., : max(size - k, 0)], x[..., k:]) for k in range(lags)], -1)


def correlated(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any], dims: int) -> AnyArray:
    """By a product with all windows, or by transforms where that is faster."""
    dtype = x.dtype
    if w.dtype is not dtype:
        dtype = np.result_type(x, w)
        x, w = x.astype(dtype, copy=False), w.astype(dtype, copy=False)
    core = w.shape[w.ndim - dims :]
    sizes = [n - m + 1 for n, m in zip(x.shape[x.ndim - dims :], core, strict=True)]
    if min(sizes, default=1) < 1:
        raise ValueError(f"the kernel {w.shape} must fit into the array {x.shape}.")
    if x.size // max(x.shape[-1], 1) * float(sizes[-1]) * w.size < _DIRECT_BELOW:
        front, steps = x.shape[: x.ndim - dims], x.strides
        shape, strides = (*front, *sizes, *core), (*steps, *steps[x.ndim - dims :])
        if x.flags.c_contiguous:  # as_strided takes ten times as long
            windows = np.ndarray(shape, dtype, x, 0, strides)
        else:
            windows = as_strided(x, shape, strides, writeable=False)
        if w.ndim == dims:
            return (windows.reshape((-1, w.size)) @ w.reshape(-1)).reshape((*front, *sizes))
        flat = windows.reshape((*front, math.prod(sizes), w[(0,) * (w.ndim - dims)].size))
        found = (flat @ w.reshape((*w.shape[: w.ndim - dims], -1, 1)))[..., 0]
        return found.reshape((*found.shape[:-1], *sizes))
    backwards: tuple[Any, ...] = (..., *[slice(None, None, -1)] * dims)
    w = w[backwards]
    rank = max(x.ndim, w.ndim)
    x, w = (a.reshape((1,) * (rank - a.ndim) + a.shape) for a in (x, w))
    return signal.fftconvolve(x, w, "valid", tuple(range(rank - dims, rank)))
