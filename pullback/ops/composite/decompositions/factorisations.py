"""Factorisations of the primitives: factors apart, Householder's reflections in blocks, singular values at random."""

from pullback.core.errors import OperatorError
from pullback.ops.formulas.decompositions.solves import adjoint_of


def linalg_cholesky(self, *, upper=False, ops):
    """L, or an error."""
    return ops.linalg_cholesky_ex(self, upper=upper, check_errors=True)[0]


def cholesky(self, upper=False, *, ops):
    """L, or an error."""
    return ops.linalg_cholesky_ex(self, upper=upper, check_errors=True)[0]


def linalg_ldl_factor(self, *, hermitian=False, ops):
    """LD and pivots, or an error."""
    return ops.linalg_ldl_factor_ex(self, hermitian=hermitian, check_errors=True)[:2]


def linalg_lu_factor(A, *, pivot=True, ops):
    """LU and pivots; singular matrices have factors too."""
    return ops.linalg_lu_factor_ex(A, pivot=pivot)[:2]


def linalg_lu(A, *, pivot=True, ops):
    """P, L, U."""
    LU, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot)
    return lu_unpack(LU, pivots, ops=ops)


def lu(A, pivot=True, get_infos=False, *, ops):
    """LU and pivots, with info if asked for."""
    found = tuple(ops.linalg_lu_factor_ex(A, pivot=pivot))
    return found if get_infos else found[:2]


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, ops):
    """P, L, U; what is not asked for is empty."""
    nothing = ops.zeros([0], dtype=LU_data.dtype)
    if LU_data.ndim < 2:
        raise OperatorError(f"lu_unpack: LU_data must have at least 2 dimensions, got shape {tuple(LU_data.shape)}")
    P = L = U = nothing
    m, n = LU_data.shape[-2:]
    if unpack_pivots:
        if LU_pivots.dtype.kind != "i" or LU_pivots.dtype.itemsize != 4:
            raise OperatorError(f"lu_unpack: LU_pivots must be int32, got {LU_pivots.dtype}")
        rows = ops.argsort(ops.lu_permutation(LU_pivots, m), -1)
        P = ops.to(ops.eq(ops.unsqueeze(rows, -1), ops.arange(m)), LU_data.dtype)
    if unpack_data:
        k = min(m, n)
        lower = ops.tril(LU_data[..., :k], -1)
        L, U = lower + ops.eye(m, k, dtype=LU_data.dtype), ops.triu(LU_data[..., :k, :])
    return P, L, U


def qr(self, some=True, *, ops):
    """Q and R."""
    return ops.linalg_qr(self, "reduced" if some else "complete")


def _block_reflector(vectors, tau, ops):
    """V and T with H_1 H_2 ... H_k = I - V T V^H (Joffrain et al., ACM Trans. Math. Softw. 32(2), 2006).

    T = (I + diag(tau) striu(V^H V))^-1 diag(tau): also where a tau is 0, and all in products of matrices.
    """
    k = tau.shape[-1]
    vectors = vectors[..., :k]
    V = ops.tril(vectors, -1) + ops.eye(vectors.shape[-2], k, dtype=vectors.dtype)
    scale = ops.unsqueeze(tau, -1)
    overlaps = scale * ops.triu(ops.matmul(adjoint_of(V, ops=ops), V), 1)
    T = ops.linalg_solve_triangular(overlaps, ops.diag_embed(tau), upper=True, unitriangular=True)
    return V, T


def _check_reflectors(name, vectors, tau):
    if tuple(tau.shape[:-1]) != tuple(vectors.shape[:-2]) or tau.ndim != vectors.ndim - 1:
        raise OperatorError(
            f"{name}: tau of shape {tuple(tau.shape)} does not fit input of shape {tuple(vectors.shape)}"
        )
    if tau.shape[-1] > vectors.shape[-1]:
        raise OperatorError(f"{name}: more tau, {tau.shape[-1]}, than columns of input, {vectors.shape[-1]}")
    if tau.dtype != vectors.dtype:
        raise OperatorError(f"{name}: input and tau must have the same dtype, got {vectors.dtype} and {tau.dtype}")


def linalg_householder_product(input, tau, *, ops):
    """The first columns of H_1 H_2 ... H_k."""
    if input.ndim < 2 or input.shape[-2] < input.shape[-1]:
        raise OperatorError(
            f"linalg.householder_product: input must be (batches of) tall matrices, got shape {tuple(input.shape)}"
        )
    _check_reflectors("linalg.householder_product", input, tau)
    m, n = input.shape[-2:]
    V, T = _block_reflector(input, tau, ops)
    return ops.eye(m, n, dtype=input.dtype) - ops.matmul(V, ops.matmul(T, adjoint_of(V[..., :n, :], ops=ops)))


def orgqr(self, input2, *, ops):
    """The first columns of H_1 H_2 ... H_k."""
    return linalg_householder_product(self, input2, ops=ops)


def ormqr(self, input2, input3, left=True, transpose=False, *, ops):
    """Q, or its adjoint, times input3, or input3 times it."""
    vectors, tau, other = self, input2, input3
    for argument, x, ndim in (("input", vectors, 2), ("other", other, 2), ("tau", tau, 1)):
        if x.ndim < ndim:
            raise OperatorError(f"ormqr: {argument} must have at least {ndim} dimensions, got shape {tuple(x.shape)}")
    _check_reflectors("ormqr", vectors, tau)
    if other.shape[-2 if left else -1] != vectors.shape[-2]:
        raise OperatorError(
            f"ormqr: other of shape {tuple(other.shape)} does not fit input of shape {tuple(vectors.shape)} "
            f"with left={left}"
        )
    if other.dtype != vectors.dtype or tuple(other.shape[:-2]) != tuple(vectors.shape[:-2]):
        raise OperatorError("ormqr: input and other must have the same dtype and batch shape")
    V, T = _block_reflector(vectors, tau, ops)
    T = adjoint_of(T, ops=ops) if transpose else T
    Vh = adjoint_of(V, ops=ops)
    if left:
        return other - ops.matmul(V, ops.matmul(T, ops.matmul(Vh, other)))
    return other - ops.matmul(ops.matmul(ops.matmul(other, V), T), Vh)


def svd(self, some=True, compute_uv=True, *, ops):
    """U, S, V; U and V of zeros if they are not to be computed."""
    if not compute_uv:
        m, n = self.shape[-2:]
        batch = list(self.shape[:-2])
        U, V = ops.zeros([*batch, m, m], dtype=self.dtype), ops.zeros([*batch, n, n], dtype=self.dtype)
        return U, ops.linalg_svdvals(self), V
    U, S, Vh = ops.linalg_svd(self, full_matrices=not some)
    return U, S, adjoint_of(Vh, ops=ops)


MOST_ITERATIONS = 10_000  # far beyond what converges: a number this large is a mistake


def _orthonormal_range(A, q, niter, ops):
    """Q whose range holds most of A's (Halko, Martinsson and Tropp, SIAM Review 53(2), 2011, algorithm 4.4)."""
    random = ops.randn([A.shape[-1], q], dtype="f4" if A.dtype.itemsize == (8 if A.dtype.kind == "c" else 4) else "f8")
    Q = ops.linalg_qr(ops.matmul(A, ops.to(random, A.dtype)))[0]
    for _ in range(niter):
        Q = ops.linalg_qr(ops.matmul(adjoint_of(A, ops=ops), Q))[0]
        Q = ops.linalg_qr(ops.matmul(A, Q))[0]
    return Q


def svd_lowrank(A, q=6, niter=2, M=None, *, ops):
    """The q largest singular values of A - M and their vectors, about: U, S, V."""
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"svd_lowrank: q must be between 0 and {min(A.shape[-2:])}, got {q}")
    if not 0 <= niter <= MOST_ITERATIONS:
        raise ValueError(f"svd_lowrank: niter must be between 0 and {MOST_ITERATIONS}, got {niter}; a few are enough")
    if M is not None:
        A = A - M
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A = adjoint_of(A, ops=ops)
    Q = _orthonormal_range(A, q, niter, ops)
    U, S, Vh = ops.linalg_svd(ops.matmul(adjoint_of(Q, ops=ops), A), full_matrices=False)
    U, V = ops.matmul(Q, U), adjoint_of(Vh, ops=ops)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2, *, ops):
    """The q principal directions of A's rows, about: U, S, V of the centred A."""
    q = min(6, *A.shape[-2:]) if q is None else q
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(f"pca_lowrank: q must be between 0 and {min(A.shape[-2:])}, got {q}")
    return svd_lowrank(A - ops.mean(A, -2, True) if center else A, q, niter, ops=ops)
