"""Inverses and solutions of linear equations."""

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.decompositions.matrices import (
    matrices_of,
    refuse_failures,
    require_floating,
    require_matrices,
    svd,
)
from pullback.arrays.numpy.decompositions.small import are_small, substitute
from pullback.core.errors import LinAlgError, OperatorError

_SINGULAR = "the matrix is singular: pivot {info} of its LU factorisation is zero"


def zero_pivots(A):
    """For each matrix the place, counted from 1, of the first zero on the diagonal of its U; 0 if there is none."""
    batch, (stack,) = matrices_of(A)
    (getrf,) = get_lapack_funcs(("getrf",), (A,))
    return np.array([getrf(a)[2] if a.size else 0 for a in stack], np.int32).reshape(batch)


def linalg_inv_ex(A, check_errors=False):
    """Inverses and, for each matrix, 0 or the place of a zero pivot; singular ones have an inverse of nan."""
    require_matrices("linalg.inv", square=True, A=A)
    try:
        return np.linalg.inv(A), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = zero_pivots(A)
    if check_errors:
        refuse_failures("linalg.inv", info, _SINGULAR)
    regular = np.where((info != 0)[..., None, None], np.eye(A.shape[-1], dtype=A.dtype), A)
    return np.where((info != 0)[..., None, None], np.array(np.nan, A.dtype), np.linalg.inv(regular)), info


def linalg_solve_matrices(A, B, check_errors=False):
    """X with A X = B and, for each A, 0 or the place of a zero pivot; singular ones have a solution of nan."""
    require_matrices("linalg.solve", square=True, A=A)
    require_matrices("linalg.solve", B=B)
    if A.shape[-1] != B.shape[-2]:
        raise OperatorError(f"A of shape {A.shape} needs a B of {A.shape[-1]} rows, got {B.shape[-2]}.")
    try:
        return np.linalg.solve(A, B), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = zero_pivots(A)
    if check_errors:
        refuse_failures("linalg.solve", info, _SINGULAR)
    singular = (info != 0)[..., None, None]
    X = np.linalg.solve(np.where(singular, np.eye(A.shape[-1], dtype=A.dtype), A), B)
    return np.where(singular, np.array(np.nan, X.dtype), X), info


@loops("matrices")
def linalg_solve_triangular(A, B, upper, left=True, unitriangular=False):
    """X with A X = B, or X A = B, of triangular A; its other triangle is not looked at."""
    require_matrices("linalg.solve_triangular", square=True, A=A)
    require_matrices("linalg.solve_triangular", B=B)
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise OperatorError(
            f"linalg.solve_triangular: A of shape {A.shape} and B of shape {B.shape} do not fit with left={left}"
        )
    dtype = np.result_type(A, B)
    batch, (matrices, sides) = matrices_of(A, B)
    out = np.empty(sides.shape, dtype)
    columns = B.shape[-1 if left else -2]
    if out.size and are_small(len(out), A.shape[-1], columns):
        if left:
            out[...] = substitute(matrices, sides, not upper, unitriangular)
        else:  # A^T X^T = B^T
            turned = substitute(matrices.swapaxes(-1, -2), sides.swapaxes(-1, -2), upper, unitriangular)
            out[...] = turned.swapaxes(-1, -2)
    elif out.size:
        (trsm,) = get_blas_funcs(("trsm",), dtype=dtype)
        for a, b, x in zip(matrices.astype(dtype, copy=False), sides, out, strict=True):
            x[...] = _triangular(trsm, a, b, upper, left, unitriangular)
    return out.reshape(batch + B.shape[-2:])


def _triangular(trsm, a, b, upper, left, unitriangular):
    # BLAS wants columns one after the other. The transpose of a row-major array is that, so the equation is
    # transposed instead of the memory.
    if a.flags.f_contiguous:
        return trsm(1, a, b.T, side=left, lower=not upper, trans_a=1, diag=unitriangular).T
    return trsm(1, np.ascontiguousarray(a).T, b.T, side=left, lower=upper, diag=unitriangular).T


def linalg_pinv_matrices(self, atol=None, rtol=None, hermitian=False):
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * the largest) count as 0."""
    require_matrices("linalg.pinv", square=hermitian, input=self)
    m, n = self.shape[-2:]
    if self.size == 0:
        return np.zeros((*self.shape[:-2], n, m), self.dtype)
    if hermitian:
        values, V = np.linalg.eigh(self)
        return (V * _inverted(values, self, atol, rtol)[..., None, :]) @ V.conj().swapaxes(-1, -2)
    U, S, Vh = svd(self, full_matrices=False)
    inverse = _inverted(S, self, atol, rtol)
    return Vh.conj().swapaxes(-1, -2) @ (inverse[..., :, None] * U.conj().swapaxes(-1, -2))


def _inverted(values, matrix, atol, rtol):
    """1 / values, 0 for those that count as 0."""
    sizes = np.abs(values)
    kept = ~(sizes <= threshold(sizes.max(-1), matrix, atol, rtol)[..., None])  # nan too, which then is everywhere
    return np.divide(1, values, out=np.zeros_like(values), where=kept)


def threshold(largest, matrix, atol, rtol):
    """Below which singular values count as 0, for each matrix."""
    if rtol is None:
        given = atol is not None and np.any(np.asarray(atol) > 0)
        rtol = 0.0 if given else max(matrix.shape[-2:]) * np.finfo(matrix.dtype).eps
        if given and np.ndim(atol):
            rtol = np.where(np.asarray(atol) > 0, 0.0, max(matrix.shape[-2:]) * np.finfo(matrix.dtype).eps)
    return np.maximum(0.0 if atol is None else atol, rtol * largest)


def linalg_lstsq_matrices(self, b, rcond=None, driver=None):
    """The X of least norm that minimises |self X - b|, the squared residuals, the rank, the singular values.

    By the singular value decomposition for every driver: NumPy has it for batches, and it never fails for want of rank.
    """
    require_matrices("linalg.lstsq", input=self, b=b)
    require_floating("linalg.lstsq", b=b)
    m, n = self.shape[-2:]
    rcond = max(m, n) * np.finfo(self.dtype).eps if rcond is None else rcond
    U, S, Vh = svd(self, full_matrices=False)
    largest = S.max(-1, initial=0)
    if driver == "gels" and not np.all(max(m, n) * np.finfo(S.dtype).eps * largest[..., None] < S):
        raise LinAlgError(
            "linalg.lstsq: driver='gels' is for matrices of full rank, and this one has a smaller rank. "
            "Give driver='gelsd', which finds the solution of least norm."
        )
    kept = (0 if driver == "gels" else rcond) * largest[..., None] < S
    inverse = np.divide(1, S, out=np.zeros_like(S), where=kept)
    X = Vh.conj().swapaxes(-1, -2) @ (inverse[..., None] * (U.conj().swapaxes(-1, -2) @ b))
    rank = kept.sum(-1)
    empty = np.zeros(0, S.dtype)
    residuals = empty
    # As PyTorch has it: the default driver, gelsy, gives no residuals.
    if m > n and (driver == "gels" or (driver in ("gelsd", "gelss") and (rank == n).all())):
        residuals = np.square(np.abs(self @ X - b)).sum(-2)
    ranks = np.zeros(0, np.int64) if driver == "gels" else rank
    return X, residuals, ranks, S if driver in ("gelsd", "gelss") else empty
