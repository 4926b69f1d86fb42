"""scipy.ndimage's linear filters: correlations of the continued image."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Axes, Output
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, deliver, floating, needs_grad, values
from pullback.scipy.rules.ndimage.borders import continued, mode_of, sequence
from pullback.scipy.rules.signal.operators import correlated


def given(name: str, result: AnyArray, like: AnyArray, output: Output) -> AnyArray:
    """The result in the dtype of the image, or as `output` says."""
    if output is None:
        if like.dtype.kind == "f" and result.dtype.kind == "c":
            return result.astype(np.promote_types(like.dtype, np.complex64))
        if like.dtype.kind in "fc":
            return result.astype(like.dtype, copy=result is like)
        return whole(name, np.trunc(result), like)
    if isinstance(output, (type, str, np.dtype)):
        return result.astype(asked_dtype(output, result))
    return deliver(name, result, output)


def asked_dtype(output: Any, result: AnyArray) -> np.dtype[Any]:
    """The dtype that is asked for; complex numbers stay complex, as SciPy has it."""
    return np.promote_types(output, np.complex64) if result.dtype.kind == "c" else np.dtype(output)


def whole(name: str, result: AnyArray, like: AnyArray) -> AnyArray:
    """Numbers in the dtype of an image of integers, in whose steps a derivative would be lost."""
    if needs_grad(result):
        raise UnsupportedError(
            f"{name}: an image of integers ({like.dtype}) gives integers, which have no derivative. "
            "Give it an image of floating-point numbers, image.astype(float), or output=float."
        )
    return result.astype(like.dtype)


def axes_of(axes: Axes, ndim: int) -> tuple[int, ...]:
    """The axes that are filtered."""
    return tuple(range(ndim)) if axes is None else tuple(normalize_axis_tuple(axes, ndim))


def _along(
    x: AnyArray,
    weights: AnyArray,
    axis: int,
    mode: str,
    cval: AnyArray | float,
    origin: int,
    turned: bool = False,
) -> AnyArray:
    """A correlation (a convolution, if turned) along one axis."""
    n = weights.shape[0]
    if turned:
        weights, origin = weights[::-1], -origin - (n % 2 == 0)
    elif weights.dtype.kind == "c":
        weights = np.conj(weights)
    before = n // 2 + origin
    if not 0 <= before < n:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    shape = [1] * x.ndim
    shape[axis] = n
    wide = continued(x, axis, before, n - 1 - before, mode_of(mode), cval)
    return correlated(wide, weights.reshape(shape), wide.ndim)


@scipy_rule("scipy.ndimage.correlate1d")
def correlate1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int = 0,
) -> AnyArray:
    """A correlation along one axis: differentiable in the image and in the weights."""
    x, w = array(input), floating(array(weights))
    found = _along(floating(x), w, normalize_axis_index(axis, x.ndim), mode, cval, origin)
    return given("scipy.ndimage.correlate1d", found, x, output)


@scipy_rule("scipy.ndimage.convolve1d")
def convolve1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int = 0,
) -> AnyArray:
    """A convolution along one axis."""
    x, w = array(input), floating(array(weights))
    found = _along(floating(x), w, normalize_axis_index(axis, x.ndim), mode, cval, origin, True)
    return given("scipy.ndimage.convolve1d", found, x, output)


def _in_all(
    name: str, input: ArrayLike, weights: ArrayLike, output: Output, mode: str | Sequence[str], cval: AnyArray | float,
    origin: int | Sequence[int], axes: Axes, turned: bool,
) -> AnyArray:  # fmt: skip
    x, w = array(input), floating(array(weights))
    along = axes_of(axes, x.ndim)
    if w.ndim != len(along):
        raise RuntimeError(f"filter weights array has incorrect shape: {tuple(w.shape)} for {len(along)} axes.")
    wide, shape = floating(x), [1] * x.ndim
    modes, origins = sequence(mode, len(along)), sequence(origin, len(along))
    if turned:
        w = w[(slice(None, None, -1),) * w.ndim]
    elif w.dtype.kind == "c":
        w = np.conj(w)
    # of axes in another order SciPy takes the weights in rising order, and the origins too, where all axes are filtered
    rising = sorted(along)
    modes = [modes[along.index(axis)] for axis in rising]
    if len(along) < x.ndim:
        origins = [origins[along.index(axis)] for axis in rising]
    if turned:
        origins = [-o - (n % 2 == 0) for o, n in zip(origins, w.shape, strict=True)]
    for axis, n, kind, o in zip(rising, w.shape, modes, origins, strict=True):
        shape[axis] = n
        before = n // 2 + o
        if not 0 <= before < n:
            raise ValueError(f"{name}: invalid origin {origin!r} for weights of shape {tuple(w.shape)}.")
        wide = continued(wide, axis, before, n - 1 - before, mode_of(kind), cval)
    return given(name, correlated(wide, w.reshape(shape), wide.ndim), x, output)


@scipy_rule("scipy.ndimage.correlate")
def correlate(
    input: ArrayLike,
    weights: ArrayLike,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> AnyArray:
    """A correlation in several dimensions: differentiable in the image and in the weights."""
    return _in_all("scipy.ndimage.correlate", input, weights, output, mode, cval, origin, axes, False)


@scipy_rule("scipy.ndimage.convolve")
def convolve(
    input: ArrayLike,
    weights: ArrayLike,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: Axes = None,
) -> AnyArray:
    """A convolution in several dimensions."""
    return _in_all("scipy.ndimage.convolve", input, weights, output, mode, cval, origin, axes, True)


def _gaussian(sigma: Any, order: int, truncate: float, radius: int | None) -> AnyArray:
    """A Gaussian's weights, or those of a derivative of it, to be convolved with: differentiable in sigma."""
    if type(sigma) in (int, float) and sigma:  # a Scalar is an instance of float too; dividing by 0 warns each time
        return _kept_gaussian(float(sigma), order, float(truncate), None if radius is None else int(radius))
    return _computed_gaussian(sigma, order, truncate, radius)


@functools.lru_cache(64)
def _kept_gaussian(sigma: float, order: int, truncate: float, radius: int | None) -> AnyArray:
    """The same of a number: filters are called with a few, again and again."""
    weights = _computed_gaussian(sigma, order, truncate, radius)
    weights.flags.writeable = False
    return weights


def _computed_gaussian(sigma: Any, order: int, truncate: float, radius: int | None) -> AnyArray:
    """The same, computed."""
    fixed = float(values(sigma.detach() if hasattr(sigma, "detach") else sigma, "rint"))
    reach = int(truncate * fixed + 0.5) if radius is None else int(radius)
    if order < 0:
        raise ValueError("order must be non-negative")
    places, variance = np.arange(-reach, reach + 1.0), sigma * sigma
    bell = np.exp(-0.5 / variance * places**2)
    bell = bell / bell.sum()
    factor = [1.0]  # the polynomial q with (q bell)' = (q' - x q / variance) bell
    for _ in range(order):
        slope = [*[i * q for i, q in enumerate(factor)][1:], 0.0, 0.0]
        shifted = [0.0, *(-q / variance for q in factor)]
        factor = [a + b for a, b in zip(slope, shifted, strict=False)]
    total: Any = 0.0
    for i, q in enumerate(factor):
        total = total + q * places**i
    return bell * total


@scipy_rule("scipy.ndimage.gaussian_filter1d")
def gaussian_filter1d(input: ArrayLike, sigma: AnyArray | float, axis: int = -1, order: int = 0, output: Output = None,
                      mode: str = "reflect", cval: AnyArray | float = 0.0, truncate: float = 4.0, *,
                      radius: int | None = None) -> AnyArray:  # fmt: skip
    """Smoothing along one axis: differentiable in the image and in sigma, where the number of weights is held."""
    x = array(input)
    weights = _gaussian(sigma, order, truncate, radius)
    found = _along(floating(x), weights, normalize_axis_index(axis, x.ndim), mode, cval, 0, True)
    return given("scipy.ndimage.gaussian_filter1d", found, x, output)


@scipy_rule("scipy.ndimage.gaussian_filter")
def gaussian_filter(
    input: ArrayLike,
    sigma: Any,
    order: int | Sequence[int] = 0,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
    axes: Axes = None,
) -> AnyArray:
    """Smoothing in several dimensions."""
    x = array(input)
    found, along = floating(x), axes_of(axes, x.ndim)
    n = len(along)
    parts = (sequence(sigma, n), sequence(order, n), sequence(mode, n), sequence(radius, n))
    for axis, s, o, kind, r in zip(along, *parts, strict=True):
        if s > 1e-15:
            found = _along(found, _gaussian(s, o, truncate, r), axis, kind, cval, 0, True)
    return given("scipy.ndimage.gaussian_filter", found, x, output)


@scipy_rule("scipy.ndimage.uniform_filter1d")
def uniform_filter1d(input: ArrayLike, size: int, axis: int = -1, output: Output = None, mode: str = "reflect",
                     cval: AnyArray | float = 0.0, origin: int = 0) -> AnyArray:  # fmt: skip
    """Means of `size` neighbours along one axis."""
    return correlate1d(input, np.full(size, 1 / size), axis, output, mode, cval, origin)


@scipy_rule("scipy.ndimage.uniform_filter")
def uniform_filter(
    input: ArrayLike,
    size: int = 3,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    origin: int = 0,
    *,
    axes: Axes = None,
) -> AnyArray:
    """Means of neighbours in several dimensions."""
    x = array(input)
    found, along = floating(x), axes_of(axes, x.ndim)
    n = len(along)
    for axis, s, kind, o in zip(along, sequence(size, n), sequence(mode, n), sequence(origin, n), strict=True):
        if s > 1:
            found = _along(found, np.full(int(s), 1 / s), axis, kind, cval, o)
    return given("scipy.ndimage.uniform_filter", found, x, output)


def _edges(name: str, across: list[float]) -> None:
    @scipy_rule(f"scipy.ndimage.{name}")
    def edges(
        input: ArrayLike,
        axis: int = -1,
        output: Output = None,
        mode: str | Sequence[str] = "reflect",
        cval: AnyArray | float = 0.0,
    ) -> AnyArray:
        x = array(input)
        axis = normalize_axis_index(axis, x.ndim)
        modes = sequence(mode, x.ndim)
        found = _along(floating(x), np.array([-1.0, 0.0, 1.0]), axis, modes[axis], cval, 0)
        for other in range(x.ndim):
            if other != axis:
                found = _along(found, np.array(across), other, modes[other], cval, 0)
        return given(f"scipy.ndimage.{name}", found, x, output)


_edges("sobel", [1.0, 2.0, 1.0])
_edges("prewitt", [1.0, 1.0, 1.0])


def _total(
    name: str,
    input: ArrayLike,
    output: Output,
    mode: str | Sequence[str],
    axes: Axes,
    part: Callable[..., Any],
    square: bool,
) -> AnyArray:
    """The sum over axes of part(x, axis, order of each axis, mode), or the root of the sum of squares."""
    x = array(input)
    along = axes_of(axes, x.ndim)
    modes = sequence(mode, len(along))
    parts = [part(floating(x), i, axis, modes) for i, axis in enumerate(along)]
    total = sum(p * p for p in parts) if square else sum(parts)
    return given(name, np.sqrt(total) if square else total, x, output)


@scipy_rule("scipy.ndimage.laplace")
def laplace(
    input: ArrayLike,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    *,
    axes: Axes = None,
) -> AnyArray:
    """The sum of second differences."""

    def part(x: AnyArray, i: int, axis: int, modes: Sequence[str]) -> AnyArray:
        return _along(x, np.array([1.0, -2.0, 1.0]), axis, modes[i], cval, 0)

    return _total("scipy.ndimage.laplace", input, output, mode, axes, part, False)


def _gaussian_parts(
    order: int, sigma: ArrayLike, cval: AnyArray | float, axes: Axes, options: dict[str, Any]
) -> Callable[..., Any]:
    def part(x: AnyArray, i: int, axis: int, modes: Sequence[str]) -> AnyArray:
        orders = [0] * len(modes)
        orders[i] = order
        return gaussian_filter(x, sigma, orders, None, modes, cval, axes=axes, **options)

    return part


@scipy_rule("scipy.ndimage.gaussian_laplace")
def gaussian_laplace(
    input: ArrayLike,
    sigma: ArrayLike,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    *,
    axes: Axes = None,
    **options: object,
) -> AnyArray:
    """The sum of second derivatives of the smoothed image."""
    part = _gaussian_parts(2, sigma, cval, axes, options)
    return _total("scipy.ndimage.gaussian_laplace", input, output, mode, axes, part, False)


@scipy_rule("scipy.ndimage.gaussian_gradient_magnitude")
def gaussian_gradient_magnitude(
    input: ArrayLike,
    sigma: ArrayLike,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: AnyArray | float = 0.0,
    *,
    axes: Axes = None,
    **options: object,
) -> AnyArray:
    """The length of the gradient of the smoothed image."""
    part = _gaussian_parts(1, sigma, cval, axes, options)
    return _total("scipy.ndimage.gaussian_gradient_magnitude", input, output, mode, axes, part, True)
