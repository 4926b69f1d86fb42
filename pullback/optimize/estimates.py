"""Covariances and standard errors of what was estimated, from the exact Hessian or Jacobian at the solution."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular
from scipy.optimize import OptimizeWarning

from pullback.core.tensor import ndarray

_UNKNOWN = "so covariance and standard errors are {}. The data may not determine all parameters."


def of_hessian(name: str, hessian: ndarray, held: ndarray) -> ndarray:
    """H^-1 of the parameters that no bound holds; nan for the others, and where H is not positive definite."""
    covariance = np.full(hessian.shape, np.nan)
    free = np.flatnonzero(~held)
    if held.any():
        warnings.warn(
            f"{name}: {int(held.sum())} parameters are at a bound, and have no standard error (nan). The standard "
            "errors of the others assume that these are fixed.",
            OptimizeWarning,
            stacklevel=3,
        )
    part = hessian[np.ix_(free, free)]
    size = np.sqrt(np.abs(np.diag(part)))
    size = np.where(size > 0, size, 1)  # of unit diagonal, so that the parameters' units do not matter
    try:
        inverse = cho_solve(cho_factor(part / np.outer(size, size), lower=True), np.eye(free.size))
    except (np.linalg.LinAlgError, ValueError):
        text = f"{name}: the Hessian at the solution is not positive definite, {_UNKNOWN.format('nan')}"
        warnings.warn(text, OptimizeWarning, stacklevel=3)
        return covariance
    covariance[np.ix_(free, free)] = (inverse + inverse.T) / 2 / np.outer(size, size)
    return covariance


def of_jacobian(name: str, jacobian: ndarray, held: ndarray, variance: float) -> ndarray:
    """Variance * (J^T J)^-1, by QR factors of J with columns of length 1; inf where J does not have full rank."""
    covariance = np.full((jacobian.shape[1], jacobian.shape[1]), np.nan)
    free = np.flatnonzero(~held)
    if held.any():
        text = f"{name}: {int(held.sum())} parameters are at a bound, and have no standard error (nan)."
        warnings.warn(text, OptimizeWarning, stacklevel=3)
    part = jacobian[:, free]
    length = np.linalg.norm(part, axis=0)
    eps = np.finfo(float).eps * max(part.shape)
    if np.isfinite(part).all() and length.all() and part.shape[0] >= free.size:
        (factor,) = qr(part / length, mode="r", pivoting=False)
        factor = factor[: free.size]
        if np.linalg.svd(factor, compute_uv=False).min(initial=1) > eps:
            inverse = solve_triangular(factor, np.eye(free.size)) / length[:, None]
            if np.isfinite(variance):
                covariance[np.ix_(free, free)] = variance * (inverse @ inverse.T)
                return covariance
            text = f"{name}: there are no more residuals than parameters, {_UNKNOWN.format('inf')}"
            warnings.warn(text, OptimizeWarning, stacklevel=3)
            return np.full(covariance.shape, np.inf)
    warnings.warn(
        f"{name}: the Jacobian at the solution does not have full rank, {_UNKNOWN.format('inf')}",
        OptimizeWarning,
        stacklevel=3,
    )
    return np.full(covariance.shape, np.inf)


def at_minimum(name: str, covariance: ndarray, gradient: ndarray, x: ndarray) -> ndarray:
    """`covariance`, but nan where the minimum is away from x: where no solver has been, or one has stopped too early.

    Newton's step to it is small beside the standard errors, or beside x, of which a perfect fit knows all digits.
    """
    free = np.isfinite(np.diag(covariance))
    step = np.abs(covariance[np.ix_(free, free)] @ gradient[free])
    near = (step <= 0.1 * errors(covariance)[free]) | (step <= 1e-6 * np.abs(x[free]))
    if near.all():
        return covariance
    warnings.warn(
        f"{name}: this is no minimum, so covariance and standard errors are nan: Newton's step from here is longer "
        "than a tenth of a standard error. Let the solver run on, or start it elsewhere.",
        OptimizeWarning,
        stacklevel=3,
    )
    return np.full(covariance.shape, np.nan)


def errors(covariance: ndarray) -> ndarray:
    """The roots of the diagonal."""
    return np.asarray(np.sqrt(np.diag(covariance)))
