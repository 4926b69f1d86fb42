"""scipy.ndimage's filters of images that are given as their Fourier transforms: products with what they are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from scipy import ndimage

from pullback.core.numpy_types import AnyArray, ArrayLike, Output
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, floating, values
from pullback.scipy.rules.ndimage.borders import sequence
from pullback.scipy.rules.ndimage.filters import given


def _enter(name: str, of_each: str, factor: Callable[[Any, Any], Any]) -> None:
    """The rule of a filter that is a product of one factor of frequency and parameter for each dimension."""

    def filtered(
        input: AnyArray, *parameters: object, n: int = -1, axis: int = -1, output: Output = None, **named: object
    ) -> AnyArray:
        if len(parameters) > 1:
            others: Any = (*parameters[1:], *(n, axis, output)[len(parameters) - 1 :])
            n, axis, output = others
        own_ones = parameters[0] if parameters else named[of_each]
        x = found = floating(array(input))
        axis = normalize_axis_index(axis, x.ndim)
        for i, own in enumerate(sequence(own_ones, x.ndim)):
            size = x.shape[i]
            # half of the transform of n real samples, if that is what was given
            frequencies = np.arange(size) / n if i == axis and n >= 0 else np.fft.fftfreq(size)
            found = found * factor(frequencies, own).reshape([size if j == i else 1 for j in range(x.ndim)])
        like = found if found.dtype.kind == "c" and x.dtype.kind != "c" else x  # complex128, also of single precision
        return given(f"scipy.ndimage.{name}", found, like, output)

    scipy_rule(f"scipy.ndimage.{name}")(filtered)


_enter("fourier_gaussian", "sigma", lambda f, sigma: np.exp(-2 * (np.pi * sigma * f) ** 2))
_enter("fourier_uniform", "size", lambda f, size: np.sinc(f * size))
_enter("fourier_shift", "shift", lambda f, shift: np.exp(-2j * np.pi * f * shift))


@scipy_rule("scipy.ndimage.fourier_ellipsoid")
def fourier_ellipsoid(
    input: ArrayLike, size: ArrayLike, n: int = -1, axis: int = -1, output: Output = None
) -> AnyArray:
    """Differentiable in the image alone."""
    x = floating(array(input))
    factor = ndimage.fourier_ellipsoid(np.ones(x.shape), values(size, "fourier_ellipsoid"), n, axis)
    return given("scipy.ndimage.fourier_ellipsoid", x * factor, x, output)
