"""How linear systems with sparse matrices are solved: by factors, by triangles, by bands, or by iteration.

A method has `solve(values, pattern, b)`; `adjoint`, which solves with the conjugate transpose, and is given its values
and pattern; and `again`, which solves another system of the same matrix for a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse.linalg
from scipy.sparse import csc_array

from pullback.core.errors import ConvergenceError

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator, SuperLU

    from pullback.scipy.rules.sparse.pattern import Pattern
    from pullback.scipy.rules.sparse.types import Compressed, Genuine


class Factors:
    """By the sparse LU factors, which are computed once for a matrix, its transpose and its adjoint."""

    def __init__(
        self,
        factor: Callable[[Any], Any],
        kept: list[Any] | None = None,
        transposed: bool = False,
        conjugate: bool = False,
    ) -> None:
        self.factor = factor
        self.kept = [None, None] if kept is None else kept  # values, their factors
        self.transposed, self.conjugate = transposed, conjugate

    def turned(self, transposed: bool, conjugate: bool) -> Factors:
        """The method for the transpose, or the conjugate, with the same factors."""
        return Factors(self.factor, self.kept, self.transposed != transposed, self.conjugate != conjugate)

    @property
    def adjoint(self) -> Factors:
        """For A^H."""
        return self.turned(True, True)

    @property
    def again(self) -> Factors:
        """For another right-hand side."""
        return self

    def solve(self, values: np.ndarray[Any, Any], pattern: Pattern, b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The solution."""
        base = values.conj() if self.conjugate else values
        known, factors = self.kept
        if known is None or known.dtype != base.dtype or not np.array_equal(known, base):
            factors = self.factor(columns_of((pattern.T if self.transposed else pattern).matrix(base)))
            self.kept[:] = base.copy(), factors
        if self.conjugate and not self.transposed:
            return _by_parts(factors, b.conj(), "N", base.dtype).conj()
        return _by_parts(factors, b, ("N", "H" if self.conjugate else "T")[self.transposed], base.dtype)


def _by_parts(factors: SuperLU, b: np.ndarray[Any, Any], trans: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """SuperLU's solution, which wants b of the matrix's dtype and in Fortran's order."""
    if b.dtype.kind == "c" and dtype.kind != "c":
        return _by_parts(factors, b.real, trans, dtype) + 1j * _by_parts(factors, b.imag, trans, dtype)
    wide = np.complex128 if dtype.kind == "c" else np.float64
    x = factors.solve(np.asarray(b, wide, order="F"), trans)
    return x.astype(np.result_type(b.dtype, dtype), copy=False)


def columns_of(matrix: Genuine) -> csc_array:
    """A csc_array with sorted entries of doubles, one a place."""
    made = csc_array(matrix, dtype=np.complex128 if matrix.dtype.kind == "c" else np.float64, copy=True)
    made.sum_duplicates()
    return made


class Triangle:
    """By substitution, in one triangle of the matrix."""

    def __init__(self, lower: bool, unit_diagonal: bool) -> None:
        self.lower, self.unit_diagonal = lower, unit_diagonal

    @property
    def adjoint(self) -> Triangle:
        """For A^H."""
        return Triangle(not self.lower, self.unit_diagonal)

    @property
    def again(self) -> Triangle:
        """For another right-hand side."""
        return self

    def solve(self, values: np.ndarray[Any, Any], pattern: Pattern, b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The solution."""
        matrix = columns_of(pattern.matrix(values))
        dtype = np.result_type(matrix.dtype, b.dtype)
        return scipy.sparse.linalg.spsolve_triangular(
            matrix.astype(dtype).tocsr(), b.astype(dtype), self.lower, unit_diagonal=self.unit_diagonal
        )


class Iteration:
    """By one of SciPy's iterative solvers; derivatives are solved for by the same, with the same tolerances.

    name, function : the solver
    options : its arguments beside A and b
    first : those of the first call alone (x0, callback)
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        options: dict[str, Any],
        first: dict[str, Any],
        before: Iteration | None = None,
    ) -> None:
        self.name, self.function, self.options, self.first, self.before = name, function, options, first, before
        self.info = 0

    @property
    def adjoint(self) -> Iteration:
        """For A^H, with the adjoint preconditioners."""
        turned = self.options
        if self.name not in SELF_ADJOINT:
            turned = {key: _adjoint(x) if key in ("M", "M1", "M2") else x for key, x in turned.items()}
        return Iteration(self.name, self.function, turned, {}, self)

    @property
    def again(self) -> Iteration:
        """For a derivative."""
        return Iteration(self.name, self.function, self.options, {}, self)

    def solve(self, values: np.ndarray[Any, Any], pattern: Pattern, b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The solution; SciPy's `info` is kept. Where it serves a derivative, an unfinished iteration is refused."""
        if self.before is not None:
            self._refuse(self.before.info, "did not converge, so what it found has no derivative")
        matrix = pattern.matrix(values)
        if scipy.sparse.issparse(matrix):
            matrix = matrix.tocsr()
        sides = b[:, None] if b.ndim == 1 else b
        found = []
        for side in sides.T:
            x, info = self._one(matrix, side)
            found.append(x)
            self.info = self.info or info
        if self.before is not None:
            self._refuse(self.info, "did not converge in the linear system of its derivative")
        return np.stack(found, -1).reshape(b.shape)

    def _one(self, matrix: Compressed, side: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
        if side.dtype.kind == "c" and matrix.dtype.kind != "c":
            matrix = matrix.astype(side.dtype)
        x, info = self.function(matrix, side, **self.options, **self.first)
        return (x.real if x.dtype.kind == "c" and side.dtype.kind != "c" != matrix.dtype.kind else x), info

    def _refuse(self, info: int, what: str) -> None:
        if info:
            raise ConvergenceError(
                f"scipy.sparse.linalg.{self.name} {what} (info = {info}). Give it more iterations (maxiter), a wider "
                "tolerance (rtol) or a preconditioner (M), or solve by spsolve."
            )


SELF_ADJOINT = ("cg", "minres")


def _adjoint(operator: Genuine | LinearOperator | None) -> Genuine | LinearOperator | None:
    return operator if operator is None else operator.conj().T if hasattr(operator, "conj") else operator.adjoint()


class LeastSquares(Factors):
    """The first solution by lsqr or lsmr; those for derivatives by the LU factors of the system of residual and x.

    solve_by : function of the matrix and b, which gives SciPy's results
    damp : SciPy's
    shape : of the matrix, which is at the upper right of the system
    """

    def __init__(self, solve_by: Callable[[Any, Any], Any], damp: float, shape: tuple[int, int]) -> None:
        super().__init__(scipy.sparse.linalg.splu)
        self.solve_by, self.damp, self.shape = solve_by, damp, shape
        self.rest: tuple[Any, ...] = ()

    @property
    def again(self) -> Factors:
        """By factors."""
        return Factors(self.factor, self.kept)

    def solve(self, values: np.ndarray[Any, Any], pattern: Pattern, b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Residual and solution, one after the other."""
        if b.ndim == 2:
            return np.stack([self.solve(values, pattern, side) for side in b.T], 1)
        m, _ = self.shape
        matrix = csc_array(pattern.matrix(values))[:m, m:]
        x, *self.rest = self.solve_by(matrix, b[:m])
        return np.concatenate([b[:m] - matrix @ x, x])
