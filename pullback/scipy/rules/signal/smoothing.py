"""scipy.signal's least-squares fits of polynomials, which are linear in the samples."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from scipy import signal

from pullback.core.errors import OperatorError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.tensor import Tensor
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.operands import along, array, floating, moveaxis
from pullback.scipy.rules.signal.filters import upfirdn


@scipy_rule("scipy.signal.savgol_filter")
def savgol_filter(
    x: ArrayLike, window_length: int, polyorder: int, deriv: int = 0, delta: ArrayLike = 1.0, axis: int = -1,
    mode: str = "interp", cval: float = 0.0,
) -> AnyArray:  # fmt: skip
    """A convolution; with mode "interp" the ends are those of polynomials through the first and the last window."""
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    if isinstance(delta, Tensor):
        unit: Any = savgol_filter(x, window_length, polyorder, deriv, 1.0, axis, mode, cval)
        return unit / delta**deriv
    x = floating(array(x))
    axis = normalize_axis_index(axis, x.ndim)
    coefficients = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    if mode != "interp":
        return RULES["scipy.ndimage.convolve1d"](x, coefficients, axis, None, mode, cval)
    n, half = x.shape[axis], window_length // 2
    if window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    x = moveaxis(x, axis, -1)
    ends = signal.savgol_filter(np.eye(window_length), window_length, polyorder, deriv, delta, 0)
    middle = RULES["scipy.ndimage.convolve1d"](x, coefficients, -1, None, "constant")[..., half : n - half]
    first = x[..., :window_length] @ ends[:half].T
    last = x[..., n - window_length :] @ ends[window_length - half :].T
    return moveaxis(np.concatenate([first, middle, last], -1).astype(x.dtype), -1, axis)


@scipy_rule("scipy.signal.detrend", "scipy.signal._signaltools.detrend")
def detrend(
    data: ArrayLike, axis: int = -1, type: str = "linear", bp: int = 0, overwrite_data: bool = False
) -> AnyArray:
    """Return what is left of the mean, or of a straight line through each part."""
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x = floating(array(data))
    axis = normalize_axis_index(axis, x.ndim)
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    n = x.shape[axis]
    places = np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]])).astype(int)
    if places[-1] > n or places[0] < 0:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    x, parts = moveaxis(x, axis, -1), []
    for start, stop in pairwise(places):
        m = stop - start
        basis = np.stack([np.ones(m), np.arange(1, m + 1) / m], -1)
        q = np.linalg.qr(basis)[0][:, : min(2, m)].astype(x.dtype)
        part = x[..., start:stop]
        parts.append(part - (part @ q) @ q.T)
    return moveaxis(np.concatenate(parts, -1), -1, axis)


@scipy_rule("scipy.signal.decimate")
def decimate(
    x: ArrayLike, q: int, n: int | None = None, ftype: str = "iir", axis: int = -1, zero_phase: bool = True
) -> AnyArray:
    """Every q-th sample of what a low-pass filter leaves."""
    x, q = floating(array(x)), operator.index(q)
    if ftype == "fir":
        b = signal.firwin((20 * q if n is None else operator.index(n)) + 1, 1.0 / q, window="hamming")
        if zero_phase:
            return RULES["scipy.signal.resample_poly"](x, 1, q, axis=axis, window=b)
        y = upfirdn(b, x, 1, q, axis)
        return y[along(x.ndim, axis, slice(-(-x.shape[axis] // q)))]
    if ftype != "iir":
        raise OperatorError(
            f"scipy.signal.decimate: ftype {ftype!r} has no rule. Filter by sosfiltfilt with its sections, and take "
            "every q-th sample."
        )
    sections = signal.cheby1(8 if n is None else operator.index(n), 0.05, 0.8 / q, output="sos")
    filtered = RULES["scipy.signal.sosfiltfilt" if zero_phase else "scipy.signal.sosfilt"](sections, x, axis=axis)
    return filtered[along(x.ndim, axis, slice(None, None, q))]


@scipy_rule("scipy.signal.medfilt2d")
def medfilt2d(input: ArrayLike, kernel_size: int = 3) -> AnyArray:
    """medfilt of an image."""
    x = floating(array(input))
    if x.ndim != 2:
        raise ValueError(f"medfilt2d takes an image, got shape {tuple(x.shape)}.")
    return RULES["scipy.signal.medfilt"](x, kernel_size)
