"""Cholesky, LU, LDL and QR factors."""

import math

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.decompositions.matrices import matrices_of, refuse_failures, require_matrices
from pullback.arrays.numpy.decompositions.small import are_small, lu_factors
from pullback.core.errors import OperatorError


def linalg_cholesky_ex(self, upper=False, check_errors=False):
    """L with L L^H = self (or upper R with R^H R), and 0 or the order of a leading minor that is not positive."""
    require_matrices("linalg.cholesky", square=True, input=self)
    try:
        return np.linalg.cholesky(self, upper=upper), np.zeros(self.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        batch, (stack,) = matrices_of(self)
    (potrf,) = get_lapack_funcs(("potrf",), (self,))
    found = [potrf(a, lower=not upper, clean=True) for a in stack]
    info = np.array([f[1] for f in found], np.int32).reshape(batch)
    if check_errors:
        refuse_failures(
            "linalg.cholesky",
            info,
            "the matrix is not positive definite: its leading minor of order {info} is not positive",
        )
    return np.stack([f[0] for f in found]).reshape(self.shape), info


@loops("matrices")
def linalg_lu_factor_ex(A, pivot=True, check_errors=False):
    """L (its unit diagonal left out) and U in one matrix, exchanges of rows from 1, 0 or a zero pivot's place."""
    require_matrices("linalg.lu_factor", A=A)
    if not pivot:
        raise OperatorError(
            "linalg.lu_factor: factors without exchanges of rows are not computed on the CPU; pivot=True"
        )
    batch, (stack,) = matrices_of(A)
    k = min(A.shape[-2:])
    LU, pivots = np.empty(stack.shape, A.dtype), np.empty((len(stack), k), np.int32)
    info = np.zeros(len(stack), np.int32)
    (getrf,) = get_lapack_funcs(("getrf",), (A,))
    if A.size and are_small(len(stack), *A.shape[-2:]):
        LU, pivots, info = lu_factors(stack)
    elif A.size:
        for i, a in enumerate(stack):
            LU[i], pivots[i], info[i] = getrf(a)
    else:
        pivots[...] = np.arange(k)
    info = info.reshape(batch)
    if check_errors:
        refuse_failures("linalg.lu_factor", info, "U is singular: its diagonal element {info} is zero")
    return LU.reshape(A.shape), (pivots + 1).reshape(*batch, k), info


@loops("columns")
def lu_permutation(pivots, size):
    """Row i of L U is row result[i] of the matrix: exchanges of rows, done one after the other to 0, 1, 2, ..."""
    *batch, k = pivots.shape
    others = pivots.reshape(math.prod(batch), k).T.astype(np.int64) - 1
    if others.size and (others.min() < 0 or others.max() >= size):
        raise OperatorError(f"pivots must be between 1 and {size}, got {pivots.min()} to {pivots.max()}")
    if others.shape[1] < 16:  # a list's exchange takes 0.1 us, an array's, of all matrices at once, 2 us
        found = np.array([_exchanged(list(range(size)), column.tolist()) for column in others.T], np.int64)
        return found.reshape(*batch, size)
    rows = np.repeat(np.arange(size)[:, None], others.shape[1], 1)
    every = np.arange(others.shape[1])
    for i, other in enumerate(others):
        moved = rows[other, every]
        rows[other, every] = rows[i]
        rows[i] = moved
    return np.ascontiguousarray(rows.T).reshape(*batch, size)


@loops("matrices")
def _exchanged(rows, others):
    for i, other in enumerate(others):
        rows[i], rows[other] = rows[other], rows[i]
    return rows


def linalg_qr(A, mode="reduced"):
    """Q with orthonormal columns and upper triangular R; Q is empty in the mode r."""
    require_matrices("linalg.qr", A=A)
    if mode not in ("reduced", "complete", "r"):
        raise OperatorError(f"linalg.qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    if mode == "r":
        return np.zeros(0, A.dtype), np.linalg.qr(A, "r")
    Q, R = np.linalg.qr(A, mode)
    return Q, R


def geqrf(self):
    """R in the upper triangle, below it the vectors of Householder's reflections; and their factors tau."""
    require_matrices("geqrf", input=self)
    if self.size == 0:
        return self.copy(), np.zeros((*self.shape[:-2], min(self.shape[-2:])), self.dtype)
    h, tau = np.linalg.qr(self, "raw")
    return h.swapaxes(-1, -2), tau


@loops("matrices")
def linalg_ldl_factor_ex(self, hermitian=False, check_errors=False):
    """L and D of self = L D L^T (or L D L^H) in one matrix, LAPACK's pivots, and 0 or the place of a zero in D."""
    require_matrices("linalg.ldl_factor", square=True, input=self)
    (factor,) = get_lapack_funcs(("hetrf" if hermitian and self.dtype.kind == "c" else "sytrf",), (self,))
    batch, (stack,) = matrices_of(self)
    n = self.shape[-1]
    LD, pivots = np.empty(stack.shape, self.dtype), np.empty((len(stack), n), np.int32)
    info = np.zeros(len(stack), np.int32)
    # Bunch and Kaufman's pivots, of one row or two, differ from matrix to matrix: no step is that of a whole batch.
    for i, a in enumerate(stack if n else ()):
        full, pivots[i], info[i] = factor(a, lower=True)
        LD[i] = np.tril(full)
    info = info.reshape(batch)
    if check_errors:
        refuse_failures("linalg.ldl_factor", info, "the diagonal element {info} of D is zero")
    return LD.reshape(self.shape), pivots.reshape(*batch, n), info


@loops("matrices")
def ldl_solve(LD, pivots, B, hermitian=False):
    """X with A X = B, of the factors of A that ldl_factor gives."""
    require_matrices("linalg.ldl_solve", square=True, LD=LD)
    require_matrices("linalg.ldl_solve", B=B)
    if LD.shape[-1] != B.shape[-2]:
        raise OperatorError(f"linalg.ldl_solve: LD of shape {LD.shape} and B of shape {B.shape} do not fit together")
    if pivots.dtype.kind != "i" or pivots.shape != LD.shape[:-1]:
        raise OperatorError(
            f"linalg.ldl_solve: pivots must be integers of shape {LD.shape[:-1]}, "
            f"got {pivots.dtype}{list(pivots.shape)}"
        )
    batch, (stack, sides) = matrices_of(LD, B)
    exchanges = np.broadcast_to(pivots, (*batch, LD.shape[-1])).reshape(len(stack), LD.shape[-1])
    conjugate = hermitian and LD.dtype.kind == "c"
    out = np.empty(sides.shape, np.result_type(LD, B))
    for i in range(len(stack) if out.size else 0):
        out[i] = _ldl_solve_one(stack[i], exchanges[i], sides[i], conjugate)
    return out.reshape(batch + B.shape[-2:])


@loops("matrices")
def _ldl_solve_one(LD, pivots, B, conjugate):
    """One matrix: exchange rows, then L, D with its blocks of two, and L again (LAPACK's xSYTRS, lower triangle)."""
    n, order = len(LD), np.arange(len(LD))
    L, D = np.tril(LD, -1), np.zeros_like(LD)
    np.fill_diagonal(D, LD.diagonal().real if conjugate else LD.diagonal())
    np.fill_diagonal(L, 1)
    k = 0
    while k < n:
        pair = pivots[k] < 0
        at = k + 1 if pair else k
        other = abs(int(pivots[at])) - 1
        if other != at:
            order[[at, other]] = order[[other, at]]
            L[[at, other], :k] = L[[other, at], :k]  # the columns before were written ahead of this exchange
        if pair:
            D[k + 1, k] = LD[k + 1, k]
            D[k, k + 1] = LD[k + 1, k].conj() if conjugate else LD[k + 1, k]
            L[k + 1, k] = 0
        k = at + 1
    X = np.linalg.solve(D, solve_triangular(L, B[order], lower=True, unit_diagonal=True))
    X = solve_triangular(L, X, trans="C" if conjugate else "T", lower=True, unit_diagonal=True)
    out = np.empty_like(X)
    out[order] = X
    return out
