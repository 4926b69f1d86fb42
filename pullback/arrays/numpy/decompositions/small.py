"""Many small matrices at once: the loop goes over rows, and each of its steps over the whole batch.

A call of LAPACK from Python takes about a microsecond, in which it could solve hundreds of equations. With the batch
along the last dimension each step is a few operations of NumPy on long rows.
"""

import numpy as np

from pullback.arrays.numpy.declarations import loops


def are_small(count, rows, columns):
    """True if `count` matrices are sooner done at once than one after the other, each with rows^2 columns products.

    Measured: matrices one by one take 1 us each, and a step on all of them 10 us and 1 ns for each product.
    """
    return count >= 12 * rows and rows * rows * columns <= 800


@loops("columns")
def substitute(A, B, lower, unit):
    """X with A X = B for stacks of triangular matrices; the other triangle is not looked at."""
    n = A.shape[-1]
    A, X = np.ascontiguousarray(np.moveaxis(A, 0, -1)), np.array(np.moveaxis(B, 0, -1), order="C")
    with np.errstate(all="ignore"):  # BLAS says nothing of a zero on the diagonal either
        for i in range(n) if lower else reversed(range(n)):
            known = slice(i) if lower else slice(i + 1, n)
            if i != (0 if lower else n - 1):
                X[i] -= (A[i, known, None] * X[known]).sum(0)
            if not unit:
                X[i] /= A[i, i]
    return np.ascontiguousarray(np.moveaxis(X, -1, 0))


@loops("columns")
def lu_factors(A):
    """LU in one matrix, exchanges of rows from 0, the place of the first zero pivot (from 1) or 0: as LAPACK has it."""
    LU = np.array(np.moveaxis(A, 0, -1), order="C")
    m, n, count = LU.shape
    k, every = min(m, n), np.arange(count)
    pivots, info = np.empty((count, k), np.int32), np.zeros(count, np.int32)
    sizes = np.abs if A.dtype.kind == "f" else _modulus
    with np.errstate(all="ignore"):
        for j in range(k):
            chosen = j + sizes(LU[j:, j]).argmax(0)
            pivots[:, j] = chosen
            row = LU[chosen, :, every].T  # the advanced indices come first
            LU[chosen, :, every] = LU[j].T
            LU[j] = row
            pivot = row[j]
            zero = pivot == 0
            if zero.any():
                info[zero & (info == 0)] = j + 1
                pivot = np.where(zero, 1, pivot)
            LU[j + 1 :, j] /= pivot
            LU[j + 1 :, j + 1 :] -= LU[j + 1 :, j, None] * LU[j, None, j + 1 :]
    return np.ascontiguousarray(np.moveaxis(LU, -1, 0)), pivots, info


def _modulus(x):
    """|Re x| + |Im x|, by which LAPACK compares complex pivots."""
    return np.abs(x.real) + np.abs(x.imag)
