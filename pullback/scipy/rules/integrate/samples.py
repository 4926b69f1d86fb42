"""simpson: an integral of samples."""

from __future__ import annotations

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.ways import AS_IT_STANDS, on_arrays
from pullback.interop.operands import along, array

_NAME = "scipy.integrate.simpson"
AS_IT_STANDS.add(_NAME)


@scipy_rule(_NAME)
def simpson(y: ArrayLike, x: ArrayLike | None = None, *, dx: float = 1.0, axis: int = -1) -> AnyArray:
    """SciPy's own code, but for the last interval of an even number of points, where it makes plain floats of x."""
    genuine, y = on_arrays(_NAME), array(y)
    if x is None or y.shape[axis] % 2 or y.shape[axis] < 4:
        return genuine(y, x, dx=dx, axis=axis)
    x = array(x)
    own = axis if x.ndim > 1 else 0
    before = slice(None, -1)
    result = genuine(y[along(y.ndim, axis, before)], x[along(x.ndim, own, before)], axis=axis)
    y0, y1, y2 = (y[along(y.ndim, axis, i)] for i in (-3, -2, -1))
    x0, x1, x2 = (x[along(x.ndim, own, i)] for i in (-3, -2, -1))
    h0, h1 = (x1 - x0).astype(np.float64), (x2 - x1).astype(np.float64)
    # the parabola through the last three points, over the last interval
    result += _ratio(2 * h1**2 + 3 * h0 * h1, 6 * (h0 + h1)) * y2 + _ratio(h1**2 + 3 * h0 * h1, 6 * h0) * y1
    return result - _ratio(h1**3, 6 * h0 * (h0 + h1)) * y0


def _ratio(a: AnyArray, b: AnyArray) -> AnyArray:
    """`a` / `b`; 0 where `b` is 0, as SciPy has it."""
    return np.where(b != 0, a / np.where(b != 0, b, 1.0), 0.0)
