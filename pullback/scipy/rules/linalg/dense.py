"""scipy.linalg of dense matrices, by the operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import OperatorError
from pullback.core.numpy_types import AnyArray, ArrayLike, Axis
from pullback.interop.adapters.decompositions import mirrored
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, ops
from pullback.scipy.rules.linalg.stacks import over_stacks


@scipy_rule("scipy.linalg.expm")
def expm(A: ArrayLike) -> AnyArray:
    """The exponential of a matrix, or of a stack of them."""
    return ops.linalg_matrix_exp(array(A))


@scipy_rule("scipy.linalg.norm")
def norm(
    a: ArrayLike, ord: Any = None, axis: Axis = None, keepdims: bool = False, check_finite: bool = True
) -> AnyArray:
    """A norm of a matrix or of a vector."""
    return np.linalg.norm(array(a), ord, axis, keepdims)


@scipy_rule("scipy.linalg.toeplitz")
@over_stacks(c=1, r=1)
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> AnyArray:
    """The matrix with first column c and first row r, whose first element is not read."""
    c = _vector("toeplitz", "c", c)
    r = np.conj(c) if r is None else _vector("toeplitz", "r", r)
    diagonals = np.concatenate([c[::-1], r[1:]])
    return diagonals[len(c) - 1 - np.arange(len(c))[:, None] + np.arange(len(r))]


@scipy_rule("scipy.linalg.hankel")
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> AnyArray:
    """The matrix with first column c and last row r, whose first element is not read."""
    c = _vector("hankel", "c", c)
    r = np.zeros_like(c) if r is None else _vector("hankel", "r", r)
    diagonals = np.concatenate([c, r[1:]])
    return diagonals[np.arange(len(c))[:, None] + np.arange(len(r))]


@scipy_rule("scipy.linalg.circulant")
@over_stacks(c=1)
def circulant(c: ArrayLike) -> AnyArray:
    """The matrix with first column c, each further one turned by one place."""
    c = _vector("circulant", "c", c)
    return c[(np.arange(len(c))[:, None] - np.arange(len(c))) % len(c)]


def _vector(name: str, argument: str, x: ArrayLike) -> AnyArray:
    x = array(x)
    if x.ndim != 1:
        raise OperatorError(f"scipy.linalg.{name}: {argument} must be a vector here, got shape {tuple(x.shape)}.")
    return x


def _symmetric(a: AnyArray, lower: bool) -> AnyArray:
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    return part + np.swapaxes(part, -1, -2) + np.eye(a.shape[-1]) * a


# What SciPy reads of a matrix that is said to be of this kind.
_READ: dict[Any, Callable[[Any, bool], Any]] = {
    **dict.fromkeys((None, "general", "gen", "banded"), lambda a, lower: a),
    "diagonal": lambda a, lower: np.eye(a.shape[-1]) * a,
    "tridiagonal": lambda a, lower: np.triu(np.tril(a, 1), -1),
    "upper triangular": lambda a, lower: np.triu(a),
    "lower triangular": lambda a, lower: np.tril(a),
    **dict.fromkeys(("symmetric", "sym"), _symmetric),
    **dict.fromkeys(("hermitian", "her", "positive definite", "pos"), mirrored),
}


def _read(a: ArrayLike, assume_a: str | None, lower: bool) -> AnyArray:
    if assume_a not in _READ:
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    return _READ[assume_a](array(a), lower)


@scipy_rule("scipy.linalg.inv")
def inv(
    a: ArrayLike,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> AnyArray:
    """The inverse of a matrix."""
    return np.linalg.inv(_read(a, assume_a, lower))


@scipy_rule("scipy.linalg.det")
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> AnyArray:
    """The determinant, which SciPy gives in double precision."""
    a = array(a)
    return np.linalg.det(a.astype(np.result_type(a.dtype, np.float64)))


@scipy_rule("scipy.linalg.solve")
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> AnyArray:
    """The solution of a x = b, or of the transposed system."""
    a = _read(a, assume_a, lower)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, array(b))


@scipy_rule("scipy.linalg.cholesky")
def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> AnyArray:
    """The Cholesky factor, of which SciPy gives the upper one by default."""
    return np.linalg.cholesky(array(a), upper=not lower)


@scipy_rule("scipy.linalg.cho_factor")
def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[AnyArray, bool]:
    """The pair (Cholesky factor, lower). Where SciPy leaves what was there, beside the triangle, are zeros."""
    return cholesky(a, lower), lower


@scipy_rule("scipy.linalg.cho_solve")
def cho_solve(
    c_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> AnyArray:
    """The solution x of a x = b, from the Cholesky factor of a."""
    c, lower = c_and_lower
    return _cho_solve(c, b, lower)


@over_stacks(c=2, b="1|2")
def _cho_solve(c: ArrayLike, b: ArrayLike, lower: bool) -> AnyArray:
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


@scipy_rule("scipy.linalg.solve_triangular")
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> AnyArray:
    """The solution x of a x = b, a^T x = b or a^H x = b, for a triangular matrix a."""
    a, b = array(a), array(b)
    trans = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if trans:
        a = np.swapaxes(a, -1, -2) if trans == 1 else np.conj(np.swapaxes(a, -1, -2))
    column = b.ndim == 1
    x = ops.linalg_solve_triangular(
        a, b[:, None] if column else b, upper=bool(lower) == bool(trans), unitriangular=bool(unit_diagonal)
    )
    return x[..., 0] if column else x
