"""Helpers of the derivatives of determinants and of the exponential of matrices.

Jacobi's formula, d det(A) = tr(adj(A) dA) (Magnus and Neudecker, Matrix Differential Calculus, 8.3): with the adjugate
in place of det(A) A^-1 it holds for singular matrices too.
"""

from pullback.ops.formulas.decompositions.solves import adjoint_of, without_unused
from pullback.ops.formulas.plain_values import sizes_of

__all__ = [
    "adjugate_curve", "adjugate_slope_backward", "matrix_exp_slope", "slogdet_backward", "slogdet_jvp",
    "times_adjoint_adjugate", "trace_of_product",
]  # fmt: skip


def _column(x, ops):
    """A number a matrix, for a product with the matrices."""
    return ops.unsqueeze(ops.unsqueeze(x, -1), -1)


def trace_of_product(a, b, *, ops):
    """tr(a b) of each pair of matrices."""
    return ops.sum(a * ops.transpose(b, -2, -1), (-2, -1))


def times_adjoint_adjugate(grad, A, *, ops):
    """grad adj(A)^H."""
    return _column(grad, ops) * adjoint_of(ops.adjugate(A), ops=ops)


def adjugate_slope_backward(grad, A, tangent, *, ops):
    """The adjoint of `adjugate_curve`: with X = A^-1 and B = adj(A), of the derivative of tr(X D) B - X D B."""
    X, B = ops.linalg_inv_ex(A, check_errors=True)[0], ops.adjugate(A)
    XD = ops.matmul(X, tangent)
    Xh, XDh = adjoint_of(X, ops=ops), adjoint_of(XD, ops=ops)
    weight = trace_of_product(adjoint_of(B, ops=ops), grad, ops=ops)
    along_B = _column(ops.conjugate(trace_of_product(X, tangent, ops=ops)), ops) * grad - ops.matmul(XDh, grad)
    return (
        -_column(weight, ops) * ops.matmul(Xh, XDh)
        + ops.adjugate_slope(adjoint_of(A, ops=ops), along_B)
        + ops.matmul(Xh, ops.matmul(grad, adjoint_of(ops.matmul(XD, B), ops=ops)))
    )


def adjugate_curve(A, dA, tangent, *, ops):
    """The derivative along dA of the adjugate's derivative along a tangent."""
    X, B = ops.linalg_inv_ex(A, check_errors=True)[0], ops.adjugate(A)
    XD, moved = ops.matmul(X, tangent), ops.adjugate_slope(A, dA)
    twice = ops.matmul(ops.matmul(X, dA), XD)
    traces = [_column(ops.sum(ops.diagonal(x, 0, -2, -1), -1), ops) for x in (twice, XD)]
    return ops.matmul(twice, B) - traces[0] * B + traces[1] * moved - ops.matmul(XD, moved)


def slogdet_backward(grad_sign, grad_log, A, sign, *, ops):
    """(grad_log - i Im(conj(grad_sign) sign)) A^-H; of a singular matrix nan, but 0 for grad_log 0."""
    inverse, singular = ops.linalg_inv_ex(A)[0], ops.eq(sign, 0)
    along = _column(grad_log, ops)
    found = adjoint_of(without_unused(inverse, singular, along, ops=ops), ops=ops) * along
    if sign.dtype.kind != "c":
        return found
    # The sign of a singular matrix, 0, has no phase to turn; a nan here would reach it when differentiated again.
    inverse = without_unused(inverse, singular, sizes_of(_column(sign, ops)), ops=ops)
    return found - adjoint_of(inverse, ops=ops) * _column(ops.imag(ops.conjugate(grad_sign) * sign) * 1j, ops)


def slogdet_jvp(A, dA, sign, *, ops):
    """With c = tr(A^-1 dA): i Im(c) sign, Re(c)."""
    A = without_unused(A, ops.eq(sign, 0), dA, instead=1, ops=ops)
    c = ops.sum(ops.diagonal(ops.linalg_solve_matrices(A, dA)[0], 0, -2, -1), -1)
    turned = ops.imag(c) * 1j * sign if sign.dtype.kind == "c" else ops.zeros_like(sign)
    return turned, ops.real(c)


def matrix_exp_slope(A, direction, *, ops):
    """The derivative of exp at A along a direction: the corner of exp((A D; 0 A)) (Mathias 1996)."""
    n = A.shape[-1]
    if not n:
        return direction
    above = ops.cat([A, direction], -1)
    below = ops.cat([ops.zeros_like(A), A], -1)
    return ops.linalg_matrix_exp(ops.cat([above, below], -2))[..., :n, n:]
