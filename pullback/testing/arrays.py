"""Random arrays for tests: ranges, kinks to stay away from, distinct values, memory layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.annotations import DTypeLike, IntOrInts

__all__ = ["random_array"]

DEFAULT_RANGE = {"f": (-3.0, 3.0), "c": (-2.0, 2.0), "i": (-5, 6), "u": (0, 6)}


def random_array(
    shape: IntOrInts,
    dtype: DTypeLike = np.float64,
    *,
    low: float | None = None,
    high: float | None = None,
    away_from: Any = (),
    distance: float = 0.05,
    exclude_zero: bool = False,
    distinct: bool = False,
    noncontiguous: bool = False,
    rng: Any = None,
) -> np.ndarray[Any, Any]:
    """A random array in [low, high), which suits a test of derivatives.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype, default float64
        Floating, complex (real and imaginary part each in the range), integer or bool.
    low, high : float, optional
        The range; by default one around zero that suits the dtype. An integer range that holds no integer gives
        the integer next above `low`.
    away_from : float or sequence of float
        Points where the function under test has a kink or a pole: values nearer than `distance` are moved off it.
    exclude_zero : bool
        No value is zero (integers), or nearer to it than `distance` (others).
    distinct : bool
        No two values are equal, and neighbours in size are evenly spaced: for sort, max and their like.
    noncontiguous : bool
        The array is every second element of a larger one.
    rng : numpy.random.Generator or int, optional
        The source, or its seed.
    """
    dtype = np.dtype(dtype)
    rng = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if dtype.kind == "b":
        values = np.asarray(rng.integers(0, 2, shape)).astype(bool)
    elif dtype.kind in DEFAULT_RANGE:
        low = DEFAULT_RANGE[dtype.kind][0] if low is None else low
        high = DEFAULT_RANGE[dtype.kind][1] if high is None else high
        kinks = [away_from] if np.isscalar(away_from) else list(away_from)
        kinks += [0] if exclude_zero else []
        draw = _integers if dtype.kind in "iu" else _complexes if dtype.kind == "c" else _floats
        values = np.asarray(draw(rng, shape, low, high, kinks, distance, distinct)).astype(dtype)
    else:
        raise TypeError(f"random_array draws floating, complex, integer and bool arrays, not {dtype}.")
    return _every_second(values) if noncontiguous else values


def _floats(rng: Any, shape: Any, low: Any, high: Any, kinks: Any, distance: Any, distinct: Any) -> Any:
    """Floats of [low, high), moved off the kinks."""
    size = math.prod(shape)
    if distinct:
        values = rng.permutation(low + (high - low) * (np.arange(size) + 0.5) / max(size, 1))
    else:
        values = rng.uniform(low, high, size)
    for kink in kinks:
        side = np.where(values >= kink, 1.0, -1.0)
        if kink + distance >= high:
            side[:] = -1.0  # stepping up would leave the range
        elif kink - distance < low:
            side[:] = 1.0
        near = np.abs(values - kink) < distance
        step = distance + np.abs(values - kink) if not distinct else distance
        values = np.where(near, kink + side * step, values)
    return values.reshape(shape)


def _complexes(rng: Any, shape: Any, low: Any, high: Any, kinks: Any, distance: Any, distinct: Any) -> Any:
    """Complex numbers whose parts lie in [low, high) each, off the kinks each."""
    real = _floats(rng, shape, low, high, kinks, distance, distinct)
    return real + 1j * _floats(rng, shape, low, high, kinks, distance, distinct)


def _integers(rng: Any, shape: Any, low: Any, high: Any, kinks: Any, _: Any, distinct: Any) -> Any:
    """Integers of [low, high) that are none of the kinks."""
    low, high = math.ceil(low), math.ceil(high)
    allowed = [k for k in range(low, max(high, low + 1)) if k not in kinks] or [low + 1]
    size = math.prod(shape)
    if distinct and size > len(allowed):
        return rng.permutation(np.arange(low, low + size)).reshape(shape)
    return rng.choice(np.array(allowed), size, replace=not distinct).reshape(shape)


def _every_second(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values, in every second slot of a larger memory (a scalar stays as it is)."""
    if values.ndim == 0:
        return values
    wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
    wide[..., ::2] = values
    return wide[..., ::2]
