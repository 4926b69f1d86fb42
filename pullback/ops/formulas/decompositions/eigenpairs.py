"""Helpers of the derivatives of lobpcg: a few eigenpairs A U = B U diag(D), U^H B U = 1, without all the others.

Within the span of U the derivative is that of a complete decomposition. What leaves the span solves, for each vector,

    (A - d_j B) w_j = -(1 - B U U^H) (dA - d_j dB) u_j,    U^H B w_j = 0

(R. B. Nelson, AIAA Journal 14(9), 1976; for several vectors A. L. Andrew and R. C. E. Tan, SIAM J. Matrix Anal. Appl.
20(1), 1998): one linear system a vector. A - d_j B is singular along u_j alone, where the solution has no part; a
multiple of (B U)(B U)^H makes it regular and leaves the solution as it is.
"""

import numpy as np

from pullback.core.array_type import refuse_where
from pullback.core.errors import LinAlgError
from pullback.ops.formulas.decompositions.equal_values import (
    gaps_of,
    refuse_parts,
    refuse_phases,
    refuse_single,
    takes_part,
)
from pullback.ops.formulas.decompositions.solves import adjoint_of

__all__ = ["eigenpairs_backward", "eigenpairs_jvp"]


def eigenpairs_backward(gD, gU, A, B, D, U, mask, *, ops):
    """(gradient to A, to B), Hermitian both, of a loss of the values (gU None), the vectors (gD None) or both."""
    if B is None:
        refuse_parts("lobpcg", A, D, gD, gU)
    Uh = adjoint_of(U, ops=ops)
    straight = None if gD is None else ops.matmul(U * ops.unsqueeze(gD, -2), Uh)
    if gU is None:
        return straight, -ops.matmul(U * ops.unsqueeze(gD * D, -2), Uh) if mask[1] else None
    refuse_single("lobpcg", D, 1, gU)
    BU = _times(B, U, ops)
    overlap = ops.matmul(Uh, gU)
    refuse_phases(ops.diagonal(overlap, 0, -2, -1), overlap, "lobpcg", ops=ops)
    skew = (overlap - adjoint_of(overlap, ops=ops)) * 0.5
    inner = _over_gaps(skew, overlap, None if gD is None else takes_part(gD, gU), A, D, U, ops)
    outside = _solve_outside(gU - ops.matmul(BU, overlap), A, B, BU, D, U, ops)
    to_a = ops.matmul(U, ops.matmul(inner, Uh)) - _hermitian(ops.matmul(outside, Uh), ops)
    to_a = to_a if straight is None else to_a + straight
    if not mask[1]:
        return to_a, None
    if gD is not None:
        inner = inner + ops.diag_embed(gD)
    inner = inner * ((ops.unsqueeze(D, -1) + ops.unsqueeze(D, -2)) * 0.5) + _hermitian(overlap, ops) * 0.5
    to_b = _hermitian(ops.matmul(outside * ops.unsqueeze(D, -2), Uh), ops) - ops.matmul(U, ops.matmul(inner, Uh))
    return to_a if mask[0] else None, to_b


def eigenpairs_jvp(dA, dB, A, B, D, U, vectors, *, ops):
    """dU, or dD unless `vectors`, along Hermitian dA and dB."""
    BU, Uh = _times(B, U, ops), adjoint_of(U, ops=ops)
    moved = ops.matmul(dA, U)
    along = None if B is None else ops.matmul(dB, U)
    if along is not None:
        moved = moved - along * ops.unsqueeze(D, -2)
    inner = ops.matmul(Uh, moved)
    if not vectors:
        return ops.real(ops.diagonal(inner, 0, -2, -1))
    inside = _over_gaps(inner, inner, None, A, D, U, ops)
    if along is not None:  # the lengths u^H B u stay 1
        inside = inside - ops.diag_embed(ops.diagonal(ops.matmul(Uh, along), 0, -2, -1)) * 0.5
    return ops.matmul(U, inside) + _solve_outside(ops.matmul(BU, inner) - moved, A, B, BU, D, U, ops)


def _over_gaps(numerators, scale, used, A, D, U, ops):
    """numerators / (d_k - d_j), 0 on the diagonal and for equal values; a loss of single ones is refused.

    Values are equal when rounding in matrices of the size of A could have parted them.
    """
    k, eps = D.shape[-1], np.finfo(D.dtype).eps
    gaps = gaps_of(D, ops=ops)
    limit = 4 * A.shape[-1] * eps * ops.unsqueeze(ops.unsqueeze(_size(A, U, ops), -1), -1)
    equal = ops.le(ops.abs(gaps), limit)  # the diagonal is among them
    doubt = ops.gt(ops.abs(numerators), ops.amax(ops.abs(scale)) * (64 * A.shape[-1] * eps))
    if used is not None:
        doubt = ops.logical_or(doubt, used[..., None] | used[..., None, :])
    ties = ops.logical_and(equal, ops.logical_not(ops.eye(k, dtype=np.dtype(bool))))
    refuse_where(ops.logical_and(ties, doubt), _tied)
    return ops.where(equal, 0.0, numerators) / ops.where(equal, 1.0, gaps)


def _tied():
    return LinAlgError(
        "lobpcg: some of the eigenvalues asked for are equal, and the derivative depends on single vectors of "
        "theirs, or on vectors and values together: it is not determined there. Write a function of the matrix as "
        "linalg.matrix_function, a symmetric function of the values with the values alone, a projector with the "
        "vectors alone."
    )


def _times(B, U, ops):
    return U if B is None else ops.matmul(B, U)


def _size(A, U, ops):
    """A bound of the moduli of all eigenvalues, as far as the lengths of the vectors tell of B."""
    return ops.amax(ops.sum(ops.abs(A), -1), -1) * ops.square(ops.amax(_lengths(U, ops), -1))


def _hermitian(x, ops):
    return (x + adjoint_of(x, ops=ops)) * 0.5


def _solve_outside(sides, A, B, BU, D, U, ops):
    """The z_j with (A - d_j B) z_j = side j and U^H B z_j = 0, as columns; the sides have no part along U."""
    if B is None:
        B = ops.eye(A.shape[-1], dtype=A.dtype)
    column = ops.unsqueeze(ops.unsqueeze(D, -1), -1)  # (..., k, 1, 1)
    lift = _lift(A, B, D, ops)
    regular = A + ops.matmul(BU, adjoint_of(BU, ops=ops)) * ops.unsqueeze(ops.unsqueeze(lift, -1), -1)
    found = []
    for j in range(D.shape[-1]):  # one factorisation a vector
        side = ops.narrow(sides, -1, j, 1)
        shifted = regular - B * ops.select(column, -3, j)
        found.append(ops.linalg_solve_matrices(shifted, side)[0])
    Z = ops.cat(found, -1)
    unused = ops.logical_and(ops.unsqueeze(ops.eq(_lengths(sides, ops), 0), -2), ops.isnan(Z))
    Z = ops.where(unused, 0.0, Z)  # a vector that the loss leaves out may be undetermined
    _refuse_unresolved(Z, sides, A, BU, D, U, ops)
    return Z - ops.matmul(U, ops.matmul(adjoint_of(BU, ops=ops), Z))


def _lift(A, B, D, ops):
    """A shift past all differences of D, of the size of the eigenvalues."""
    trace, other = (ops.sum(ops.abs(ops.diagonal(x, 0, -2, -1)), -1) for x in (A, B))
    return ops.amax(D, -1) - ops.amin(D, -1) + ops.amax(ops.abs(D), -1) + trace / other


def _refuse_unresolved(Z, sides, A, BU, D, U, ops):
    """Refuse where a wanted eigenvalue is as near to an unwanted one as the pairs are exact.

    A solution longer than its side by a factor g shows a gap of about 1/g; a vector with the residual r cannot be told
    from those of eigenvalues r away (Davis and Kahan). Lengths of B U bring both into one unit.
    """
    residuals = ops.matmul(A, U) - BU * ops.unsqueeze(D, -2)
    rounding = 4 * A.shape[-1] * np.finfo(D.dtype).eps * ops.unsqueeze(_size(A, U, ops), -1)
    unit = _lengths(BU, ops)
    blur = (_lengths(residuals, ops) * 10 + rounding * unit) * unit
    resolved = ops.le(_lengths(Z, ops) * blur, _lengths(sides, ops))  # nan is not
    refuse_where(ops.logical_not(resolved), _unresolved)


def _unresolved():
    return LinAlgError(
        "lobpcg: one of the eigenvalues asked for equals, up to rounding, one that was not, so its vector, which "
        "the loss depends on, is not determined. Ask for the whole group of equal eigenvalues (a larger k), or, if "
        "they are distinct, for smaller residuals (a smaller tol)."
    )


def _lengths(x, ops):
    return ops.sqrt(ops.sum(ops.square(ops.abs(x)), -2))
