"""The kernels of scipy.ndimage's operators: plain functions on ndarrays."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import ndimage
from scipy.interpolate import BSpline

from pullback.core.numpy_types import AnyArray


def spline_coefficients(x: AnyArray, order: int, dim: int, mode: str, transposed: bool) -> AnyArray:
    """By SciPy; transposed by the symmetry of the matrix, which is formed where it is small."""
    dtype = np.complex128 if x.dtype.kind == "c" else np.float64
    x, n = x.astype(dtype), x.shape[dim]
    if not transposed:
        return ndimage.spline_filter1d(x, order, dim, dtype, mode)
    if n < _SMALL:
        matrix = ndimage.spline_filter1d(np.eye(n), order, 0, np.float64, mode)
        return np.moveaxis(np.tensordot(matrix, x, (0, dim)), 0, dim)
    if mode != "mirror":
        return ndimage.spline_filter1d(x, order, dim, dtype, mode)
    shape = [1] * x.ndim
    shape[dim] = n
    halved = np.ones(n)
    halved[[0, -1]] = 0.5  # of the matrix B of "mirror" D B is symmetric, with D = diag(1/2, 1, ..., 1, 1/2)
    halved = halved.reshape(shape)
    return halved * ndimage.spline_filter1d(x / halved, order, dim, dtype, mode)


# SciPy begins its recursions at the borders by sums that it cuts off: the poles' powers are below rounding from here.
_SMALL = 64


def spline_values(c: AnyArray, places: np.ndarray[Any, Any], order: int, mode: str, slopes: Sequence[int]) -> AnyArray:
    """Sums of (order + 1)**ndim coefficients, by their weights."""
    dims = len(slopes)
    shape = c.shape[c.ndim - dims :]
    front, offset = _stacked(c.shape[: c.ndim - dims], places, math.prod(shape))
    flat = np.broadcast_to(c, (*front, *shape)).ravel()
    total = np.zeros((*front, places.shape[-1]), np.result_type(c, np.float64))
    for index, weight in _neighbours(places, shape, order, mode, slopes):
        total += flat[index + offset] * weight
    return total


def spline_spread(
    x: AnyArray, places: np.ndarray[Any, Any], shape: tuple[int, ...], order: int, mode: str, slopes: Sequence[int]
) -> AnyArray:
    """The same sums the other way."""
    shape = shape[len(shape) - len(slopes) :]
    size = int(np.prod(shape))
    front, offset = _stacked(x.shape[:-1], places, size)
    whole = math.prod(front) * size
    total = np.zeros(whole, np.result_type(x, np.float64))
    for index, weight in _neighbours(places, shape, order, mode, slopes):
        part = np.broadcast_to(x * weight, (*front, places.shape[-1])).ravel()
        index = np.broadcast_to(index + offset, (*front, places.shape[-1])).ravel()
        if total.dtype.kind == "c":
            total += np.bincount(index, part.real, whole) + 1j * np.bincount(index, part.imag, whole)
        else:
            total += np.bincount(index, part, whole)
    return total.reshape((*front, *shape))


def _stacked(front: tuple[int, ...], places: np.ndarray[Any, Any], size: int) -> tuple[tuple[int, ...], Any]:
    """The dimensions in front, and where the grid of each begins among all, one behind the other."""
    front = np.broadcast_shapes(front, places.shape[:-2])
    return front, np.arange(math.prod(front)).reshape((*front, 1)) * size if front else 0


def _neighbours(
    places: np.ndarray[Any, Any], shape: tuple[int, ...], order: int, mode: str, slopes: Sequence[int]
) -> Iterator[Any]:
    """(flat index, weight) of each coefficient that a place depends on, at once for all places."""
    axes = [
        _along(place, n, order, mode, slope, step)
        for place, n, slope, step in zip(np.moveaxis(places, -2, 0), shape, slopes, _steps(shape), strict=True)
    ]
    for parts in itertools.product(*axes):
        index, weight = parts[0]
        for more_index, more_weight in parts[1:]:
            index, weight = index + more_index, weight * more_weight
        yield index, weight


def _steps(shape: tuple[int, ...]) -> list[int]:
    return [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]


def _along(place: AnyArray, n: int, order: int, mode: str, slope: int, step: int) -> list[tuple[AnyArray, AnyArray]]:
    if order == 0:
        place = _turned_back(place, n, mode)
    first = np.floor(place if order % 2 else place + 0.5).astype(np.intp) - order // 2
    basis = _basis(order, slope)
    found: list[tuple[AnyArray, AnyArray]] = []
    for k in range(order + 1):
        index: AnyArray = first + k
        weight = basis(place - index)
        if not ((index >= 0) & (index < n)).all():
            index = folded(index, n, mode)
        found.append((index * step, weight))
    return found


def _turned_back(place: AnyArray, n: int, mode: str) -> AnyArray:
    """A place beyond a mirror, mapped as SciPy does it: between two elements this decides which one is the nearest."""
    if mode not in ("mirror", "reflect") or n == 1:
        return place
    double = mode == "reflect"  # the mirror stands behind the last element, which occurs twice
    period = 2 * (n - 1 + double)
    away = np.fmod(np.abs(place), period)
    before = np.where(away > n - 1 + double, period - away, away - double)
    after = np.where(away >= n, period - away - double, away)
    return np.where(place < 0, before, np.where(place > n - 1, after, place))


@functools.cache
def _basis(order: int, slope: int) -> Callable[..., Any]:
    """The centred B-spline, or a derivative; beyond its order it is 0, for jumps and kinks have no slope."""
    if slope > order:
        return np.zeros_like
    if order == 0:
        return np.ones_like
    knots = np.arange(order + 2) - (order + 1) / 2
    spline = BSpline.basis_element(knots, extrapolate=False)
    spline = spline.derivative(slope) if slope else spline
    return lambda x: np.nan_to_num(spline(x), copy=False, nan=0.0)


def folded(index: AnyArray, n: int, mode: str) -> AnyArray:
    """Where the grid, continued in this way, has the elements at these indices."""
    if mode == "nearest":
        return np.clip(index, 0, n - 1)
    if mode == "grid-wrap":
        return index % n
    if mode == "reflect":
        index = index % (2 * n)
        return np.minimum(index, 2 * n - 1 - index)
    if n == 1:
        return np.zeros_like(index)
    index = index % (2 * n - 2)
    return np.minimum(index, 2 * n - 2 - index)
