"""Functions of sparse matrices: inverse, exponential, norms; and linear operators around tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, ArrayLike, Numeric
from pullback.interop.adopt.dispatchers import at_stake
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.adopt.scipy.ways import gives_no_gradient
from pullback.interop.holders import Holder
from pullback.interop.operands import array, frozen, ops
from pullback.scipy.rules.sparse import sparse_array
from pullback.scipy.rules.sparse.solving import as_sparse, spsolve
from pullback.scipy.rules.sparse.sparse_array import (
    MatrixLike,
    OperatorLike,
    Product,
    Sparse,
    SparseLike,
    is_sparse,
    sparse,
)


@scipy_rule("scipy.sparse.linalg.inv")
def inv(A: MatrixLike) -> Sparse:
    """The inverse, of which all entries are kept."""
    if not is_sparse(A):
        raise TypeError("Input must be a sparse arrays")
    A = sparse(A)
    return _all_entries(spsolve(A, np.eye(A.shape[0])), A)


@scipy_rule("scipy.sparse.linalg.expm")
def expm(A: MatrixLike) -> Product:
    """The exponential of a matrix, which is full."""
    if not is_sparse(A):
        return ops.linalg_matrix_exp(array(A))
    return _all_entries(ops.linalg_matrix_exp(array(sparse(A).toarray())), sparse(A))


def _all_entries(dense: AnyArray, A: Sparse) -> Sparse:
    made = as_sparse(dense)
    face = "matrix" if A.is_matrix else "array"
    found: Sparse = Sparse(made._data, made.pattern, getattr(scipy.sparse, f"csr_{face}")).asformat(A.format)
    return found


@scipy_rule("scipy.sparse.linalg.matrix_power")
def matrix_power(A: MatrixLike, power: int) -> Product:
    """A to a whole power."""
    return sparse_array.matrix_power(sparse(A) if is_sparse(A) else array(A), power)


@scipy_rule("scipy.sparse.linalg.norm")
def norm(x: SparseLike, ord: Any = None, axis: Any = None) -> Numeric:
    """A norm of a matrix, or of its rows or columns."""
    if not is_sparse(x):
        raise TypeError("input is not sparse. use numpy.linalg.norm")
    x = sparse(x).asformat("csr").merged()
    both = axis is None or (isinstance(axis, tuple) and len(axis) == 2)
    if both and ord in (None, "fro", "f"):
        return np.linalg.norm(x._data)
    if both and ord in (1, np.inf):
        return np.max(abs(x).sums(0 if ord == 1 else 1))
    if both and ord in (2, -2):
        raise NotImplementedError("no derivative: take scipy.linalg.svdvals(A.toarray()), or svds for the largest")
    if axis is not None and not both and isinstance(axis, tuple):
        (axis,) = axis
    return np.linalg.norm(x.toarray(), ord, axis)


_PART = 3.0  # the norm of what one Taylor series takes: 3**32 / 32! < 1e-19
_TERMS = 32


@scipy_rule("scipy.sparse.linalg.expm_multiply")
def expm_multiply(
    A: Any,
    B: ArrayLike,
    start: float | None = None,
    stop: float | None = None,
    num: int | None = None,
    endpoint: bool | None = None,
    traceA: complex | None = None,
) -> AnyArray:
    """exp(A) B, or exp(t A) B at equally spaced t, by Taylor series of parts that are short enough for every digit."""
    if at_stake((start, stop)):
        raise UnsupportedError("scipy.sparse.linalg.expm_multiply: start and stop have no rule: scale A instead.")
    A = sparse(A) if is_sparse(A) else A if issubclass(type(A), _OperatorOf) else array(A)
    B = array(B)
    if isinstance(A, LinearOperator) and not issubclass(type(A), _OperatorOf):
        raise UnsupportedError("scipy.sparse.linalg.expm_multiply: a LinearOperator has no rule; give a matrix.")
    A = getattr(A, "A", A) if issubclass(type(A), _OperatorOf) else A
    if start is None and stop is None and num is None and endpoint is None:
        return _action(A, B, 1.0)
    start, stop = plain(start), plain(stop)
    times = np.linspace(
        0.0 if start is None else start, stop, 50 if num is None else num, True if endpoint is None else endpoint
    )
    step = times[1] - times[0] if len(times) > 1 else 0.0
    found = [_action(A, B, times[0])]
    for _ in times[1:]:
        found.append(_action(A, found[-1], step))
    return np.stack(found)


def _action(A: Product, B: AnyArray, t: float) -> AnyArray:
    size = abs(t) * _one_norm(A)
    parts = max(1, int(np.ceil(size / _PART)))
    if parts > _MANY:
        raise UnsupportedError(
            f"scipy.sparse.linalg.expm_multiply: |t A| = {size:.3g} takes {parts} Taylor series, all of them "
            "recorded. Scale A, or take scipy.linalg.expm of the dense matrix."
        )
    for _ in range(parts):
        term = total = B
        for k in range(1, _TERMS + 1):
            term = (A @ term) * (t / (parts * k))
            total = total + term
        B = total
    return B


_MANY = 10_000


def _one_norm(A: Product) -> float:
    if is_sparse(A):
        columns = A.with_values(np.abs(frozen(A._data, "expm_multiply"))).sum(axis=0)
    else:
        columns = np.abs(frozen(A, "expm_multiply")).sum(axis=0)
    return float(np.max(columns)) if A.shape[0] else 0.0


class _OperatorOf(LinearOperator, Holder):  # type: ignore[misc]
    """A matrix of tensors as a linear operator."""

    def __init__(self, A: Product) -> None:
        super().__init__(A.dtype, A.shape)
        self.A = A

    def held(self) -> tuple[Any, ...]:
        return self.A.held() if isinstance(self.A, Holder) else (self.A,)

    def plain(self) -> LinearOperator:
        return scipy.sparse.linalg.aslinearoperator(plain(self.A))

    def _times(self, x: AnyArray) -> AnyArray:
        return self.A @ x

    _matvec = _matmat = matvec = matmat = dot = __matmul__ = __mul__ = __call__ = _times

    def _adjoint(self) -> _OperatorOf:
        return _OperatorOf(np.conj(self.A.T) if not is_sparse(self.A) else self.A.H)

    def _transpose(self) -> _OperatorOf:
        return _OperatorOf(self.A.T)

    def rmatvec(self, x: AnyArray) -> AnyArray:
        """A^H x."""
        return self._adjoint().A @ x

    rmatmat = rmatvec


@scipy_rule("scipy.sparse.linalg.aslinearoperator")
def aslinearoperator(A: OperatorLike) -> LinearOperator:
    """The operator of a matrix."""
    return A if isinstance(A, LinearOperator) else _OperatorOf(sparse(A) if is_sparse(A) else array(A))


gives_no_gradient(*(f"scipy.sparse.linalg.{name}" for name in ("is_sptriangular", "spbandwidth")))
