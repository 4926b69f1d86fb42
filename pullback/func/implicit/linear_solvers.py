"""Solvers of real linear systems on plain arrays: LU factors for few unknowns, GMRES for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, gmres

from pullback.core.errors import ConvergenceError, LinAlgError

_RESTART = 60


class Factors:
    """A square matrix in LU factors, its rows and columns brought to one size, so that units make none singular."""

    def __init__(self, name: str, matrix: Any) -> None:
        size = len(matrix)
        if not np.isfinite(matrix).all():
            raise ConvergenceError(
                f"{name}: the Jacobian of the condition at the solution is not finite (its derivative in the "
                f"unknowns, {size} x {size}), so the implicit function theorem gives no derivative there."
            )
        with np.errstate(all="ignore"):
            self.rows = 1 / np.abs(matrix).max(axis=1, initial=0)
            matrix = matrix * self.rows[:, None]
            self.columns = 1 / np.abs(matrix).max(axis=0, initial=0)
            matrix = matrix * self.columns
            reciprocal = 0.0
            if np.isfinite(matrix).all():
                self.lu, self.pivots, info = scipy.linalg.lapack.dgetrf(matrix)
                if not info:
                    reciprocal, _ = scipy.linalg.lapack.dgecon(self.lu, np.abs(matrix).sum(axis=0).max(initial=0))
        if reciprocal < np.finfo(float).eps:
            raise LinAlgError(
                f"{name}: the Jacobian of the condition in the unknowns is singular at the solution ({size} x {size}, "
                f"reciprocal condition number {reciprocal:.1e}), so the solution is not a differentiable function of "
                "the arguments there: is it a double root, a bifurcation, or not the only one? Add the condition that "
                "makes it unique, or pass a linear_solver (least squares, say)."
            )

    def solve(self, b: Any, transposed: bool) -> Any:
        """u with A u = b, or A^T u = b."""
        before, after = (self.columns, self.rows) if transposed else (self.rows, self.columns)
        factors = self.lu, self.pivots
        return after * scipy.linalg.lu_solve(factors, before * b, trans=int(transposed), check_finite=False)


def iterated(name: str, operator: LinearOperator, b: Any, single: bool) -> Any:
    """u with A u = b by GMRES; `single` if the operator has the precision of float32."""
    aim, enough = (1e-6, 1e-4) if single else (1e-12, 1e-8)  # rounding keeps an ill-conditioned system from the first
    u, info = gmres(operator, b, rtol=aim, restart=_RESTART, maxiter=max(10, 5 * len(b) // _RESTART))
    if info and not np.linalg.norm(operator @ u - b) <= enough * np.linalg.norm(b):
        raise stuck(name, operator, b, u, f"GMRES, after {info} iterations")
    return u


def stuck(name: str, operator: LinearOperator, b: Any, u: Any, who: str) -> ConvergenceError:
    """The error of a system that a solver has not solved."""
    left = np.linalg.norm(operator @ u - b) / np.linalg.norm(b)
    return ConvergenceError(
        f"{name}: the linear system for its derivative ({len(b)} unknowns) was not solved by {who}: the residual is "
        f"{left:.1e} of the right side. The Jacobian of the condition is singular or ill-conditioned at the solution; "
        "in the second case pass a linear_solver(operator, b) that suits it, with a preconditioner for example."
    )
