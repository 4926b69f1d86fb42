"""The last steps to a least-squares solution, by Newton's method with exact second derivatives.

Solvers that compare sums of squares cannot tell solutions apart that differ in the last half of their digits. The
gradient can: its zero is found to nearly all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular

from pullback.core.tensor import ndarray
from pullback.func.jacobians import hessian
from pullback.optimize.parameters import numbers
from pullback.optimize.residuals import Residuals

_STEPS = 20
_NOISE = 1e-9  # relative, of sums of squares: what is less is no increase


def polished(residuals: Residuals, z: ndarray) -> ndarray:
    """The solution near z: steps are taken while they become shorter, and the sum of squares does not grow."""
    before, found = np.inf, residuals.value(z)
    second = hessian(residuals.weighted)
    for _ in range(_STEPS):
        step = _step(residuals, z, found, numbers(second(residuals.parameters.point(z), found, *residuals.args)))
        if step is None:
            break
        length = float(np.max(np.abs(step) / np.maximum(np.abs(z), np.finfo(float).tiny)))
        there = residuals.value(z + step) if np.isfinite(length) else found
        if not length < before or not there @ there <= (1 + _NOISE) * (found @ found):
            break
        z, found, before = z + step, there, length
    return z


def _step(residuals: Residuals, z: ndarray, found: ndarray, curvature: ndarray) -> ndarray | None:
    """-(J^T J + sum_i r_i H_i)^-1 J^T r, None where that is no descent.

    With J = Q R the matrix is R^T (1 + R^-T S R^-1) R: J^T J, whose condition is that of J squared, is not formed.
    """
    slopes = np.asarray(residuals.jacobian(z))
    length = np.linalg.norm(slopes, axis=0)
    if not (np.isfinite(slopes).all() and np.isfinite(curvature).all() and length.all()):
        return None
    if slopes.shape[0] < slopes.shape[1]:
        return None
    q, r = qr(slopes / length, mode="economic")
    if np.min(np.abs(np.diag(r))) <= np.finfo(float).eps * slopes.shape[0]:
        return None
    scaled = residuals.parameters.symmetric(curvature) / np.outer(length, length)
    inner = solve_triangular(r, solve_triangular(r, scaled, trans="T").T, trans="T")
    try:
        u = cho_solve(cho_factor(np.eye(len(inner)) + (inner + inner.T) / 2), q.T @ found)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(-solve_triangular(r, u) / length)
