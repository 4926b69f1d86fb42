"""Helpers of the derivatives of Cholesky, LU and QR factors.

I. Murray, "Differentiation of the Cholesky decomposition", 2016; S. Walter and L. Lehmann, "Algorithmic
differentiation of linear algebra functions", 2010; M. Seeger et al., "Auto-differentiating linear algebra", 2017;
D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms", 2020 (wide matrices). A
factorisation of a wide or tall matrix is that of its leading square block, and a product beside it.
"""

from pullback.core.errors import OperatorError
from pullback.ops.formulas.decompositions.solves import adjoint_of

__all__ = ["cholesky_backward", "cholesky_jvp", "lu_backward", "lu_jvp", "qr_backward", "qr_jvp"]


def _solve(A, B, ops, **how):
    how = {"upper": True, "left": True, "unitriangular": False} | how
    return ops.linalg_solve_triangular(A, B, **how)


def _diagonal_halved(x, ops):
    """`x` with half its diagonal."""
    return x - ops.diag_embed(ops.diagonal(x, 0, -2, -1)) * 0.5


def cholesky_backward(grad, upper, L, *, ops):
    """L^-H sym(tril(L^H G)) L^-1 (Murray 2016)."""
    if upper:
        L, grad = adjoint_of(L, ops=ops), adjoint_of(grad, ops=ops)
    Lh = adjoint_of(L, ops=ops)
    inner = ops.tril(ops.matmul(Lh, grad))
    inner = 0.5 * (inner + adjoint_of(ops.tril(inner, -1), ops=ops))
    return _solve(L, _solve(Lh, inner, ops), ops, upper=False, left=False)


def cholesky_jvp(dA, L, upper, *, ops):
    """L times the lower triangle, with half the diagonal, of L^-1 dA L^-H."""
    if upper:
        L = adjoint_of(L, ops=ops)
    Lh = adjoint_of(L, ops=ops)
    inner = _solve(Lh, _solve(L, dA, ops, upper=False), ops, left=False)
    dL = ops.matmul(L, _diagonal_halved(ops.tril(inner), ops))
    return adjoint_of(dL, ops=ops) if upper else dL


def _rows(x, order, ops):
    """The rows of matrices in another order."""
    return ops.take_along_dim(x, ops.unsqueeze(order, -1), -2)


def _factors(LU, ops):
    """The square blocks of L and U, then what is below L's and beside U's."""
    k = min(LU.shape[-2:])
    square = LU[..., :k, :k]
    unit = ops.diag_embed(ops.ones_like(ops.diagonal(square, 0, -2, -1)))
    return ops.tril(square, -1) + unit, ops.triu(square), LU[..., k:, :k], LU[..., :k, k:]


def lu_backward(grad, LU, pivots, *, ops):
    """Of a square A = P L U: P L^-H (stril(L^H gL) + triu(gU U^H)) U^-H; U2 = L^-1 A2 beside, L2 = A2 U^-1 below."""
    L, U, L2, U2 = _factors(LU, ops)
    k = L.shape[-1]
    Lh, Uh = adjoint_of(L, ops=ops), adjoint_of(U, ops=ops)
    g = grad[..., :k, :k]
    gL, gU, beside = ops.tril(g, -1), ops.triu(g), None
    if U2.shape[-1]:
        beside = _solve(Lh, grad[..., :k, k:], ops, unitriangular=True)
        gL = gL - ops.tril(ops.matmul(beside, adjoint_of(U2, ops=ops)), -1)
    elif L2.shape[-2]:
        beside = _solve(Uh, grad[..., k:, :k], ops, upper=False, left=False)
        gU = gU - ops.triu(ops.matmul(adjoint_of(L2, ops=ops), beside))
    inner = ops.tril(ops.matmul(Lh, gL), -1) + ops.triu(ops.matmul(gU, Uh))
    inner = _solve(Uh, _solve(Lh, inner, ops, unitriangular=True), ops, upper=False, left=False)
    if beside is not None:
        inner = ops.cat([inner, beside], -1 if U2.shape[-1] else -2)
    return _rows(inner, ops.argsort(ops.lu_permutation(pivots, LU.shape[-2]), -1), ops)


def lu_jvp(dA, LU, pivots, *, ops):
    """With K = L^-1 P^T dA U^-1: dL = L stril(K), dU = triu(K) U."""
    L, U, L2, U2 = _factors(LU, ops)
    k = L.shape[-1]
    dA = _rows(dA, ops.lu_permutation(pivots, LU.shape[-2]), ops)
    K = _solve(L, dA[..., :k, :k], ops, upper=False, unitriangular=True)
    K = _solve(U, K, ops, left=False)
    dL, dU = ops.matmul(L, ops.tril(K, -1)), ops.matmul(ops.triu(K), U)
    both = dL + dU
    if U2.shape[-1]:
        right = dA[..., :k, k:] - ops.matmul(dL, U2)
        return ops.cat([both, _solve(L, right, ops, upper=False, unitriangular=True)], -1)
    if L2.shape[-2]:
        right = dA[..., k:, :k] - ops.matmul(L2, dU)
        return ops.cat([both, _solve(U, right, ops, left=False)], -2)
    return both


def _require_unique(mode, shape):
    """Refuse modes whose Q or R do not tell the other factor."""
    if mode == "r":
        raise OperatorError("linalg.qr: the derivative needs Q, which mode='r' does not compute; use mode='reduced'")
    if mode == "complete" and shape[-2] > shape[-1]:
        raise OperatorError(
            f"linalg.qr: with mode='complete', the last columns of Q for shape {tuple(shape)} are arbitrary and have "
            "no derivative; use mode='reduced'"
        )


def _triangular_part(x, ops):
    """The upper triangular T with real diagonal for which x - T is skew-Hermitian."""
    return _diagonal_halved(ops.triu(x + adjoint_of(x, ops=ops)), ops)


def qr_backward(gQ, gR, A, Q, R, mode, *, ops):
    """(gQ + Q sym(triu(gR R^H - Q^H gQ))) R^-H; of a wide A = Q (R1 R2) with R2 = Q^H A2."""
    _require_unique(mode, A.shape)
    k, beside = min(A.shape[-2:]), None
    if A.shape[-1] > k:
        g2 = gR[..., k:]
        gQ = gQ + ops.matmul(A[..., k:], adjoint_of(g2, ops=ops))
        beside = ops.matmul(Q, g2)
        gR, R = gR[..., :k], R[..., :k]
    inner = ops.triu(ops.matmul(gR, adjoint_of(R, ops=ops)) - ops.matmul(adjoint_of(Q, ops=ops), gQ))
    diagonal = ops.diagonal(inner, 0, -2, -1)
    sym = inner + adjoint_of(inner, ops=ops) - ops.diag_embed(ops.to(ops.real(diagonal), inner.dtype))
    found = _solve(adjoint_of(R, ops=ops), gQ + ops.matmul(Q, sym), ops, upper=False, left=False)
    return found if beside is None else ops.cat([found, beside], -1)


def qr_jvp(dA, A, Q, R, mode, *, ops):
    """With T the triangular part of Q^H dA R^-1: (dA R^-1 - Q T, T R)."""
    _require_unique(mode, A.shape)
    k = min(A.shape[-2:])
    R1 = R[..., :k]
    moved = _solve(R1, dA[..., :k], ops, left=False)
    T = _triangular_part(ops.matmul(adjoint_of(Q, ops=ops), moved), ops)
    dQ, dR = moved - ops.matmul(Q, T), ops.matmul(T, R1)
    if A.shape[-1] > k:
        dR2 = ops.matmul(adjoint_of(Q, ops=ops), dA[..., k:] - ops.matmul(dQ, R[..., k:]))
        dR = ops.cat([dR, dR2], -1)
    return dQ, dR
