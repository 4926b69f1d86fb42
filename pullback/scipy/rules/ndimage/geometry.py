"""scipy.ndimage's interpolation: a spline through the image, at places that are computed; both are differentiable."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from pullback.core.errors import OperatorError
from pullback.core.numpy_types import AnyArray, ArrayLike, Output, ShapeLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, deliver, floating, moveaxis, values
from pullback.scipy.rules.ndimage.borders import continued, sequence
from pullback.scipy.rules.ndimage.filters import asked_dtype, given, whole
from pullback.scipy.rules.ndimage.operators import spline_coefficients, spline_values

_MODES = {
    "constant": "mirror", "grid-constant": "mirror", "wrap": "mirror", "mirror": "mirror", "reflect": "reflect",
    "grid-mirror": "reflect", "nearest": "reflect", "grid-wrap": "grid-wrap",
}  # fmt: skip
_FILLED = 12  # elements around an image that "nearest" and "grid-constant" continue, as SciPy has it


def _given(name: str, result: AnyArray, like: AnyArray, output: Output) -> AnyArray:
    """The result in the dtype of the image, or as `output` says; whole numbers are the nearest ones."""
    if output is None:
        return result.astype(like.dtype) if like.dtype.kind in "fc" else whole(name, _rounded(result, like.dtype), like)
    if isinstance(output, (type, str, np.dtype)):
        dtype = asked_dtype(output, result)
        return _rounded(result, dtype).astype(dtype)
    return deliver(f"{name}", result, output)


def _rounded(x: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    """Halves away from 0, and the nearest number that the dtype has, as SciPy does it."""
    if dtype.kind not in "iu":
        return x
    return np.clip(np.trunc(x + np.where(x > 0, 0.5, -0.5)), np.iinfo(dtype).min, np.iinfo(dtype).max)


@scipy_rule("scipy.ndimage.spline_filter1d")
def spline_filter1d(
    input: ArrayLike, order: int = 3, axis: int = -1, output: Output = np.float64, mode: str = "mirror"
) -> AnyArray:
    """The coefficients along one axis."""
    x = floating(array(input))
    _check(order, mode)
    if order > 1 and x.ndim:
        x = spline_coefficients(x, order, axis % x.ndim, _MODES[mode])
    return given("scipy.ndimage.spline_filter1d", x, x, output)


@scipy_rule("scipy.ndimage.spline_filter")
def spline_filter(input: ArrayLike, order: int = 3, output: Output = np.float64, mode: str = "mirror") -> AnyArray:
    """The coefficients along all axes."""
    x = floating(array(input))
    _check(order, mode)
    for axis in range(x.ndim if order > 1 else 0):
        x = spline_coefficients(x, order, axis, _MODES[mode])
    return given("scipy.ndimage.spline_filter", x, x, output)


def _check(order: int, mode: str) -> None:
    if order not in range(6):
        raise RuntimeError("spline order not supported")
    if mode not in _MODES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")


def _interpolated(
    x: AnyArray, places: AnyArray, order: int, mode: str, cval: AnyArray | float, prefilter: bool
) -> AnyArray:
    """The image at places of shape (ndim, n); dimensions of the image in front of these ndim stack images."""
    _check(order, mode)
    x, places, dims = floating(x), places.astype(np.float64), places.shape[0]
    if mode in ("nearest", "grid-constant") and prefilter and order > 1:
        x, places = _continued(x, dims, _FILLED, mode, cval), places + _FILLED
    if prefilter and order > 1:
        for axis in range(x.ndim - dims, x.ndim):
            x = spline_coefficients(x, order, axis, _MODES[mode])
    if mode == "grid-constant":  # whose coefficients beyond are cval: those of "nearest" around it
        x, places = _continued(x, dims, 1, mode, cval), places + 1
    ends = np.array(x.shape[x.ndim - dims :])[:, None] - 1
    if mode == "wrap":
        periods = np.where(places < 0, np.trunc(-places / np.maximum(ends, 1)) + 1, 0)
        periods = np.where(places > ends, -np.trunc(places / np.maximum(ends, 1)), periods)
        places = np.where(ends > 0, places + periods * ends, 0 * places)
    slopes = [0] * dims
    if mode in ("nearest", "grid-constant"):
        places = np.clip(places, -order - 1, ends + order + 1)  # farther out all coefficients are the border's
        return spline_values(x, places, order, "nearest", slopes)
    if mode != "constant":
        return spline_values(x, places, order, _MODES[mode], slopes)
    inside = ((places >= 0) & (places <= ends)).all(0)
    found = spline_values(x, np.where(inside, places, 0.0), order, "mirror", slopes)
    return np.where(inside, found, cval)


def _continued(x: AnyArray, dims: int, width: int, mode: str, cval: AnyArray | float) -> AnyArray:
    """The image with `width` more elements at each end of its last dimensions."""
    for axis in range(x.ndim - dims, x.ndim):
        x = continued(x, axis, width, width, "constant" if mode == "grid-constant" else mode, cval)
    return x


def values_of(x: AnyArray) -> AnyArray:
    """The numbers that decide on which side of a border a place lies."""
    return values(x.detach() if hasattr(x, "detach") else x, "floor")


@scipy_rule("scipy.ndimage.map_coordinates")
def map_coordinates(
    input: ArrayLike, coordinates: ArrayLike, output: Output = None, order: int = 3, mode: str = "constant",
    cval: AnyArray | float = 0.0, prefilter: bool = True,
) -> AnyArray:  # fmt: skip
    """The image at given places: differentiable in both."""
    x, places = array(input), array(coordinates)
    if places.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if x.ndim < 1 or not places.ndim or places.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    found = _interpolated(x, places.reshape((x.ndim, -1)), order, mode, cval, prefilter)
    return _given("scipy.ndimage.map_coordinates", found.reshape(places.shape[1:]), x, output)


def _grid(shape: Any) -> AnyArray:
    return np.indices(shape, dtype=np.float64).reshape(len(shape), -1)


def _moved(matrix: AnyArray, offset: AnyArray, shape: ShapeLike | np.ndarray[Any, Any]) -> AnyArray:
    """matrix @ index + offset, summed in SciPy's order: a rounding decides whether a place is beyond the border."""
    places = offset[:, None]
    for i, row in enumerate(_grid(shape)):
        places = places + matrix[:, i, None] * row
    return places


def _shape_of(output: Any, output_shape: Sequence[int] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    if output_shape is not None:
        return tuple(int(n) for n in np.atleast_1d(output_shape))
    return tuple(output.shape) if hasattr(output, "shape") and not isinstance(output, type) else tuple(default)


@scipy_rule("scipy.ndimage.geometric_transform")
def geometric_transform(
    input: ArrayLike, mapping: Callable[..., Any], output_shape: Sequence[int] | None = None, output: Output = None,
    order: int = 3, mode: str = "constant", cval: AnyArray | float = 0.0, prefilter: bool = True,
    extra_arguments: tuple[Any, ...] = (), extra_keywords: dict[str, Any] | None = None,
) -> AnyArray:  # fmt: skip
    """Each element of the result from where `mapping` says."""
    x = array(input)
    shape = _shape_of(output, output_shape, x.shape)
    rows = [
        np.stack([array(part) for part in mapping(at, *extra_arguments, **(extra_keywords or {}))])
        for at in itertools.product(*map(range, shape))
    ]
    found = _interpolated(x, np.stack(rows, -1), order, mode, cval, prefilter)
    return _given("scipy.ndimage.geometric_transform", found.reshape(shape), x, output)


@scipy_rule("scipy.ndimage.affine_transform")
def affine_transform(
    input: ArrayLike, matrix: ArrayLike, offset: ArrayLike = 0.0, output_shape: Sequence[int] | None = None,
    output: Output = None, order: int = 3, mode: str = "constant", cval: AnyArray | float = 0.0, prefilter: bool = True,
) -> AnyArray:  # fmt: skip
    """The image at matrix @ index + offset: differentiable in all three."""
    x, matrix, offset = array(input), floating(array(matrix)), floating(array(offset))
    n = x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1 and matrix.shape[0] in (n, n + 1):
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    shape = _shape_of(output, output_shape, x.shape)
    if matrix.ndim not in (1, 2) or matrix.shape[0] != n or (matrix.shape[1] if matrix.ndim == 2 else n) != len(shape):
        raise RuntimeError(f"affine matrix has wrong number of rows or columns: {tuple(matrix.shape)}")
    offset = np.broadcast_to(offset, (n,))
    places = _moved(matrix, offset, shape) if matrix.ndim == 2 else matrix[:, None] * _grid(shape) + offset[:, None]
    found = _interpolated(x, places, order, mode, cval, prefilter)
    return _given("scipy.ndimage.affine_transform", found.reshape(shape), x, output)


@scipy_rule("scipy.ndimage.shift")
def shift(
    input: ArrayLike,
    shift: ArrayLike,
    output: Output = None,
    order: int = 3,
    mode: str = "constant",
    cval: AnyArray | float = 0.0,
    prefilter: bool = True,
) -> AnyArray:
    """The image moved: differentiable in the image and in how far."""
    x = array(input)
    places = _grid(x.shape) - np.broadcast_to(floating(array(shift)), (x.ndim,))[:, None]
    found = _interpolated(x, places, order, mode, cval, prefilter)
    return _given("scipy.ndimage.shift", found.reshape(x.shape), x, output)


@scipy_rule("scipy.ndimage.zoom")
def zoom(
    input: ArrayLike,
    zoom: ArrayLike,
    output: Output = None,
    order: int = 3,
    mode: str = "constant",
    cval: AnyArray | float = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> AnyArray:
    """The image in another size, which is a whole number: there is no gradient in the factor."""
    x = array(input)
    factors = sequence(values(zoom, "zoom").tolist(), x.ndim)
    shape = tuple(round(n * f) for n, f in zip(x.shape, factors, strict=True))
    grid = _grid(shape)
    for i, (n, m) in enumerate(zip(x.shape, shape, strict=True)):
        if grid_mode and x.dtype.kind != "c":  # which SciPy loses on its way to the real and imaginary parts
            grid[i] = (grid[i] + 0.5) * (n / m) - 0.5
        elif m > 1:
            grid[i] *= (n - 1) / (m - 1)
    if all(f == 1 for f in factors) and prefilter:
        return _given("scipy.ndimage.zoom", x, x, output)
    found = _interpolated(x, grid, order, mode, cval, prefilter)
    return _given("scipy.ndimage.zoom", found.reshape(shape), x, output)


@scipy_rule("scipy.ndimage.rotate")
def rotate(
    input: AnyArray | float,
    angle: ArrayLike,
    axes: Sequence[int] = (1, 0),
    reshape: bool = True,
    output: Output = None,
    order: int = 3,
    mode: str = "constant",
    cval: AnyArray | float = 0.0,
    prefilter: bool = True,
) -> AnyArray:
    """The image turned in a plane: differentiable in the image and in the angle (in degrees)."""
    x = array(input)
    if x.ndim < 2:
        raise ValueError("input array should be at least 2D")
    axes = sorted(axis % x.ndim for axis in axes)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise OperatorError(f"scipy.ndimage.rotate: axes must be two different ones, got {axes}.")
    angle = array(angle)
    c, s = special.cosdg(angle), special.sindg(angle)  # exactly 0 and 1 at right angles
    matrix = np.stack([np.stack([c, s]), np.stack([-s, c])])
    size = np.array([x.shape[axis] for axis in axes])
    shape = size
    if reshape:
        corners = values_of(matrix) @ [[0, 0, size[0], size[0]], [0, size[1], 0, size[1]]]
        shape = (np.ptp(corners, axis=1) + 0.5).astype(int)
    offset = (size - 1) / 2 - matrix @ ((shape - 1) / 2)
    planes = moveaxis(x, axes, (-2, -1))
    found = _interpolated(planes, _moved(matrix, offset, shape), order, mode, cval, prefilter)
    found = moveaxis(found.reshape((*planes.shape[:-2], *(int(n) for n in shape))), (-2, -1), axes)
    return _given("scipy.ndimage.rotate", found, x, output)
