"""The common part of all results."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import OptimizeResult
from scipy.sparse.linalg import LinearOperator

from pullback.core.tensor import ndarray

_CONSTANT = ("success", "status", "message", "nfev", "njev", "nhev", "nit", "history", "derivatives")


def check_found(name: str, result: OptimizeResult, z: ndarray) -> None:
    """Say where a solver has ended among NaNs, and take its word of success back."""
    value = np.asarray(result.get("fun", result.get("cost", 0.0)), float)
    if np.isfinite(z).all() and not np.isnan(value).any():
        return
    what = "the parameters are not finite" if not np.isfinite(z).all() else "the function is nan there"
    result.success = False
    result.message = f"{result.get('message', '')} But {what}."
    warnings.warn(f"{name}: no solution was found: {what}.", RuntimeWarning, stacklevel=3)


def inverse_hessian(found: Any, scale: ndarray) -> Any:
    """Convert an inverse Hessian for the solver's vector to one for the parameters."""
    if found is None:
        return None
    if isinstance(found, LinearOperator):
        return LinearOperator(found.shape, matvec=lambda v: scale * found.matvec(scale * np.ravel(v)), dtype=np.float64)
    return found * np.outer(scale, scale)


def only_differentiable(result: OptimizeResult, **differentiable: object) -> OptimizeResult:
    """A result inside of a transform: without what would be a constant there, and look as if it were none."""
    return _Solution({**differentiable, **{key: result[key] for key in _CONSTANT if key in result}})


class _Solution(OptimizeResult):  # type: ignore[misc]
    """A result that says why some of SciPy's fields are not there."""

    def __getattr__(self, name: str) -> object:
        if name in self:
            return self[name]
        raise AttributeError(name if name.startswith("__") else self._without(name))

    def __missing__(self, name: object) -> NoReturn:
        raise KeyError(self._without(name))

    def _without(self, name: object) -> str:
        return (
            f"{name!r}: where a solution is being differentiated, its result has "
            f"only {', '.join(self)}: anything else would look like a constant. The gradient at "
            "the solution is pullback.func.grad(f)(result.x)."
        )
