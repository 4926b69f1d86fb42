"""Helpers of the derivatives of eigenvalues, eigenvectors and singular values.

M. Giles, "An extended collection of matrix derivative results", 2008; complex matrices: C. Boeddeker et al., "On the
computation of complex-valued gradients", 2017; and PyTorch's notes on gauge invariance: eigenvectors are fixed only up
to a sign or phase, and those of equal eigenvalues only up to a rotation, so a loss that depends on the choice has no
gradient. Where eigenvalues are equal the formulas meet 0/0. `over_gaps` says what becomes of it:

* a loss of the eigenvalues alone is right at any order of multiplicity (the numerators vanish);
* a loss of the vectors alone that a rotation within the equal ones does not change is right;
* one that a rotation changes, or that mixes equal values and their vectors (V f(L) V^H: its derivative needs f', which
  values and vectors of the single point do not hold), is refused.
"""

import numpy as np

from pullback.core.errors import LinAlgError
from pullback.ops.formulas.solves import adjoint_of

__all__ = [
    "eig_backward", "eig_jvp", "eigh_backward", "eigh_values_jvp", "eigh_vectors_jvp", "eigvals_backward",
    "eigvals_jvp", "eigvalsh_backward", "eigvalsh_jvp", "svd_backward", "svd_jvp", "svd_values_jvp",
    "svdvals_backward", "svdvals_jvp",
]  # fmt: skip

_REMEDY = (
    "write it with functions of the matrix itself (matrix_exp, inv, pinv, eigvalsh, svdvals), or perturb the matrix"
)


def _refuse_phase(diagonal, scale, name, ops):
    """Refuse a loss that turning the phase of a vector would change; `diagonal` has its slopes along the phases."""
    if diagonal.dtype.kind != "c" or not diagonal.size:
        return
    # float32 rounding accumulates over long products: PyTorch allows 1e-2 here, but for an exact zero.
    limit = (1e-2 if diagonal.dtype == np.complex64 else 1e-6) * ops.clamp_min(ops.amax(ops.abs(scale)), 1)
    if bool(ops.amax(ops.abs(ops.imag(diagonal))) > limit):
        raise LinAlgError(
            f"{name}: the loss depends on the phases of the complex vectors, which are arbitrary, so it has no gradient"
        )


def over_gaps(numerators, gaps, largest, scale, mixed, name, *, ops):
    """numerators / gaps off the diagonal, 0 on it and where equal values make both vanish.

    Values count as equal when rounding could have parted them, by `largest`, the largest of their moduli; numerators as
    0 by `scale`, what they are differences of. `mixed` is where the loss depends on values and on their vectors too.
    """
    n = gaps.shape[-1]
    equal = _equal(gaps, largest, ops)
    if not n or int(ops.count_nonzero(equal)) == equal.size // n:  # the diagonal alone
        return _off_diagonal(numerators / _with_ones(gaps, equal, ops), ops)
    numerators = _off_diagonal(numerators, ops)
    tolerance = ops.amax(ops.abs(scale)) * (64 * n * np.finfo(numerators.dtype).eps)
    ties = ops.logical_and(equal, ops.logical_not(ops.eye(n, dtype=np.dtype(bool))))
    if bool(ops.any(ops.logical_and(ties, ops.logical_or(ops.gt(ops.abs(numerators), tolerance), mixed)))):
        raise LinAlgError(
            f"{name}: equal values, of which the loss depends on the single vectors or on vectors and "
            f"values together: its derivative is not determined. Compute with distinct values, or {_REMEDY}."
        )
    zero = ops.zeros_like(numerators)
    return ops.where(equal, zero, numerators) / _with_ones(gaps, equal, ops)


def _equal(gaps, largest, ops):
    """Which gaps rounding explains; those of the diagonal are 0."""
    limit = 4 * gaps.shape[-1] * np.finfo(gaps.dtype).eps
    return ops.le(ops.abs(gaps), ops.unsqueeze(ops.unsqueeze(largest * limit, -1), -1))


def _largest(values, ops):
    return ops.amax(ops.abs(values), -1) if values.shape[-1] else ops.sum(ops.abs(values), -1)


def _with_ones(gaps, equal, ops):
    return ops.where(equal, ops.ones_like(gaps), gaps)


def _off_diagonal(x, ops):
    return x - ops.diag_embed(ops.diagonal(x, 0, -2, -1))


def _gaps(values, ops):
    """values[k] - values[j] at row j, column k."""
    return ops.unsqueeze(values, -2) - ops.unsqueeze(values, -1)


def _safe_gaps(values, ops):
    """The gaps with 1 on the diagonal; equal values keep 0, by which a tangent becomes infinite."""
    n = values.shape[-1]
    return _gaps(values, ops) + ops.eye(n, dtype=values.dtype)


def _uses_both(grad_values, grad_vectors, ops):
    """Where value j or k and vector j or k take part in the loss."""
    values = ops.ne(grad_values, 0)
    vectors = ops.any(ops.ne(grad_vectors, 0), -2)
    pair_values = ops.logical_or(ops.unsqueeze(values, -1), ops.unsqueeze(values, -2))
    pair_vectors = ops.logical_or(ops.unsqueeze(vectors, -1), ops.unsqueeze(vectors, -2))
    return ops.logical_and(pair_values, pair_vectors)


# -- Hermitian ---------------------------------------------------------------------------------------------------


def eigh_backward(gL, gV, L, V, *, ops):
    """V (diag(gL) + skew(V^H gV) / E) V^H with E_jk = L_k - L_j: Hermitian, as the matrices are."""
    Vh = adjoint_of(V, ops=ops)
    inner = ops.matmul(Vh, gV)
    skew = (inner - adjoint_of(inner, ops=ops)) * 0.5
    _refuse_phase(ops.diagonal(inner, 0, -2, -1), inner, "linalg.eigh", ops)
    gaps = _gaps(L, ops)
    inner = over_gaps(skew, gaps, _largest(L, ops), inner, _uses_both(gL, gV, ops), "linalg.eigh", ops=ops)
    return ops.matmul(V, ops.matmul(inner + ops.diag_embed(ops.real(gL)), Vh))


def eigh_values_jvp(dA, V, *, ops):
    """Re diag(V^H dA V)."""
    return ops.sum(ops.real(ops.conj(V) * ops.matmul(dA, V)), -2)


def eigh_vectors_jvp(dA, L, V, *, ops):
    """V ((V^H dA V) / E), with no part of a vector along itself; infinite where equal values part."""
    dP = ops.matmul(adjoint_of(V, ops=ops), ops.matmul(dA, V))
    return ops.matmul(V, _off_diagonal(dP, ops) / _safe_gaps(L, ops))


def eigvalsh_backward(grad, A, UPLO, *, ops):
    """V diag(grad) V^H."""
    _, V = ops.linalg_eigh(A, UPLO)
    return ops.matmul(V * ops.unsqueeze(grad, -2), adjoint_of(V, ops=ops))


def eigvalsh_jvp(A, dA, UPLO, *, ops):
    """Re diag(V^H dA V)."""
    return eigh_values_jvp(dA, ops.linalg_eigh(A, UPLO)[1], ops=ops)


# -- general -----------------------------------------------------------------------------------------------------


def eig_backward(gL, gV, L, V, *, ops):
    """V^-H (diag(gL) + (V^H gV - V^H V diag(Re V^H gV)) / E^*) V^H for vectors of length 1."""
    Vh = adjoint_of(V, ops=ops)
    inner = ops.matmul(Vh, gV)
    lengths = ops.diagonal(inner, 0, -2, -1)
    _refuse_phase(lengths, inner, "linalg.eig", ops)
    inner = inner - ops.matmul(Vh, V) * ops.unsqueeze(ops.real(lengths), -2)
    gaps = ops.conj(_gaps(L, ops))
    inner = over_gaps(inner, gaps, _largest(L, ops), inner, _uses_both(gL, gV, ops), "linalg.eig", ops=ops)
    return ops.linalg_solve_matrices(Vh, ops.matmul(inner + ops.diag_embed(gL), Vh), True)[0]


def eig_jvp(dA, L, V, *, ops):
    """dL = diag(V^-1 dA V), dV = V (that / E), with each vector's length kept."""
    dP = ops.linalg_solve_matrices(V, ops.matmul(dA, V), True)[0]
    moved = ops.matmul(V, _off_diagonal(dP, ops) / _safe_gaps(L, ops))
    stretch = ops.sum(ops.real(ops.conj(V) * moved), -2)
    return ops.diagonal(dP, 0, -2, -1), moved - V * ops.unsqueeze(stretch, -2)


def eigvals_backward(grad, A, *, ops):
    """V^-H diag(grad) V^H."""
    _, V = ops.linalg_eig(A)
    Vh = adjoint_of(V, ops=ops)
    return ops.linalg_solve_matrices(Vh, ops.unsqueeze(grad, -1) * Vh, True)[0]


def eigvals_jvp(A, dA, *, ops):
    """diag(V^-1 dA V)."""
    _, V = ops.linalg_eig(A)
    return ops.diagonal(ops.linalg_solve_matrices(V, ops.matmul(dA + ops.zeros_like(V), V), True)[0], 0, -2, -1)


# -- singular values ---------------------------------------------------------------------------------------------


def _thin(U, Vh, k):
    """The first k columns of U and rows of Vh, and what is left of U and V (None if nothing)."""
    rest_u = U[..., k:] if U.shape[-1] > k else None
    rest_v = Vh[..., k:, :] if Vh.shape[-2] > k else None
    return U[..., :k], Vh[..., :k, :], rest_u, rest_v


def svd_backward(gU, gS, gVh, A, U, S, Vh, *, ops):
    """U (a / (S_k - S_j) + b / (S_k + S_j) + diag(gS)) V^H, and what leaves the spaces of U and V.

    a and b are half the sum and half the difference of the skew parts of U^H gU and V^H gV. Only a, the slope along a
    common rotation of both, is divided by the gap: it vanishes for U V^H, whose gradient is so right for equal values.
    """
    k = S.shape[-1]
    U, Vh, U_rest, Vh_rest = _thin(U, Vh, k)
    gU_thin, gVh_thin = gU[..., :k], gVh[..., :k, :]
    Uh, V = adjoint_of(U, ops=ops), adjoint_of(Vh, ops=ops)
    if U_rest is not None:  # dU_rest = -U dU^H U_rest
        gU_thin = gU_thin - ops.matmul(U_rest, ops.matmul(adjoint_of(gU[..., k:], ops=ops), U))
    gV = adjoint_of(gVh_thin, ops=ops)
    if Vh_rest is not None:
        gV = gV - ops.matmul(adjoint_of(Vh_rest, ops=ops), ops.matmul(gVh[..., k:, :], V))
    x, y = ops.matmul(Uh, gU_thin), ops.matmul(Vh, gV)
    scale = ops.abs(x) + ops.abs(y)
    x, y = x - adjoint_of(x, ops=ops), y - adjoint_of(y, ops=ops)
    a, b = (x + y) * 0.5, (x - y) * 0.5
    _refuse_phase(ops.diagonal(a, 0, -2, -1), scale, "linalg.svd", ops)
    mixed = _uses_both(gS, ops.cat([gU_thin, gV], -2), ops)
    inner = over_gaps(a, _gaps(S, ops), _largest(S, ops), scale, mixed, "linalg.svd", ops=ops) + _over_sums(b, S, ops)
    inner = inner + ops.diag_embed(ops.real(gS))
    found = ops.matmul(U, ops.matmul(inner, Vh))
    if A.shape[-2] > k:
        outside = _over_values(gU_thin, S, ops)
        found = found + ops.matmul(outside - ops.matmul(U, ops.matmul(Uh, outside)), Vh)
    if A.shape[-1] > k:
        outside = adjoint_of(_over_values(gV, S, ops), ops=ops)
        found = found + ops.matmul(U, outside - ops.matmul(ops.matmul(outside, V), Vh))
    return found


def _over_sums(x, S, ops):
    """x_jk / (S_j + S_k), 0 for 0/0."""
    sums = ops.unsqueeze(S, -2) + ops.unsqueeze(S, -1)
    return x / ops.where(ops.logical_and(ops.eq(sums, 0), ops.eq(x, 0)), ops.ones_like(sums), sums)


def _over_values(x, S, ops):
    """Columns divided by singular values, 0 for 0/0."""
    S = ops.unsqueeze(S, -2)
    return x / ops.where(ops.logical_and(ops.eq(S, 0), ops.eq(x, 0)), ops.ones_like(S), S)


def svd_jvp(dA, A, U_all, S, Vh_all, *, ops):
    """With P = U^H dA V, H and K its Hermitian and skew parts: rotations H / (S_k - S_j) +- K / (S_k + S_j)."""
    k = S.shape[-1]
    U, Vh, U_rest, Vh_rest = _thin(U_all, Vh_all, k)
    Uh, V = adjoint_of(U, ops=ops), adjoint_of(Vh, ops=ops)
    dA_V, Uh_dA = ops.matmul(dA, V), ops.matmul(Uh, dA)
    P = ops.matmul(Uh, dA_V)
    Ph = adjoint_of(P, ops=ops)
    common = _off_diagonal((P + Ph) * 0.5, ops) / _safe_gaps(S, ops)
    opposite = _over_sums((P - Ph) * 0.5, S, ops)
    dU, dV = ops.matmul(U, common + opposite), ops.matmul(V, common - opposite)
    if A.shape[-2] > k:
        dU = dU + _over_values(dA_V - ops.matmul(U, P), S, ops)
    if A.shape[-1] > k:
        dV = dV + _over_values(adjoint_of(Uh_dA - ops.matmul(P, Vh), ops=ops), S, ops)
    dVh = adjoint_of(dV, ops=ops)
    if U_rest is not None:
        dU = ops.cat([dU, -ops.matmul(U, ops.matmul(adjoint_of(dU, ops=ops), U_rest))], -1)
    if Vh_rest is not None:
        dVh = ops.cat([dVh, -ops.matmul(ops.matmul(Vh_rest, dV), Vh)], -2)
    return dU, dVh


def svd_values_jvp(dA, U, S, Vh, *, ops):
    """Re diag(U^H dA V)."""
    U, Vh, _, _ = _thin(U, Vh, S.shape[-1])
    return ops.sum(ops.real(ops.conj(U) * ops.matmul(dA, adjoint_of(Vh, ops=ops))), -2)


def svdvals_backward(grad, A, S, *, ops):
    """U diag(grad) V^H, without the values that are 0."""
    U, _, Vh = ops.linalg_svd(A, full_matrices=False)
    return ops.matmul(U * ops.unsqueeze(_where_positive(grad, S, ops), -2), Vh)


def svdvals_jvp(A, dA, S, *, ops):
    """Re diag(U^H dA V), 0 for the values that are 0."""
    U, _, Vh = ops.linalg_svd(A, full_matrices=False)
    return _where_positive(svd_values_jvp(dA, U, S, Vh, ops=ops), S, ops)


def _where_positive(x, S, ops):
    return ops.where(ops.eq(S, 0), ops.zeros_like(x), x)
