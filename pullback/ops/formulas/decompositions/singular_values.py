"""Helpers of the derivatives of singular values and their vectors.

After M. Giles, "An extended collection of matrix derivative results", 2008, with the complex case of PyTorch's notes on
gauge invariance. What becomes of equal values, and of zero, is in `equal_values`. At 0 a singular value, the modulus of
a number of either sign, has slope 0, the subgradient of least norm.
"""

from pullback.ops.formulas.decompositions.equal_values import (
    gaps_of,
    off_diagonal,
    over_columns,
    over_gaps,
    over_sums,
    refuse_parts,
    refuse_phases,
    refuse_rest,
    refuse_single,
    takes_part,
)
from pullback.ops.formulas.decompositions.solves import adjoint_of

__all__ = [
    "singular_value_slope_backward", "singular_value_slope_jvp", "singular_value_tangent_jvp",
    "singular_value_turn", "svd_backward", "svd_jvp", "svd_values_jvp", "svdvals_backward", "svdvals_jvp",
]  # fmt: skip


def _thin(U, Vh, k):
    """The first k columns of U and rows of Vh, and what is left of U and V (None if nothing)."""
    rest_u = U[..., k:] if U.shape[-1] > k else None
    rest_v = Vh[..., k:, :] if Vh.shape[-2] > k else None
    return U[..., :k], Vh[..., :k, :], rest_u, rest_v


def _where_positive(x, S, ops):
    return ops.where(ops.eq(S, 0), ops.zeros_like(x), x)


def svd_backward(gU, gS, gVh, A, U, S, Vh, *, ops):
    """The gradient of A from those of values and vectors; without gS, or gU and gVh, from one kind alone."""
    k = S.shape[-1]
    straight = None
    if gS is not None:
        straight = ops.singular_value_slope(A, _where_positive(gS, S, ops), U[..., :k], S, Vh[..., :k, :])
        if gU is None and gVh is None:
            refuse_parts("linalg.svd", A, S, gS)
            return straight
    refuse_single("linalg.svd", S, 0, gU)
    refuse_single("linalg.svd", S, 2, gVh, transposed=True)
    gU = ops.zeros_like(U) if gU is None else gU
    gVh = ops.zeros_like(Vh) if gVh is None else gVh
    turned = _vectors_backward(gU, gS, gVh, A, U, S, Vh, ops)
    return turned if straight is None else straight + turned


def _vectors_backward(gU, gS, gVh, A, U, S, Vh, ops):
    """U (a / (S_k - S_j) + b / (S_k + S_j)) V^H, and what leaves the spaces of U and V.

    a and b are half the sum and half the difference of the skew parts of U^H gU and V^H gV. Only a, the slope along a
    common rotation of both, is divided by the gap: it vanishes for U V^H, whose gradient is so right for equal values.
    """
    k = S.shape[-1]
    U, Vh, U_rest, Vh_rest = _thin(U, Vh, k)
    gU_thin, gV = gU[..., :k], adjoint_of(gVh[..., :k, :], ops=ops)
    Uh, V = adjoint_of(U, ops=ops), adjoint_of(Vh, ops=ops)
    if U_rest is not None:  # dU_rest = -U dU^H U_rest
        _refuse_rest(U_rest, gU[..., k:], k, ops)
        gU_thin = gU_thin - ops.matmul(U_rest, ops.matmul(adjoint_of(gU[..., k:], ops=ops), U))
    if Vh_rest is not None:
        _refuse_rest(adjoint_of(Vh_rest, ops=ops), adjoint_of(gVh[..., k:, :], ops=ops), k, ops)
        gV = gV - ops.matmul(adjoint_of(Vh_rest, ops=ops), ops.matmul(gVh[..., k:, :], V))
    x, y = ops.matmul(Uh, gU_thin), ops.matmul(Vh, gV)
    scale = ops.abs(x) + ops.abs(y)
    x, y = x - adjoint_of(x, ops=ops), y - adjoint_of(y, ops=ops)
    a, b = (x + y) * 0.5, (x - y) * 0.5
    refuse_phases(ops.diagonal(a, 0, -2, -1), scale, "linalg.svd", ops=ops)
    used = None if gS is None else takes_part(gS, gU_thin, gV)
    refuse_parts("linalg.svd", A, S, gS, gU_thin, gV)
    how = {"used": used, "ops": ops}
    inner = over_gaps(a, S, "linalg.svd", doubt=(a, scale), **how)
    inner = inner + over_sums(b, S, "linalg.svd", doubt=(b, scale), **how)
    found = ops.matmul(U, ops.matmul(inner, Vh))
    if A.shape[-2] > k:
        outside = gU_thin - ops.matmul(U, ops.matmul(Uh, gU_thin))
        found = found + ops.matmul(over_columns(outside, S, "linalg.svd", doubt=(outside, gU_thin), **how), Vh)
    if A.shape[-1] > k:
        outside = gV - ops.matmul(V, ops.matmul(Vh, gV))
        outside = over_columns(outside, S, "linalg.svd", doubt=(outside, gV), **how)
        found = found + ops.matmul(U, adjoint_of(outside, ops=ops))
    return found


def _refuse_rest(vectors, grad, k, ops):
    turns = ops.matmul(adjoint_of(vectors, ops=ops), grad)
    refuse_rest(turns - adjoint_of(turns, ops=ops), turns, "linalg.svd", k)


def svd_jvp(dA, A, U_all, S, Vh_all, *, ops):
    """With P = U^H dA V, H and K its Hermitian and skew parts: rotations H / (S_k - S_j) +- K / (S_k + S_j)."""
    k = S.shape[-1]
    U, Vh, U_rest, Vh_rest = _thin(U_all, Vh_all, k)
    Uh, V = adjoint_of(U, ops=ops), adjoint_of(Vh, ops=ops)
    dA_V, Uh_dA = ops.matmul(dA, V), ops.matmul(Uh, dA)
    P = ops.matmul(Uh, dA_V)
    Ph = adjoint_of(P, ops=ops)
    how = {"case": "tangent", "ops": ops}
    common = over_gaps((P + Ph) * 0.5, S, "linalg.svd", doubt=(off_diagonal(P + Ph, ops=ops), P), **how)
    opposite = over_sums((P - Ph) * 0.5, S, "linalg.svd", doubt=(P - Ph, P), **how)
    dU, dV = ops.matmul(U, common + opposite), ops.matmul(V, common - opposite)
    if A.shape[-2] > k:
        outside = dA_V - ops.matmul(U, P)
        dU = dU + over_columns(outside, S, "linalg.svd", doubt=(outside, dA_V), **how)
    if A.shape[-1] > k:
        outside = adjoint_of(Uh_dA - ops.matmul(P, Vh), ops=ops)
        dV = dV + over_columns(outside, S, "linalg.svd", doubt=(outside, Uh_dA), **how)
    dVh = adjoint_of(dV, ops=ops)
    if U_rest is not None:
        dU = ops.cat([dU, -ops.matmul(U, ops.matmul(adjoint_of(dU, ops=ops), U_rest))], -1)
    if Vh_rest is not None:
        dVh = ops.cat([dVh, -ops.matmul(ops.matmul(Vh_rest, dV), Vh)], -2)
    return dU, dVh


def svd_values_jvp(A, dA, U, S, Vh, *, ops):
    """Re diag(U^H dA V), 0 for the values that are 0."""
    U, Vh, _, _ = _thin(U, Vh, S.shape[-1])
    return _where_positive(ops.singular_value_tangent(A, dA, U, S, Vh), S, ops)


def svdvals_backward(grad, A, S, *, ops):
    """U diag(grad) V^H, without the values that are 0."""
    U, values, Vh = ops.linalg_svd(A, full_matrices=False)
    refuse_parts("linalg.svdvals", A, S, grad)
    return ops.singular_value_slope(A, _where_positive(grad, S, ops), U, values, Vh)


def svdvals_jvp(A, dA, *, ops):
    """Re diag(U^H dA V), 0 for the values that are 0."""
    return svd_values_jvp(A, dA, *ops.linalg_svd(A, full_matrices=False), ops=ops)


# -- slopes and tangents of singular values: operators of their own, as those of eigenvalues ------------------------


def singular_value_turn(X, slopes, U, S, Vh, varying, *, ops):
    """Return what U diag(slopes) V^H gains by the turn of U and V along X, a map that is its own adjoint.

    With H and N the Hermitian and skew parts of U^H X V: H times the divided differences of the slopes, N times their
    sums over the values' sums, and outside of the spaces of U and V slopes over values. `varying`: see `eigenvalues`.
    """
    k, name = S.shape[-1], "linalg.svdvals"
    Uh, V = adjoint_of(U, ops=ops), adjoint_of(Vh, ops=ops)
    XV, XhU = ops.matmul(X, V), ops.matmul(adjoint_of(X, ops=ops), U)
    K = ops.matmul(Uh, XV)
    Kh = adjoint_of(K, ops=ops)

    def weighted(x, weight, scale):
        product = x * weight
        doubt = (x, scale) if varying else (product, scale * ops.unsqueeze(ops.abs(slopes), -2))
        return product, {"doubt": doubt, "case": "slope", "ops": ops}

    numerators, how = weighted((K + Kh) * 0.5, gaps_of(slopes, ops=ops), K)
    inner = over_gaps(numerators, S, name, **how)
    numerators, how = weighted((K - Kh) * 0.5, ops.unsqueeze(slopes, -2) + ops.unsqueeze(slopes, -1), K)
    if varying:  # the Hermitian part too: the slope of a value that is 0 is a convention, with no derivative
        how["doubt"] = (K, K)
    inner = inner + over_sums(numerators, S, name, **how)
    found = ops.matmul(U, ops.matmul(inner, Vh))
    if X.shape[-2] > k:
        columns, how = weighted(XV - ops.matmul(U, K), ops.unsqueeze(slopes, -2), XV)
        found = found + ops.matmul(over_columns(columns, S, name, **how), Vh)
    if X.shape[-1] > k:
        columns, how = weighted(XhU - ops.matmul(V, Kh), ops.unsqueeze(slopes, -2), XhU)
        found = found + ops.matmul(U, adjoint_of(over_columns(columns, S, name, **how), ops=ops))
    return found


def singular_value_slope_backward(grad, A, slopes, U, S, Vh, mask, *, ops):
    """A gets the vectors' turn along grad, the slopes Re diag(U^H grad V)."""
    if not mask[0]:  # the vectors stay as they are
        return None, ops.sum(ops.real(ops.conjugate(U) * ops.matmul(grad, adjoint_of(Vh, ops=ops))), -2)
    to_slopes = ops.singular_value_tangent(A, grad, U, S, Vh) if mask[1] else None
    return singular_value_turn(grad, slopes, U, S, Vh, mask[1], ops=ops), to_slopes


def singular_value_slope_jvp(A, dA, slopes, dslopes, U, S, Vh, *, ops):
    """The same turn, along dA, and the slopes' change."""
    turned = singular_value_turn(dA, slopes, U, S, Vh, True, ops=ops)
    return turned + ops.singular_value_slope(A, dslopes, U, S, Vh)


def singular_value_tangent_jvp(A, dA, tangent, dtangent, U, S, Vh, *, ops):
    """Re diag(dU^H tangent V + U^H tangent dV + U^H dtangent V)."""
    dU, dVh = svd_jvp(dA, A, U, S, Vh, ops=ops)
    left = ops.conjugate(dU) * ops.matmul(tangent, adjoint_of(Vh, ops=ops))
    right = ops.conjugate(U) * ops.matmul(tangent, adjoint_of(dVh, ops=ops))
    return ops.singular_value_tangent(A, dtangent, U, S, Vh) + ops.sum(ops.real(left + right), -2)
