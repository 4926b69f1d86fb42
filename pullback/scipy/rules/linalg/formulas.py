"""Helpers that the formulas of declarations.yaml call."""

from pullback.ops.formulas.decompositions.solves import adjoint_of


def matrix_map_slope(A, direction, function, *, ops):
    """The derivative of the function at A along a direction: the corner of f((A D; 0 A))."""
    n = A.shape[-1]
    below = ops.cat([ops.zeros_like(A), A], -1)
    block = ops.cat([ops.cat([A, direction], -1), below], -2)
    found = ops.scipy_linalg.matrix_map(block, function)
    return ops.narrow(ops.narrow(found, -2, 0, n), -1, n, n)


def sylvester_backward(grad, A, B, X, mask, *, ops):
    """Q gets Y with A^H Y + Y B^H = grad; A gets -Y X^H, B gets -X^H Y."""
    Y = ops.scipy_linalg.sylvester(adjoint_of(A, ops=ops), adjoint_of(B, ops=ops), grad)
    if not (mask[0] or mask[1]):
        return None, None, Y
    Xh = adjoint_of(X, ops=ops)
    return -ops.matmul(Y, Xh) if mask[0] else None, -ops.matmul(Xh, Y) if mask[1] else None, Y


def sylvester_jvp(dA, dB, dQ, A, B, X, *, ops):
    """The X of the change of the right-hand side; a change that is None is 0."""
    side = dQ
    for change in (None if dA is None else ops.matmul(dA, X), None if dB is None else ops.matmul(X, dB)):
        if change is not None:
            side = -change if side is None else side - change
    return ops.scipy_linalg.sylvester(A, B, side)


def continuous_are_backward(grad, A, B, R, X, mask, *, ops):
    """With F Y + Y F^H = -grad: Q gets Y, A gets X Y^H + X Y, B minus that times K^H, R gets K Y K^H."""
    K, F = _continuous_feedback(A, B, R, X, ops)
    Y = ops.scipy_linalg.sylvester(F, adjoint_of(F, ops=ops), -grad)
    to_a = ops.matmul(X, Y + adjoint_of(Y, ops=ops))
    return _shares(to_a, Y, K, mask, ops)


def continuous_are_jvp(dA, dB, dQ, dR, A, B, R, X, *, ops):
    """The X of the change."""
    K, F = _continuous_feedback(A, B, R, X, ops)
    side = _moved(dA, dB, dQ, dR, K, X, ops)
    return ops.scipy_linalg.sylvester(adjoint_of(F, ops=ops), F, -side)


def _continuous_feedback(A, B, R, X, ops):
    K = ops.linalg_solve(R, ops.matmul(adjoint_of(B, ops=ops), X))
    return K, A - ops.matmul(B, K)


def discrete_are_backward(grad, A, B, R, X, mask, *, ops):
    """With Y - F Y F^H = grad: Q gets Y, A gets X F (Y + Y^H), B minus that times K^H, R gets K Y K^H."""
    K, F = _discrete_feedback(A, B, R, X, ops)
    Y = _stein(F, adjoint_of(F, ops=ops), grad, ops)
    to_a = ops.matmul(ops.matmul(X, F), Y + adjoint_of(Y, ops=ops))
    return _shares(to_a, Y, K, mask, ops)


def discrete_are_jvp(dA, dB, dQ, dR, A, B, R, X, *, ops):
    """The X of the change."""
    K, F = _discrete_feedback(A, B, R, X, ops)
    side = _moved(dA, dB, dQ, dR, K, ops.matmul(X, F), ops)
    return _stein(adjoint_of(F, ops=ops), F, side, ops)


def _discrete_feedback(A, B, R, X, ops):
    BhX = ops.matmul(adjoint_of(B, ops=ops), X)
    K = ops.linalg_solve(R + ops.matmul(BhX, B), ops.matmul(BhX, A))
    return K, A - ops.matmul(B, K)


def _shares(to_a, Y, K, mask, ops):
    Kh = adjoint_of(K, ops=ops)
    to_b = -ops.matmul(to_a, Kh) if mask[1] else None
    return to_a if mask[0] else None, to_b, Y, ops.matmul(ops.matmul(K, Y), Kh) if mask[3] else None


def _moved(dA, dB, dQ, dR, K, XF, ops):
    """The change of Q + K^H R K, and that of F beside X F, with K held."""
    parts = [] if dQ is None else [dQ]
    if dR is not None:
        parts.append(ops.matmul(ops.matmul(adjoint_of(K, ops=ops), dR), K))
    if dA is not None or dB is not None:
        dF = dA if dB is None else -ops.matmul(dB, K) if dA is None else dA - ops.matmul(dB, K)
        half = ops.matmul(adjoint_of(XF, ops=ops), dF)
        parts.append(half + adjoint_of(half, ops=ops))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _stein(F, Fh, side, ops):
    """The Y with Y - F Y F^H = side, by one system for its n^2 elements."""
    n, front = F.shape[-1], tuple(F.shape[:-2])
    left = ops.reshape(F, (*front, n, 1, n, 1))
    right = ops.reshape(ops.transpose(Fh, -1, -2), (*front, 1, n, 1, n))
    system = ops.eye(n * n, dtype=F.dtype) - ops.reshape(left * right, (*front, n * n, n * n))
    found = ops.linalg_solve_matrices(system, ops.reshape(side, (*front, n * n, 1)))[0]
    return ops.reshape(found, (*front, n, n))
