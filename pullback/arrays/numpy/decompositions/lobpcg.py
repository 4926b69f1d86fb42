"""Some extreme eigenpairs of A x = d B x by the locally optimal block preconditioned conjugate gradient method.

A. Knyazev, SIAM J. Sci. Comput. 23(2), 2001, with the basis made orthonormal in every step, without which the method
loses its digits: J. Duersch, M. Shao, C. Yang and M. Gu, SIAM J. Sci. Comput. 40(5), 2018. SciPy's function turns to a
complete decomposition below five times the block's size, and tells by warnings alone what it did.
"""

import math
import warnings

import numpy as np
import scipy.linalg

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.decompositions.matrices import require_matrices
from pullback.core.errors import LinAlgError, OperatorError

DEFAULT_STEPS = 1000


@loops("matrices")
def lobpcg_pairs(A, B, X, iK, k, niter, tol, largest):
    """(eigenvalues (..., k), eigenvectors (..., m, k)) of Hermitian A: the largest in falling order, or the smallest.

    X (..., m, n) is where the search begins, iK an approximate inverse of A. The vectors are B-orthonormal. niter None
    means DEFAULT_STEPS and a warning if they were not enough; -1 that there is no limit.
    """
    _check(A, B, X, iK, k)
    batch, (m, n) = A.shape[:-2], X.shape[-2:]
    dtype = A.dtype if B is None else np.result_type(A, B)
    values = np.empty((*batch, k), np.empty(0, dtype).real.dtype)
    vectors = np.empty((*batch, m, k), dtype)
    X = np.broadcast_to(X.astype(dtype, copy=False), (*batch, m, n))
    iK = None if iK is None else iK.astype(dtype, copy=False)
    for i in np.ndindex(batch):  # a loop over matrices: each takes steps of its own
        b, inverse = (x if x is None or x.ndim == 2 else x[i] for x in (B, iK))
        values[i], vectors[i], converged = _search(A[i], b, X[i], inverse, k, niter, tol, largest)
        if not converged and niter is None:
            warnings.warn(
                f"lobpcg: {DEFAULT_STEPS} steps did not bring all {k} residuals below tol={tol}; give niter=, a "
                "preconditioner iK=, or a larger tol=",
                stacklevel=2,
            )
    return values, vectors


@loops("arguments")
def _check(A, B, X, iK, k):
    require_matrices("lobpcg", square=True, A=A)
    require_matrices("lobpcg", X=X)
    for name, other in (("B", B), ("iK", iK)):
        if other is not None and other.shape not in (A.shape, A.shape[-2:]):
            raise OperatorError(f"lobpcg: {name} must have the shape of A, {A.shape}, but has {other.shape}")
    if X.shape[-2] != A.shape[-1] or not 0 < k <= X.shape[-1] <= A.shape[-1]:
        raise OperatorError(
            f"lobpcg: for {k} eigenpairs of A of shape {A.shape}, X must have {A.shape[-1]} rows and between "
            f"{max(k, 1)} and {A.shape[-1]} columns, but has shape {X.shape}"
        )


@loops("matrices")
def _search(A, B, X, iK, k, niter, tol, largest):
    """(values, vectors, whether the first k pairs have converged) of one matrix."""
    m, n = X.shape
    size_a, size_b = (1.0 if x is None else abs(x).sum(-1).max() for x in (A, B))
    if not np.isfinite(size_a + size_b):
        raise LinAlgError("lobpcg: A or B holds inf or nan")
    limit = {None: DEFAULT_STEPS, -1: math.inf}.get(niter, niter)
    least = np.finfo(X.dtype).tiny / np.finfo(X.dtype).eps  # below, numbers have no digits to converge
    basis, steps = X, 0
    while True:
        D, X, moved = _best_in(basis, A, B, n, largest)
        residuals = A @ X - (X if B is None else B @ X) * D
        # Divided by it, squares neither overflow nor vanish: what never converges would never end.
        scale = np.maximum(size_a + abs(D) * size_b, least)
        lengths = np.linalg.norm(residuals / scale, axis=0)
        whole = basis.shape[-1] >= m  # then nothing can be better
        converged = whole or bool((lengths <= tol * np.linalg.norm(X, axis=0))[:k].all())
        if converged or steps >= limit:
            return D[:k], X[:, :k], converged
        basis = np.concatenate([X, residuals if iK is None else iK @ residuals, moved], 1)
        steps += 1


def _best_in(basis, A, B, n, largest):
    """The n wanted pairs in the span of the basis, and what of the vectors lies outside its first n ones.

    The basis is made orthonormal before (Rayleigh and Ritz): residuals become small, and what remains of a dependent
    column is a direction like any other.
    """
    Q = np.linalg.qr(basis)[0]
    small = Q.conj().T @ (A @ Q)
    try:
        D, C = scipy.linalg.eigh(small, None if B is None else Q.conj().T @ (B @ Q))
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"lobpcg: B must be positive definite ({error})") from None
    chosen = slice(None, -n - 1, -1) if largest else slice(n)
    D, C = D[chosen], C[:, chosen]
    return D, Q @ C, Q[:, n:] @ C[n:] if Q.shape[-1] > n else Q[:, :0]
