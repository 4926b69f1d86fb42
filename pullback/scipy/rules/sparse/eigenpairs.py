"""A few eigenvalues or singular values of sparse matrices, and their vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays, Numeric
from pullback.interop.adopt.dispatchers import at_stake
from pullback.interop.adopt.rules import IMPLICIT, scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.holders import Holder
from pullback.interop.operands import floating, frozen
from pullback.scipy.rules.orders import order_like
from pullback.scipy.rules.sparse.operators import eigenpairs, eigenvalues
from pullback.scipy.rules.sparse.pattern import Pattern
from pullback.scipy.rules.sparse.solvers import Factors
from pullback.scipy.rules.sparse.solving import as_sparse, factored
from pullback.scipy.rules.sparse.sparse_array import OperatorLike

if TYPE_CHECKING:
    from pullback.scipy.rules.sparse.sparse_array import Sparse
    from pullback.scipy.rules.sparse.types import Compressed


class Pairs:
    """How eigenpairs are found, and the bordered systems of their derivatives.

    kind : of decomposition, which errors name
    pairs : function of the matrix, which gives values, and vectors as columns
    """

    def __init__(self, kind: str, pairs: Callable[[Any], Any]) -> None:
        self.kind, self.pairs = f"linalg.{kind}", pairs
        self._known: tuple[Any, Any] = (None, None)

    def factors(self) -> Factors:
        """Sparse LU factors, of one system."""
        return Factors(factored)

    def bordered(self, pattern: Pattern, k: int) -> Pattern:
        """The pattern of ((A - w, V), (V^H, 0)), whose values are those of A, n times -w, V, conj V."""
        if self._known[0] is not pattern:
            n = pattern.shape[0]
            i, j = (x.ravel() for x in np.indices((n, k)))
            each = np.arange(n)
            rows = np.concatenate([pattern.rows, each, i, n + j])
            cols = np.concatenate([pattern.cols, each, n + j, i])
            self._known = pattern, Pattern(rows, cols, (n + k, n + k))
        return self._known[1]


def _options(function: str, names: Sequence[str], args: Sequence[Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options of a function, by name, without Tensors: positions stand for `names`."""
    given = dict(zip(names, args, strict=False)) | options
    return {name: plain(x, lambda t: frozen(t, function)) for name, x in given.items()}


def _in_order_of_values_alone(w: AnyArray, function: Callable[..., Any], *args: object, **options: Any) -> AnyArray:
    """The eigenvalues in the order in which SciPy gives them without vectors.

    This is ARPACK's own order, which depends on its course and stands nowhere else: SciPy solves a second time for it.
    """
    alone = function(*args, return_eigenvectors=False, **options)
    return w[order_like(frozen(w, function.__name__), alone)]


def _matrix(A: OperatorLike, name: str) -> Sparse:
    if isinstance(A, LinearOperator) and issubclass(type(A), Holder):
        A = A.A
    if isinstance(A, LinearOperator):
        raise UnsupportedError(
            f"scipy.sparse.linalg.{name}: a LinearOperator has no rule beside a Tensor; give a matrix."
        )
    return as_sparse(A)


@scipy_rule("scipy.sparse.linalg.eigsh")
def eigsh(
    A: OperatorLike,
    k: int = 6,
    M: OperatorLike | None = None,
    sigma: Numeric | None = None,
    *args: object,
    **options: Any,
) -> Arrays:
    """k eigenvalues of a Hermitian matrix, and their vectors."""
    if M is not None or at_stake(sigma):
        raise UnsupportedError(
            "scipy.sparse.linalg.eigsh: there is no rule with M, or with a Tensor as sigma: take scipy.linalg.eigh."
        )
    names = ("which", "v0", "ncv", "maxiter", "tol", "return_eigenvectors", "Minv", "OPinv", "mode", "rng")
    options = _options("eigsh", names, args, options)
    both = options.pop("return_eigenvectors", True)
    A, k = _matrix(A, "eigsh"), operator.index(k)
    solver = Pairs("eigh", lambda matrix: scipy.sparse.linalg.eigsh(matrix, k, None, plain(sigma), **options))
    w, V = eigenpairs(floating(A._data), A.pattern, solver)
    if both:
        return w, V
    return _in_order_of_values_alone(w, scipy.sparse.linalg.eigsh, A.plain(), k, None, plain(sigma), **options)


@scipy_rule("scipy.sparse.linalg.eigs")
def eigs(
    A: OperatorLike,
    k: int = 6,
    M: OperatorLike | None = None,
    sigma: Numeric | None = None,
    *args: object,
    **options: Any,
) -> AnyArray:
    """k eigenvalues of a matrix, whose vectors have no rule."""
    if M is not None or at_stake(sigma):
        raise UnsupportedError("scipy.sparse.linalg.eigs: there is no rule with M, or with a Tensor as sigma.")
    names = ("which", "v0", "ncv", "maxiter", "tol", "return_eigenvectors", "Minv", "OPinv", "OPpart", "rng")
    options = _options("eigs", names, args, options)
    if options.pop("return_eigenvectors", True):
        raise UnsupportedError(
            "scipy.sparse.linalg.eigs: eigenvectors have no rule. Give return_eigenvectors=False, or take "
            "scipy.linalg.eig(A.toarray())."
        )
    A, k = _matrix(A, "eigs"), operator.index(k)
    solver = Pairs("eig", lambda matrix: scipy.sparse.linalg.eigs(matrix, k, None, plain(sigma), **options))
    w, _ = eigenvalues(floating(A._data), A.pattern, solver)
    return _in_order_of_values_alone(w, scipy.sparse.linalg.eigs, A.plain(), k, None, plain(sigma), **options)


@scipy_rule("scipy.sparse.linalg.lobpcg")
def lobpcg(
    A: OperatorLike,
    X: ArrayLike,
    B: OperatorLike | None = None,
    M: OperatorLike | None = None,
    Y: ArrayLike | None = None,
    *args: object,
    **options: Any,
) -> tuple[AnyArray, AnyArray]:
    """As many eigenvalues of a Hermitian matrix as X has columns, and their vectors."""
    if B is not None or Y is not None:
        raise UnsupportedError("scipy.sparse.linalg.lobpcg: there is no rule with B or Y: take scipy.linalg.eigh.")
    names = (
        "tol",
        "maxiter",
        "largest",
        "verbosityLevel",
        "retLambdaHistory",
        "retResidualNormsHistory",
        "restartControl",
    )
    options = _options("lobpcg", names, args, options)
    if options.get("retLambdaHistory") or options.get("retResidualNormsHistory"):
        raise UnsupportedError("scipy.sparse.linalg.lobpcg: histories have no rule; leave them out.")
    A, X = _matrix(A, "lobpcg"), frozen(X, "lobpcg")
    solver = Pairs("eigh", lambda matrix: scipy.sparse.linalg.lobpcg(matrix, X, None, plain(M), **options))
    return eigenpairs(floating(A._data), A.pattern, solver)


@scipy_rule("scipy.sparse.linalg.svds")
def svds(
    A: OperatorLike, k: int = 6, *args: object, **options: Any
) -> AnyArray | tuple[AnyArray | None, AnyArray, AnyArray | None]:
    """k singular values and their vectors: (u, v) / sqrt 2 is an eigenvector of ((0, A), (A^H, 0))."""
    names = ("ncv", "tol", "which", "v0", "maxiter", "return_singular_vectors", "solver", "rng", "options")
    options = _options("svds", names, args, options)
    wanted = options.pop("return_singular_vectors", True)
    A = _matrix(A, "svds")
    m, n = A.shape

    def pairs(matrix: Compressed) -> tuple[AnyArray, AnyArray]:
        u, s, vh = scipy.sparse.linalg.svds(matrix[:m, m:], k, **options)
        return s, np.concatenate([u, vh.conj().T]) / np.sqrt(2)

    data = floating(A._data)
    both = Pattern(np.concatenate([A.row, A.col + m]), np.concatenate([A.col + m, A.row]), (m + n, m + n))
    s, V = eigenpairs(np.concatenate([data, np.conj(data)]), both, Pairs("svd", pairs))
    u, vh = V[:m] * np.sqrt(2), np.conj(V[m:].T) * np.sqrt(2)
    if wanted is False:
        return s
    return (u if wanted in (True, "u") else None), s, (vh if wanted in (True, "vh") else None)


IMPLICIT.update(f"scipy.sparse.linalg.{name}" for name in ("eigs", "eigsh", "lobpcg", "svds"))
