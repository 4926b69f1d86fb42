"""Determinants, powers, rank and condition of matrices."""

import math

import numpy as np

from pullback.core.array_type import refuse_where
from pullback.core.errors import LinAlgError, OperatorError


def det(self, *, ops):
    """The determinant."""
    return ops.linalg_det(self)


def slogdet(self, *, ops):
    """Sign and logarithm of the determinant."""
    return ops.linalg_slogdet(self)


def logdet(self, *, ops):
    """The logarithm of the determinant: nan where a real one is negative."""
    sign, size = ops.linalg_slogdet(self)
    if sign.dtype.kind == "c":
        return ops.log(ops.where(ops.eq(sign, 0), 1, sign)) + size  # of a singular matrix -inf, without a phase
    return ops.where(ops.lt(sign, 0), math.nan, size)


def matrix_exp(self, *, ops):
    """The exponential."""
    return ops.linalg_matrix_exp(self)


def matrix_power(self, n, *, ops):
    """self @ self @ ... n times."""
    return linalg_matrix_power(self, n, ops=ops)


def linalg_matrix_power(self, n, *, ops):
    """A power of matrices, by repeated squaring; a negative power is a power of the inverse."""
    if self.ndim < 2 or self.shape[-1] != self.shape[-2]:
        raise OperatorError(
            f"linalg.matrix_power: input must be batches of square matrices, got shape {tuple(self.shape)}"
        )
    if n == 0:
        return ops.clone(ops.expand(ops.eye(self.shape[-1], dtype=self.dtype), self.shape))
    square, result = (ops.linalg_inv(self) if n < 0 else self), None
    n = abs(n)
    while n:
        if n & 1:
            result = square if result is None else ops.matmul(result, square)
        n >>= 1
        square = ops.matmul(square, square) if n else square
    return ops.clone(result) if result is self else result


def linalg_matrix_rank(self, tol=None, hermitian=False, *, atol=None, rtol=None, ops):
    """How many singular values are above max(atol, rtol * the largest)."""
    values = ops.abs(ops.linalg_eigvalsh(self)) if hermitian else ops.linalg_svdvals(self)
    if not values.shape[-1]:
        return ops.zeros(list(values.shape[:-1]), dtype=np.dtype(np.int64))
    refuse_where(ops.isnan(values), _no_rank)
    atol = tol if atol is None else atol
    if rtol is None:
        rtol = max(self.shape[-2:]) * float(np.finfo(values.dtype).eps)
        if tol is not None:
            rtol = 0.0
        elif atol is not None:
            rtol = ops.where(ops.gt(atol, 0), 0.0, rtol) if hasattr(atol, "dtype") else 0.0 if atol > 0 else rtol
    limit = ops.amax(values, -1) * rtol
    if atol is not None:
        limit = ops.maximum(limit, atol)
    return ops.count_nonzero(ops.gt(values, ops.unsqueeze(limit, -1)), -1)


def _no_rank():
    return LinAlgError("linalg.matrix_rank: a matrix with inf or nan in it has no rank; isfinite(x) shows where")


def linalg_cond(self, p=None, *, ops):
    """|A| |A^-1|; infinite for singular matrices."""
    if self.ndim < 2:
        raise OperatorError(f"linalg.cond: input must have at least 2 dimensions, got shape {tuple(self.shape)}")
    if p is None or p in (2, -2):
        values = ops.linalg_svdvals(self)
        if not values.shape[-1]:
            return ops.zeros(list(values.shape[:-1]), dtype=values.dtype)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    if self.shape[-1] != self.shape[-2]:
        raise OperatorError(f"linalg.cond: for p={p!r} matrices must be square, got shape {tuple(self.shape)}")
    inverted, info = ops.linalg_inv_ex(self)
    product = ops.linalg_matrix_norm(self, p) * ops.linalg_matrix_norm(inverted, p)
    return ops.where(ops.ne(info, 0), math.inf, product)
