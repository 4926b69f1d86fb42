"""Linear systems with sparse matrices: the derivative of the solution, by a system with the adjoint matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from pullback.core.errors import LinAlgError, UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.core.tensor import Tensor
from pullback.func.left_behind import leave
from pullback.graph.captured import Captured
from pullback.interop.adopt.dispatchers import at_stake, first_tensor
from pullback.interop.adopt.rules import IMPLICIT, scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.holders import Holder
from pullback.interop.operands import array, floating, frozen, needs_grad
from pullback.interop.unseen import unseen
from pullback.scipy.rules.sparse import operators
from pullback.scipy.rules.sparse.pattern import Pattern
from pullback.scipy.rules.sparse.solvers import SELF_ADJOINT, Factors, Iteration, LeastSquares, Triangle
from pullback.scipy.rules.sparse.sparse_array import (
    MatrixLike,
    Sparse,
    SparseLike,
    applied,
    from_entries,
    is_sparse,
    joined_entries,
    sparse,
)

if TYPE_CHECKING:
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import SuperLU

    from pullback.scipy.rules.sparse.protocols import Method


def solution(data: AnyArray, b: AnyArray, pattern: Pattern | _OperatorPattern, method: Method) -> AnyArray:
    """The operator, on floating-point numbers."""
    return applied(operators.spsolve, floating(data), floating(b), pattern, method)


def as_sparse(A: MatrixLike) -> Sparse:
    """A sparse matrix of ours; of a dense one all entries."""
    if is_sparse(A):
        return sparse(A)
    A = array(A)
    if A.ndim != 2:
        raise ValueError(f"expected a matrix, got an array of shape {tuple(A.shape)}")
    rows, cols = (x.ravel() for x in np.indices(A.shape))
    return from_entries(A.reshape(-1), rows, cols, A.shape, scipy.sparse.csr_array)


def _square(A: MatrixLike, name: str) -> Sparse:
    matrix: Sparse = as_sparse(A)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: matrix must be square, got shape {matrix.shape}")
    return matrix


def factored(matrix: csc_array, **options: Any) -> SuperLU:
    """Sparse LU factors; a LinAlgError if it is singular."""
    try:
        return scipy.sparse.linalg.splu(matrix, **options)
    except RuntimeError as error:
        if "singular" not in str(error):
            raise
        raise LinAlgError(f"a sparse matrix of shape {matrix.shape} is singular: there is no derivative") from error


def _sides(b: MatrixLike, name: str) -> AnyArray:
    if is_sparse(b):
        raise UnsupportedError(f"scipy.sparse.linalg.{name}: a sparse right-hand side has no rule; take b.toarray().")
    return array(b)


@scipy_rule("scipy.sparse.linalg.spsolve")
def spsolve(A: MatrixLike, b: MatrixLike, permc_spec: str | None = None, use_umfpack: bool = True) -> AnyArray:
    """The solution of A x = b, by sparse LU factors."""
    A, b = _square(A, "spsolve"), _sides(b, "spsolve")
    if b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {b.shape[0]})")
    method = Factors(lambda matrix: factored(matrix, permc_spec=permc_spec))
    return solution(A._data, b.reshape(-1) if b.ndim == 2 and b.shape[1] == 1 else b, A.pattern, method)


class Factored(Holder):
    """The result of `splu` and `spilu`: SciPy's object for plain arrays, the rule where a tensor comes in."""

    @unseen
    def __init__(self, A: SparseLike | AnyArray, options: dict[str, Any], incomplete: bool = False) -> None:
        self.A, self.options, self.incomplete = A, options, incomplete
        self._genuine: SuperLU | None = None
        self._method: Factors | None = None
        if first_tensor((A,)) is None:
            _ = self.genuine
            self.A = A.copy() if is_sparse(A) else A  # which may change afterwards: the factors do not

    __class__ = property(lambda self: scipy.sparse.linalg.SuperLU)

    def held(self) -> tuple[Any, ...]:
        return self.A.held() if isinstance(self.A, Holder) else ()

    def plain(self) -> SuperLU:
        return self.genuine

    @property
    @unseen
    def genuine(self) -> SuperLU:
        """SciPy's own factors."""
        if self._genuine is None:
            make = scipy.sparse.linalg.spilu if self.incomplete else scipy.sparse.linalg.splu
            self._genuine = make(plain(self.A), **self.options)
        return self._genuine

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U", "diag") and at_stake(self.A):
            raise UnsupportedError(
                f"scipy.sparse.linalg.splu: {name} has no rule for tensors; scipy.linalg.lu has one."
            )
        return getattr(self.genuine, name)

    def solve(self, rhs: ArrayLike, trans: str = "N") -> AnyArray:
        """The solution for a right-hand side."""
        if first_tensor((rhs,)) is None and not at_stake(self.A):
            return self.genuine.solve(rhs, trans)
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        if self.incomplete:
            return self._by_incomplete(array(rhs), trans)
        A = _square(self.A, "splu")
        if self._method is None:
            known = None if self._genuine is None else [floating(frozen(A._data, "splu")).copy(), self._genuine]
            self._method = Factors(lambda matrix: factored(matrix, **self.options), known)
        turned, conjugate = trans != "N", trans == "H"
        data = np.conj(A._data) if conjugate else A._data
        method = self._method.turned(turned, conjugate)
        return solution(data, _sides(rhs, "splu"), A.pattern.T if turned else A.pattern, method)

    def _by_incomplete(self, rhs: AnyArray, trans: str) -> AnyArray:
        if at_stake(self.A):
            raise UnsupportedError("scipy.sparse.linalg.spilu: it has no rule for tensors: use splu.")
        shape = self.A.shape
        known = Factors(lambda matrix: self.genuine).turned(trans != "N", trans == "H")
        none = Pattern(np.zeros(0, int), np.zeros(0, int), shape if trans == "N" else shape[::-1])
        return solution(np.zeros(0, self.A.dtype), rhs, none, known)


def _maker(name: str, incomplete: bool) -> None:
    @unseen
    def rule(A: SparseLike | AnyArray, *args: object, **kwargs: object) -> Factored:
        names: tuple[str, ...] = ("permc_spec", "diag_pivot_thresh", "relax", "panel_size", "options")
        if incomplete:
            names = ("drop_tol", "fill_factor", "drop_rule", *names)
        return Factored(A, dict(zip(names, args, strict=False)) | kwargs, incomplete)

    scipy_rule(f"scipy.sparse.linalg.{name}")(rule)


_maker("splu", False)
_maker("spilu", True)


@scipy_rule("scipy.sparse.linalg.factorized")
def factorized(A: MatrixLike) -> Callable[[Any], Any]:
    """A function that solves for a right-hand side."""
    return Factored(A if is_sparse(A) else scipy.sparse.csc_array(A), {}).solve


@scipy_rule("scipy.sparse.linalg.spsolve_triangular")
def spsolve_triangular(
    A: MatrixLike,
    b: MatrixLike,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> AnyArray:
    """The solution of a triangular system."""
    A = _square(A, "spsolve_triangular").asformat("csr")
    wrong = A.row < A.col if lower else A.row > A.col
    if wrong.any():
        raise LinAlgError(f"A is not {'lower' if lower else 'upper'} triangular.")
    if unit_diagonal:
        off = (A.row != A.col).astype(float)
        one = sparse(scipy.sparse.eye_array(A.shape[0], format="csr"))
        A = joined_entries([Sparse(A._data * off, A.pattern, A.kind), one], A.kind)
    return solution(A._data, array(b), A.pattern, Triangle(lower, False))


class _OperatorPattern:
    """Stands for the pattern of a linear operator, or of its adjoint, which has no values."""

    def __init__(self, captured: Captured, self_adjoint: bool, turned: bool = False) -> None:
        self.captured, self.self_adjoint, self.turned = captured, self_adjoint, turned

    @property
    def T(self) -> _OperatorPattern:
        """That of the adjoint: values beside are none, so none are conjugated."""
        return self if self.self_adjoint else _OperatorPattern(self.captured, False, not self.turned)

    def matrix(self, values: AnyArray) -> LinearOperator:
        """The operator."""
        (operator,) = self.captured.renew()
        return operator.adjoint() if self.turned else operator


_FIRST = ("x0", "callback", "callback_type", "show")


def _iterative(name: str) -> None:
    function = getattr(scipy.sparse.linalg, name)

    def rule(A: MatrixLike, b: ArrayLike, x0: ArrayLike | None = None, **options: Any) -> Any:
        if needs_grad(options.get("shift")):
            raise UnsupportedError(
                f"scipy.sparse.linalg.{name}: give A - shift * I in place of A; shift has no gradient."
            )
        if first_tensor(options.values()) is not None:  # the solution does not depend on them
            options = plain(options, lambda tensor: frozen(tensor, name))
        first = {key: options.pop(key) for key in _FIRST if key in options}
        method = Iteration(name, function, options, {"x0": None if x0 is None else frozen(array(x0), name), **first})
        b = array(b)
        if b.ndim == 2 and b.shape[1] == 1:
            b = b.reshape(-1)
        if isinstance(A, LinearOperator) and issubclass(type(A), Holder):
            A = A.A
        if isinstance(A, LinearOperator):
            captured = Captured(f"scipy.sparse.linalg.{name}", A)
            captured.keep([b] if isinstance(b, Tensor) else [])
            x = solution(np.zeros(0), b, _OperatorPattern(captured, name in SELF_ADJOINT), method)
            leave(captured)
        else:
            A = _square(A, name)
            x = solution(A._data, b, A.pattern, method)
        return x, method.info

    scipy_rule(f"scipy.sparse.linalg.{name}")(rule)
    IMPLICIT.add(f"scipy.sparse.linalg.{name}")


for _name in ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"):
    _iterative(_name)


def _least_squares(name: str) -> None:
    function = getattr(scipy.sparse.linalg, name)

    def rule(A: MatrixLike, b: ArrayLike, damp: float = 0.0, *args: object, **options: Any) -> Any:
        if at_stake(damp):
            raise UnsupportedError(f"scipy.sparse.linalg.{name}: damp has no rule; stack sqrt(damp) I below A instead.")
        damp = plain(damp)
        options = {key: plain(x) for key, x in options.items()}
        A = as_sparse(A).asformat("csr")
        b = array(b)
        b = b.reshape(-1) if b.ndim == 2 else b
        m, n = A.shape
        method = LeastSquares(lambda matrix, b: function(matrix, b, damp, *plain(args), **options), damp, (m, n))
        system, pattern = _normal_system(A, damp)
        side = np.concatenate([b, np.zeros(n)])
        both = solution(system, side, pattern, method)
        x, rest = both[m:], list(method.rest)
        residual = np.linalg.norm(b - A @ x)
        first = residual if not damp else np.sqrt(residual**2 + (damp * np.linalg.norm(x)) ** 2)
        if name == "lsqr":  # x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var
            rest[2], rest[3], rest[7] = residual, first, np.linalg.norm(x)
        else:  # x, istop, itn, normr, normar, norma, conda, normx
            rest[2], rest[6] = first, np.linalg.norm(x)
        return (x, *rest)

    scipy_rule(f"scipy.sparse.linalg.{name}")(rule)
    IMPLICIT.add(f"scipy.sparse.linalg.{name}")


def _normal_system(A: Sparse, damp: float) -> tuple[AnyArray, Pattern]:
    """The system of residual and solution: r + A x = b, A^H r - damp^2 x = 0."""
    m, n = A.shape
    i, j = np.arange(m), np.arange(n)
    data = np.concatenate([np.ones(m), A._data, np.conj(A._data), np.full(n, -(float(damp) ** 2))])
    rows = np.concatenate([i, A.row, A.col + m, j + m])
    cols = np.concatenate([i, A.col + m, A.row, j + m])
    return data, Pattern(rows, cols, (m + n, m + n))


_least_squares("lsqr")
_least_squares("lsmr")
