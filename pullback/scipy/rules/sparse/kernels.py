"""The kernels: SciPy's compiled products with sparse matrices, and its solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.scipy.rules.sparse.pattern import Pattern

if TYPE_CHECKING:
    from pullback.scipy.rules.sparse.protocols import Method, Solver


def spmap(x: np.ndarray[Any, Any], pattern: Pattern) -> np.ndarray[Any, Any]:
    """The products of a matrix of ones with a vector, or with those of a stack."""
    matrix = pattern.matrix(np.ones(len(pattern), x.dtype if x.dtype.kind in "fc" else float))
    if x.ndim == 1:
        return matrix @ x
    return (matrix @ x.reshape(-1, x.shape[-1]).T).T.reshape(*x.shape[:-1], matrix.shape[0])


def spmm(data: np.ndarray[Any, Any], x: np.ndarray[Any, Any], pattern: Pattern) -> np.ndarray[Any, Any]:
    """A @ x; of a stack of values and one of x each."""
    if data.ndim == 1:
        return pattern.matrix(data) @ x
    return np.stack([spmm(a, b, pattern) for a, b in zip(data, x, strict=True)])


def sddmm(u: np.ndarray[Any, Any], v: np.ndarray[Any, Any], pattern: Pattern, columns: int = 0) -> np.ndarray[Any, Any]:
    """Sums of products of rows of u and of v, one for each entry."""
    if not columns:
        return u[..., pattern.rows] * v[..., pattern.cols]
    return np.einsum("...ek,...ek->...e", u[..., pattern.rows, :], v[..., pattern.cols, :])


def eigenpairs(
    data: np.ndarray[Any, Any], pattern: Pattern, solver: Solver
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return what the solver finds: values, and vectors as columns."""
    return solver.pairs(pattern.matrix(data).tocsc())


def spsolve(
    data: np.ndarray[Any, Any], b: np.ndarray[Any, Any], pattern: Pattern, method: Method
) -> np.ndarray[Any, Any]:
    """A^-1 b by what `method` does (solvers.py); of a stack each."""
    if data.ndim == 1:
        return method.solve(data, pattern, b)
    return np.stack([spsolve(one, side, pattern, method) for one, side in zip(data, b, strict=True)])


def eigenvalues(
    data: np.ndarray[Any, Any], pattern: Pattern, solver: Solver
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The same, of a matrix that need not be Hermitian."""
    return eigenpairs(data, pattern, solver)
