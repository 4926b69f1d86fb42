"""Does what SciPy's Python for the design of filters does not do on our arrays."""

from __future__ import annotations

import numpy as np
from scipy import signal

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.operands import array, floating, frozen


@scipy_rule("scipy.signal.bilinear")
def bilinear(b: ArrayLike, a: ArrayLike, fs: AnyArray | float = 1.0) -> AnyArray:
    """s = 2 fs (z - 1) / (z + 1), multiplied by the highest power of z + 1."""
    b, a = (_without_leading_zeros(floating(np.atleast_1d(array(x)))) for x in (b, a))
    order, factor = max(b.shape[0], a.shape[0]) - 1, np.sqrt(2 * array(fs))  # split, so that less overflows
    found = []
    for x in (b, a):
        degrees = np.arange(x.shape[0])[::-1]
        powers = [np.poly([1.0] * p + [-1.0] * (order - p)) for p in degrees]  # (z - 1)^p (z + 1)^(order - p)
        found.append((x * factor ** (2.0 * degrees - order)) @ np.stack(powers))
    return RULES["scipy.signal.normalize"](*found)


def _without_leading_zeros(x: AnyArray) -> AnyArray:
    if x.ndim != 1:
        raise ValueError(f"b and a must be vectors, got shape {tuple(x.shape)}.")
    return x[np.flatnonzero(frozen(x, "trim_zeros"))[:1].sum() :]


@scipy_rule("scipy.signal.savgol_coeffs")
def savgol_coeffs(
    window_length: int, polyorder: int, deriv: int = 0, delta: AnyArray | float = 1.0, **options: object
) -> AnyArray:
    """Differentiable in the distance of the samples, the one number among the arguments that has a derivative."""
    return signal.savgol_coeffs(window_length, polyorder, deriv, **options) / array(delta) ** deriv
