"""scipy.signal's convolutions and correlations in as many dimensions as the arrays have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from scipy import fft as _fft

from pullback.core.numpy_types import AnyArray, ArrayLike, Axes, Numeric
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, floating, needs_grad
from pullback.scipy.rules.signal.operators import correlated


def _pair(name: str, first: ArrayLike, second: ArrayLike) -> tuple[AnyArray, AnyArray]:
    first, second = floating(array(first)), floating(array(second))
    if first.ndim != second.ndim:
        raise ValueError(f"{name}: both inputs must have as many dimensions, got {first.ndim} and {second.ndim}.")
    return first, second


def _full(x: AnyArray, w: AnyArray) -> AnyArray:
    around = [(n - 1, n - 1) for n in w.shape]
    return correlated(np.pad(x, around), w[(slice(None, None, -1),) * w.ndim], w.ndim)


def _cut(full: AnyArray, shape: dict[int, int], axes: Sequence[int]) -> AnyArray:
    """The middle of `full` with these sizes along the axes."""
    index = [slice(None)] * full.ndim
    for axis in axes:
        start = (full.shape[axis] - shape[axis]) // 2
        index[axis] = slice(start, start + shape[axis])
    return full[tuple(index)]


def _of_mode(full: AnyArray, x: AnyArray, w: AnyArray, mode: str, axes: Sequence[int]) -> AnyArray:
    if mode == "full":
        return full
    if mode == "same":
        return _cut(full, x.shape, axes)
    if mode != "valid":
        raise ValueError(f"acceptable mode flags are 'valid', 'same', or 'full', got {mode!r}.")
    shape = {axis: abs(x.shape[axis] - w.shape[axis]) + 1 for axis in axes}
    return _cut(full, shape, axes)


def _nested(name: str, x: AnyArray, w: AnyArray, axes: Sequence[int], mode: str) -> None:
    signs = {np.sign(x.shape[axis] - w.shape[axis]) for axis in axes}
    if mode == "valid" and {1, -1} <= signs:
        raise ValueError(f"{name}: for 'valid' mode, one must be at least as large as the other in every dimension")


@scipy_rule("scipy.signal.convolve")
def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> AnyArray:
    """The sums themselves, or by transforms, as SciPy chooses."""
    x, w = _pair("convolve", in1, in2)
    if x.ndim == 0:
        return x * w
    if method == "fft":
        return fftconvolve(x, w, mode)
    axes = tuple(range(x.ndim))
    _nested("convolve", x, w, axes, mode)
    full = _full(x, w) if x.size >= w.size else _full(w, x)
    return _of_mode(full, x, w, mode, axes)


@scipy_rule("scipy.signal.correlate")
def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> AnyArray:
    """sum over l of x[l] conj(y[l - k])."""
    x, w = _pair("correlate", in1, in2)
    turned = np.conj(w[(slice(None, None, -1),) * w.ndim]) if w.ndim else np.conj(w)
    return convolve(x, turned, mode, method)


@scipy_rule("scipy.signal.fftconvolve")
def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axes = None) -> AnyArray:
    """The product of the transforms, along some axes; the others are broadcast."""
    x, w = _pair("fftconvolve", in1, in2)
    if x.ndim == 0:
        return x * w
    axes = tuple(range(x.ndim)) if axes is None else normalize_axis_tuple(axes, x.ndim)
    _nested("fftconvolve", x, w, axes, mode)
    for axis in set(range(x.ndim)) - set(axes):
        if x.shape[axis] != w.shape[axis] and 1 not in (x.shape[axis], w.shape[axis]):
            raise ValueError(f"incompatible shapes for in1 and in2: {tuple(x.shape)} and {tuple(w.shape)}")
    real = x.dtype.kind != "c" and w.dtype.kind != "c"
    sizes = [x.shape[axis] + w.shape[axis] - 1 for axis in axes]
    fast = [_fft.next_fast_len(n, real) for n in sizes]
    there, back = (np.fft.rfftn, np.fft.irfftn) if real else (np.fft.fftn, np.fft.ifftn)
    full = back(there(x, fast, axes) * there(w, fast, axes), fast, axes)
    index = [slice(None)] * x.ndim
    for axis, n in zip(axes, sizes, strict=True):
        index[axis] = slice(n)
    return _of_mode(full[tuple(index)], x, w, mode, axes)


scipy_rule("scipy.signal.oaconvolve")(fftconvolve)


def _in_plane(kind_of: str, x: ArrayLike, w: ArrayLike, mode: str, boundary: str, fillvalue: Numeric) -> AnyArray:
    x, w = _pair(kind_of, x, w)
    if x.ndim != 2:
        raise ValueError(f"{kind_of} inputs must both be 2-D arrays")
    _nested(kind_of, x, w, (0, 1), mode)
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"acceptable mode flags are 'valid', 'same', or 'full', got {mode!r}.")
    swapped = mode == "valid" and (x.shape[0] < w.shape[0] or x.shape[1] < w.shape[1])
    if swapped:
        x, w = w, x
    w = np.conj(w) if kind_of == "correlate2d" else w[::-1, ::-1]
    if mode == "valid":
        found = correlated(x, w, 2)
        return found[::-1, ::-1] if swapped and kind_of == "correlate2d" else found
    around = [(n - 1, n - 1) for n in w.shape]
    if boundary in ("fill", "pad") and (needs_grad(fillvalue) or fillvalue != 0):
        padded = np.pad(x - fillvalue, around) + fillvalue
    elif boundary in ("fill", "pad"):
        padded = np.pad(x, around)
    elif boundary in ("symm", "symmetric", "wrap", "circular"):
        kind: Literal["symmetric", "wrap", "constant"] = "symmetric" if boundary.startswith("symm") else "wrap"
        places = [np.pad(np.arange(n), width, kind) for n, width in zip(x.shape, around, strict=True)]
        padded = x[np.ix_(*places)]
    else:
        raise ValueError(f"acceptable boundary flags are 'fill', 'symm' or 'wrap', got {boundary!r}.")
    full = correlated(padded, w, 2)
    if mode == "full":
        return full
    starts = [n // 2 if kind_of == "correlate2d" else (n - 1) // 2 for n in w.shape]
    return full[starts[0] : starts[0] + x.shape[0], starts[1] : starts[1] + x.shape[1]]


@scipy_rule("scipy.signal.convolve2d")
def convolve2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: int = 0
) -> AnyArray:
    """In two dimensions, with something else than zeros around."""
    return _in_plane("convolve2d", in1, in2, mode, boundary, fillvalue)


@scipy_rule("scipy.signal.correlate2d")
def correlate2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: int = 0
) -> AnyArray:
    """The same with the second array conjugated and not turned."""
    return _in_plane("correlate2d", in1, in2, mode, boundary, fillvalue)
