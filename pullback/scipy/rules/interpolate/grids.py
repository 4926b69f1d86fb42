"""Regular grids: what RegularGridInterpolator computes in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.interpolate import _ndbspline

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.tensor import Tensor
from pullback.interop.adopt.creation import buffer
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.operands import array, frozen


@scipy_rule(*(f"scipy.interpolate.{home}._ndim_coords_from_arrays" for home in ("_interpolate", "_ndgriddata", "_rgi")))
def ndim_coords_from_arrays(points: ArrayLike | tuple[ArrayLike, ...], ndim: int | None = None) -> AnyArray:
    """One array, of shape (..., d), of a tuple of coordinates."""
    if isinstance(points, tuple) and len(points) == 1:
        (points,) = points
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*map(array, points)), axis=-1).astype(float)
    points = array(points)
    if points.ndim == 1:
        points = points.reshape(-1, 1 if ndim is None else ndim)
    return points


@scipy_rule("scipy.interpolate._rgi.find_indices")
def find_indices(grid: Sequence[AnyArray], xi: AnyArray) -> tuple[np.ndarray[Any, Any], AnyArray]:
    """The number of the cell that each point is in, on each axis, and where it is there, from 0 to 1."""
    cells, parts = [], []
    for x, points in zip(map(array, grid), array(xi), strict=True):
        if x.shape[0] == 1:
            cells.append(np.where(np.isnan(points), -1, 0))
            parts.append(0 * points)
            continue
        i = np.clip(np.searchsorted(x, points, "right") - 1, 0, x.shape[0] - 2)
        cells.append(i)
        parts.append((points - x[i]) / (x[i + 1] - x[i]))
    return np.stack([np.asarray(cell) for cell in cells]), np.stack(parts)


@scipy_rule("scipy.interpolate._rgi.evaluate_linear_2d")
def evaluate_linear_2d(
    values: AnyArray, indices: AnyArray, norm_distances: AnyArray, grid: Sequence[AnyArray], out: AnyArray
) -> AnyArray | Tensor:
    """Bilinear interpolation."""
    values, (i, j), (x, y) = array(values), indices, array(norm_distances)
    i_next, j_next = (np.minimum(n + 1, size - 1) for n, size in zip((i, j), values.shape, strict=True))
    low = values[i, j] * (1 - y) + values[i, j_next] * y
    high = values[i_next, j] * (1 - y) + values[i_next, j_next] * y
    found = low * (1 - x) + high * x
    return found if isinstance(found, Tensor) else buffer(found)  # fill values are written into it


@scipy_rule("scipy.interpolate._rgi.make_ndbspl")
def make_ndbspl(
    points: Sequence[ArrayLike],
    values: AnyArray,
    k: int | Sequence[int] = 3,
    *,
    solver: Callable[..., Any] | None = None,
    **solver_args: AnyArray,
) -> AnyArray:
    """The spline with SciPy's coefficients, found to some tolerance, and the derivatives of the exact ones."""
    given = {name: value for name, value in (("solver", solver), *solver_args.items()) if value is not None}
    found = _ndbspline.make_ndbspl(*plain((points, values, k), lambda x: np.array(frozen(x, "spline"))), **given)
    c = array(values)
    for axis, (x, degree) in enumerate(zip(points, found.k, strict=True)):
        c = np.moveaxis(RULES["scipy.interpolate.make_interp_spline"](x, c, k=degree, axis=axis).c, 0, axis)
    c = array(found.c) + (c - frozen(c, "spline"))
    t = tuple(
        clone(_ndbspline._not_a_knot)(array(x).astype(float), degree) for x, degree in zip(points, found.k, strict=True)
    )
    return RULES["scipy.interpolate.NdBSpline"](t, c, tuple(found.k))
