"""Helpers of the derivatives of inverses, triangular solves, least squares and the pseudoinverse.

After M. Giles, "An extended collection of matrix derivative results for forward and reverse mode AD", 2008; the
pseudoinverse after G. Golub and V. Pereyra, SIAM J. Numer. Anal. 10(2), 1973. X^H is the conjugate transpose.
"""

import functools
import operator

from pullback.ops.formulas.plain_values import any_of, is_known, plain_of, sizes_of

__all__ = [
    "adjoint_of", "inv_backward", "inv_jvp", "ldl_solve_backward", "lstsq_backward", "lstsq_residuals_jvp",
    "lstsq_solution_jvp", "pinv_backward", "pinv_jvp", "solve_backward", "solve_jvp", "solve_triangular_backward",
    "solve_triangular_jvp", "triangle_of", "without_unused",
]  # fmt: skip


def adjoint_of(x, *, ops):
    """X^H."""
    flipped = ops.transpose(x, -2, -1)
    return ops.conjugate(flipped) if x.dtype.kind == "c" else flipped


def without_unused(matrices, singular, *directions, instead=0, ops):
    """`matrices`, where `instead` times the identity replaces singular ones that no direction moves.

    So a singular matrix in a batch, whose inverse is nan, spoils no gradient that does not depend on it.
    """
    marks = plain_of(singular)
    if is_known(marks) and not marks.any():
        return matrices
    moves = (any_of(sizes_of(x) != 0, (-2, -1), keepdims=True) for x in directions)
    # A regular one stays: what a direction that is 0 here is multiplied with is its slope.
    used = functools.reduce(operator.or_, moves, marks[..., None, None] == 0)
    return ops.where(used, matrices, instead * ops.eye(*matrices.shape[-2:], dtype=matrices.dtype))


def inv_backward(grad, inverse, info, *, ops):
    """-A^-H grad A^-H."""
    adjoint = adjoint_of(without_unused(inverse, info, grad, ops=ops), ops=ops)
    return -ops.matmul(adjoint, ops.matmul(grad, adjoint))


def inv_jvp(dA, inverse, info, *, ops):
    """-A^-1 dA A^-1."""
    inverse = without_unused(inverse, info, dA, ops=ops)
    return -ops.matmul(inverse, ops.matmul(dA, inverse))


def solve_backward(grad, A, X, info, mask, *, ops):
    """B gets A^-H grad; A minus that times X^H."""
    A = without_unused(A, info, grad, instead=1, ops=ops)
    found = ops.linalg_solve_matrices(adjoint_of(A, ops=ops), grad)[0]
    if not mask[0]:
        return None, found
    X = without_unused(X, info, grad, ops=ops)
    return -ops.matmul(found, adjoint_of(X, ops=ops)), found


def solve_jvp(A, dA, dB, X, info, *, ops):
    """A^-1 (dB - dA X); either may be None."""
    directions = [x for x in (dA, dB) if x is not None]
    A = without_unused(A, info, *directions, instead=1, ops=ops)
    if dA is None:
        return ops.linalg_solve_matrices(A, dB)[0]
    turned = ops.matmul(dA, without_unused(X, info, *directions, ops=ops))
    return ops.linalg_solve_matrices(A, -turned if dB is None else dB - turned)[0]


def ldl_solve_backward(grad, LD, pivots, hermitian, *, ops):
    """A^-H grad, of the same factors: A is symmetric or Hermitian."""
    LD = LD if hermitian or LD.dtype.kind != "c" else ops.conjugate(LD)
    return ops.linalg_ldl_solve(LD, pivots, grad, hermitian=hermitian)


def triangle_of(x, upper, unitriangular, *, ops):
    """The upper or lower triangle, its diagonal left out if that counts as ones."""
    return ops.triu(x, int(unitriangular)) if upper else ops.tril(x, -int(unitriangular))


def solve_triangular_backward(grad, A, upper, left, unitriangular, result, mask, *, ops):
    """B gets A^-H grad (grad A^-H); A minus that times X^H (X^H times that), in its triangle."""
    found = ops.linalg_solve_triangular(
        adjoint_of(A, ops=ops), grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    if not mask[0]:
        return None, found
    X = adjoint_of(result, ops=ops)
    product = ops.matmul(found, X) if left else ops.matmul(X, found)
    return -triangle_of(product, upper, unitriangular, ops=ops), found


def solve_triangular_jvp(A, A_t, B_t, upper, left, unitriangular, result, *, ops):
    """A^-1 (dB - dA X), or (dB - X dA) A^-1; either may be None."""
    right = B_t
    if A_t is not None:
        moved = triangle_of(A_t, upper, unitriangular, ops=ops)
        turned = ops.matmul(moved, result) if left else ops.matmul(result, moved)
        right = -turned if B_t is None else B_t - turned
    return ops.linalg_solve_triangular(A, right, upper=upper, left=left, unitriangular=unitriangular)


def pinv_jvp(A, dA, P, hermitian=False, *, ops):
    """dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P, where the rank does not change."""
    A = ops.mirrored(A, True) if hermitian else A  # as the kernel read it
    Ph, dAh = adjoint_of(P, ops=ops), adjoint_of(dA, ops=ops)
    left = ops.matmul(Ph, dAh)
    right = ops.matmul(dAh, Ph)
    return (
        -ops.matmul(P, ops.matmul(dA, P))
        + ops.matmul(P, left - ops.matmul(ops.matmul(left, A), P))
        + ops.matmul(right - ops.matmul(P, ops.matmul(A, right)), P)
    )


def pinv_backward(grad, A, P, hermitian=False, *, ops):
    """The adjoint of `pinv_jvp`."""
    A = ops.mirrored(A, True) if hermitian else A
    Ph, G = adjoint_of(P, ops=ops), adjoint_of(grad, ops=ops)
    left, right = ops.matmul(P, G), ops.matmul(G, P)
    return (
        -ops.matmul(Ph, ops.matmul(grad, Ph))
        + ops.matmul(ops.matmul(G - ops.matmul(A, left), P), Ph)
        + ops.matmul(Ph, ops.matmul(P, G - ops.matmul(right, A)))
    )


def lstsq_backward(grad, grad_residuals, A, b, X, rcond, mask, *, ops):
    """X = A^+ b; the residuals |A X - b|^2 have no first-order part through X, which minimises them."""
    P = ops.linalg_pinv_matrices(A, None, rcond)
    grad_A = grad_b = None
    if mask[0]:
        grad_A = pinv_backward(ops.matmul(grad, adjoint_of(b, ops=ops)), A, P, ops=ops)
    if mask[1]:
        grad_b = ops.matmul(adjoint_of(P, ops=ops), grad)
    if grad_residuals.size:
        pull = 2 * ops.unsqueeze(grad_residuals, -2) * (ops.matmul(A, X) - b)
        if mask[0]:
            grad_A = grad_A + ops.matmul(pull, adjoint_of(X, ops=ops))
        if mask[1]:
            grad_b = grad_b - pull
    return grad_A, grad_b


def lstsq_solution_jvp(A, dA, b, db, rcond, *, ops):
    """d(A^+ b)."""
    P = ops.linalg_pinv_matrices(A, None, rcond)
    return ops.matmul(pinv_jvp(A, dA, P, ops=ops), b) + ops.matmul(P, db)


def lstsq_residuals_jvp(A, dA, b, db, X, residuals, *, ops):
    """2 Re <A X - b, dA X - db>, column by column."""
    if not residuals.size:
        return ops.zeros_like(residuals)
    rest, moved = ops.matmul(A, X) - b, ops.matmul(dA, X) - db
    return 2 * ops.sum(ops.real(ops.conjugate(rest) * moved), -2)
