"""Helpers of the derivatives of eigenvalues and eigenvectors.

M. Giles, "An extended collection of matrix derivative results", 2008; complex matrices: C. Boeddeker et al., "On the
computation of complex-valued gradients", 2017; and PyTorch's notes on gauge invariance: eigenvectors are fixed only up
to a sign or phase, so a loss that depends on the phase has no gradient. What becomes of equal eigenvalues, of which the
vectors are fixed only up to a rotation, is in `equal_values`.

V are the vectors, W = V^-1 (V^H of Hermitian matrices), E_jk = L_k - L_j.
"""

from functools import partial

import numpy as np

from pullback.core.array_type import refuse_where, table_of
from pullback.core.errors import LinAlgError
from pullback.ops.formulas.decompositions.equal_values import (
    gaps_of,
    over_gaps,
    refuse_parts,
    refuse_phases,
    refuse_single,
    takes_part,
)
from pullback.ops.formulas.decompositions.solves import adjoint_of
from pullback.ops.formulas.plain_values import sizes_of

__all__ = [
    "eig_backward", "eig_values_jvp", "eig_vectors_jvp", "eigenvalue_slope_backward", "eigenvalue_slope_jvp",
    "eigenvalue_tangent_backward", "eigenvalue_tangent_jvp", "eigh_backward", "eigh_values_jvp", "eigh_vectors_jvp",
    "eigvals_backward", "eigvals_jvp", "eigvalsh_backward", "eigvalsh_jvp",
]  # fmt: skip


# -- Hermitian ---------------------------------------------------------------------------------------------------


def eigh_backward(gL, gV, A, L, V, *, ops):
    """V (diag(gL) + skew(V^H gV) / E) V^H: Hermitian, as the matrices are. Without gL or gV, a loss of one alone."""
    refuse_parts("linalg.eigh", A, L, gL, gV)
    refuse_single("linalg.eigh", L, 1, gV)
    Vh = adjoint_of(V, ops=ops)
    straight = None if gL is None else ops.eigenvalue_slope(A, gL, L, V, Vh, True)
    if gV is None:
        return straight
    inner = ops.matmul(Vh, gV)
    skew = (inner - adjoint_of(inner, ops=ops)) * 0.5
    refuse_phases(ops.diagonal(inner, 0, -2, -1), inner, "linalg.eigh", ops=ops)
    used = None if gL is None else takes_part(gL, gV)
    inner = over_gaps(skew, L, "linalg.eigh", doubt=(skew, inner), used=used, ops=ops)
    turned = ops.matmul(V, ops.matmul(inner, Vh))
    return turned if straight is None else straight + turned


def eigh_values_jvp(A, dA, L, V, *, ops):
    """Re diag(V^H dA V)."""
    return ops.eigenvalue_tangent(A, dA, L, V, adjoint_of(V, ops=ops), True)


def eigh_vectors_jvp(dA, L, V, *, ops):
    """V ((V^H dA V) / E), with no part of a vector along itself."""
    dP = ops.matmul(adjoint_of(V, ops=ops), ops.matmul(dA, V))
    return ops.matmul(V, over_gaps(dP, L, "linalg.eigh", case="tangent", ops=ops))


def eigvalsh_backward(grad, A, UPLO, *, ops):
    """V diag(grad) V^H."""
    L, V = ops.linalg_eigh(A, UPLO)
    refuse_parts("linalg.eigvalsh", A, L, grad)
    return ops.eigenvalue_slope(A, grad, L, V, adjoint_of(V, ops=ops), True)


def eigvalsh_jvp(A, dA, UPLO, *, ops):
    """Re diag(V^H dA V)."""
    return eigh_values_jvp(A, dA, *ops.linalg_eigh(A, UPLO), ops=ops)


# -- general -----------------------------------------------------------------------------------------------------


def _inverse_of(V, name, ops):
    """W = V^-1; a defective matrix, whose eigenvectors are dependent, is refused."""
    W = ops.linalg_inv_ex(V)[0]
    n = V.shape[-1]
    # The vectors have length 1, so that W tells how near V is to a singular matrix. nan is of a zero pivot.
    if W.size:
        small = ops.amax(ops.abs(W)) < 1 / (4 * n * np.finfo(V.dtype).eps)  # nan is not
        refuse_where(ops.logical_not(small), partial(_defective, name))
    return W


def _defective(name):
    return LinAlgError(
        f"{name}: the matrix is defective (its eigenvectors do not span the space): its eigenvalues have no "
        "derivative, and a symmetric function of them depends on more than their slopes. Write that as det, or "
        "as a trace of linalg.matrix_power or linalg.matrix_exp."
    )


def _blur(V, W):
    """How far rounding may move the eigenvalues, by the condition of their vectors (Bauer and Fike 1960)."""
    sizes = [sizes_of(x) for x in (V, W)]
    on = table_of(sizes)
    lengths = [on.sum(on.square(size), (-2, -1), True) for size in sizes]
    return on.sqrt(lengths[0] * lengths[1]) / max(V.shape[-1], 1)


def eig_backward(gL, gV, A, L, V, *, ops):
    """W^H (diag(gL) + (V^H gV - V^H V diag(Re V^H gV)) / E^*) V^H for vectors of length 1."""
    refuse_parts("linalg.eig", A, L, gL, gV)
    refuse_single("linalg.eig", L, 1, gV)
    W, Vh = _inverse_of(V, "linalg.eig", ops), adjoint_of(V, ops=ops)
    straight = None if gL is None else ops.eigenvalue_slope(A, gL, L, V, W, False)
    if gV is None:
        return straight
    inner = ops.matmul(Vh, gV)
    lengths = ops.diagonal(inner, 0, -2, -1)
    refuse_phases(lengths, inner, "linalg.eig", ops=ops)
    rest = inner - ops.matmul(Vh, V) * ops.unsqueeze(ops.real(lengths), -2)
    used = None if gL is None else takes_part(gL, gV)
    rest = over_gaps(rest, ops.conjugate(L), "linalg.eig", doubt=(rest, inner), used=used, blur=_blur(V, W), ops=ops)
    turned = ops.matmul(adjoint_of(W, ops=ops), ops.matmul(rest, Vh))
    return turned if straight is None else straight + turned


def eig_values_jvp(A, dA, L, V, name, *, ops):
    """diag(W dA V)."""
    return ops.eigenvalue_tangent(A, dA, L, V, _inverse_of(V, name, ops), False)


def eig_vectors_jvp(dA, L, V, *, ops):
    """V ((W dA V) / E), with each vector's length kept."""
    W = _inverse_of(V, "linalg.eig", ops)
    dP = ops.matmul(W, ops.matmul(dA + ops.zeros_like(V), V))
    moved = ops.matmul(V, over_gaps(dP, L, "linalg.eig", case="tangent", blur=_blur(V, W), ops=ops))
    stretch = ops.sum(ops.real(ops.conjugate(V) * moved), -2)
    return moved - V * ops.unsqueeze(stretch, -2)


def eigvals_backward(grad, A, *, ops):
    """W^H diag(grad) V^H."""
    L, V = ops.linalg_eig(A)
    refuse_parts("linalg.eigvals", A, L, grad)
    return ops.eigenvalue_slope(A, grad, L, V, _inverse_of(V, "linalg.eigvals", ops), False)


def eigvals_jvp(A, dA, *, ops):
    """diag(W dA V)."""
    return eig_values_jvp(A, dA, *ops.linalg_eig(A), "linalg.eigvals", ops=ops)


# -- slopes and tangents of eigenvalues ----------------------------------------------------------------------------
# Operators of their own: only as functions of the matrix have they a derivative that is right, or refused, for equal
# eigenvalues. As functions of the vectors and values that a decomposition has found they would be silently wrong.


def _name(hermitian):
    return "linalg.eigvalsh" if hermitian else "linalg.eigvals"


def _inside(X, V, W, hermitian, ops):
    """W X V, of the Hermitian part of X for Hermitian matrices."""
    if hermitian:
        X = (X + adjoint_of(X, ops=ops)) * 0.5
    return ops.matmul(W, ops.matmul(X, V))


def _sums_of(x, ops):
    return ops.unsqueeze(x, -2) + ops.unsqueeze(x, -1)


def _turned(K, slopes, L, V, W, hermitian, varying, ops):
    """Return what W^H diag(slopes) V^H gains by the vectors' turn along X, K = W X V: differences of the slopes.

    For equal values the differences are 0 if the slopes are equal constants; the limit if they vary is not known.
    """
    slopes = ops.conjugate(slopes)
    numerators = gaps_of(slopes, ops=ops) * K
    doubt = (K, K) if varying else (numerators, K * _sums_of(ops.abs(slopes), ops))
    blur = 1 if hermitian else _blur(V, W)
    inner = over_gaps(numerators, L, _name(hermitian), doubt=doubt, case="slope", blur=blur, ops=ops)
    return adjoint_of(ops.matmul(V, ops.matmul(inner, W)), ops=ops)


def eigenvalue_slope_backward(grad, slopes, L, V, W, hermitian, mask, *, ops):
    """A gets (V (D * K) W)^H, with K = W grad V and D the divided differences of the slopes; the slopes diag(K)."""
    K = _inside(grad, V, W, hermitian, ops)
    along = ops.diagonal(K, 0, -2, -1)
    return (
        _turned(K, slopes, L, V, W, hermitian, mask[1], ops) if mask[0] else None,
        ops.real(along) if hermitian else along,
    )


def eigenvalue_slope_jvp(A, dA, slopes, dslopes, L, V, W, hermitian, *, ops):
    """The same map, which is its own adjoint, of dA; and the slopes' change."""
    turned = _turned(_inside(dA, V, W, hermitian, ops), slopes, L, V, W, hermitian, True, ops)
    return turned + ops.eigenvalue_slope(A, dslopes, L, V, W, hermitian)


def eigenvalue_tangent_backward(grad, tangent, L, V, W, hermitian, *, ops):
    """The gradient of A: the turn of its vectors along the tangent, with grad as slopes."""
    return _turned(_inside(tangent, V, W, hermitian, ops), grad, L, V, W, hermitian, True, ops)


def eigenvalue_tangent_jvp(A, dA, tangent, dtangent, L, V, W, hermitian, *, ops):
    """diag(W dtangent V + K C - C K) with K = W tangent V and C = (W dA V) / E."""
    K = _inside(tangent, V, W, hermitian, ops)
    P = _inside(dA, V, W, hermitian, ops)
    C = over_gaps(P, L, _name(hermitian), case="slope", blur=1 if hermitian else _blur(V, W), ops=ops)
    moved = ops.sum(K * ops.transpose(C, -2, -1) - C * ops.transpose(K, -2, -1), -1)
    straight = ops.eigenvalue_tangent(A, dtangent, L, V, W, hermitian)
    return straight + (ops.real(moved) if hermitian else moved)
