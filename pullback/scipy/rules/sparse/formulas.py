"""Helpers that the formulas of declarations.yaml call."""

from pullback.core.array_type import refuse_where
from pullback.core.errors import LinAlgError
from pullback.ops.formulas.decompositions.equal_values import over_gaps, refuse_phases, refuse_single
from pullback.ops.formulas.decompositions.solves import adjoint_of


def transposed(pattern, *, ops):
    """The pattern of the transposed matrix."""
    return pattern.T


def spsolve_backward(grad, data, pattern, method, result, mask, *, ops):
    """(gradient at the entries of A, to b): b gets g = A^-H grad, the entry (i, j) of A gets -g_i conj(x_j)."""
    own = ops.scipy_sparse
    found = own.spsolve(ops.conj(data), grad, pattern.T, method.adjoint)
    return -own.sddmm(found, ops.conj(result), pattern, result.ndim - data.ndim) if mask[0] else None, found


def spsolve_jvp(data_t, b_t, data, pattern, method, result, *, ops):
    """A^-1 (db - dA x); either may be None."""
    own = ops.scipy_sparse
    moved = b_t
    if data_t is not None:
        turned = own.spmm(data_t, result, pattern)
        moved = -turned if b_t is None else b_t - turned
    return own.spsolve(data, moved, pattern, method.again)


def eigenpairs_backward(gw, gV, data, pattern, solver, w, V, *, ops):
    """(V diag(gw) + V K + Z) V^H at the entries, K within the span and Z outside; an undefined gradient is None."""
    own = ops.scipy_sparse
    left = None if gw is None else V * ops.unsqueeze(gw, 0)
    if gV is not None:
        refuse_single(solver.kind, w, 1, gV)
        overlap = ops.matmul(adjoint_of(V, ops=ops), gV)
        refuse_phases(ops.diagonal(overlap, 0, -2, -1), overlap, solver.kind, ops=ops)
        skew = (overlap - adjoint_of(overlap, ops=ops)) * 0.5
        inner = over_gaps(skew, w, solver.kind, doubt=(skew, overlap), ops=ops)
        moved = ops.matmul(V, inner) - _outside(gV, data, pattern, solver, w, V, ops)
        left = moved if left is None else left + moved
    return own.sddmm(left, ops.conj(V), pattern, 1)


def eigenvalues_jvp(data_t, pattern, V, *, ops):
    """Re diag(V^H dA V)."""
    return ops.real(ops.sum(ops.conj(V) * ops.scipy_sparse.spmm(data_t, V, pattern), 0))


def eigenvectors_jvp(data_t, data, pattern, solver, w, V, *, ops):
    """V K + Z."""
    moved = ops.scipy_sparse.spmm(data_t, V, pattern)
    inner = over_gaps(ops.matmul(adjoint_of(V, ops=ops), moved), w, solver.kind, case="direction", ops=ops)
    return ops.matmul(V, inner) - _outside(moved, data, pattern, solver, w, V, ops)


def _outside(sides, data, pattern, solver, w, V, ops):
    """The z_i with (A - w_i) z_i = side i beside the span of V, where z_i has no part."""
    own, (n, k) = ops.scipy_sparse, V.shape
    zeros = ops.zeros_like(V)[:k]
    found = []
    for i in range(k):
        shift = ops.expand(-ops.narrow(w, 0, i, 1), (n,))
        border = [ops.reshape(V, (n * k,)), ops.reshape(ops.conj(V), (n * k,))]
        system = ops.cat([ops.cat([data, shift], 0), *border], 0)
        side = ops.cat([ops.narrow(sides, 1, i, 1), ops.narrow(zeros, 1, i, 1)], 0)
        both = own.spsolve(system, ops.reshape(side, (n + k,)), solver.bordered(pattern, k), solver.factors())
        found.append(ops.reshape(ops.narrow(both, 0, 0, n), (n, 1)))
    Z = ops.cat(found, 1)
    size = ops.amax(ops.abs(w)) + ops.sum(ops.abs(data)) / n
    long = ops.sqrt(ops.sum(ops.square(ops.abs(Z)), 0)) * (size * 1e-9)
    refuse_where(ops.gt(long, ops.sqrt(ops.sum(ops.square(ops.abs(sides)), 0))), _unresolved)
    return Z


def _unresolved():
    return LinAlgError(
        "an eigenvalue that was asked for equals, up to rounding, one that was not, so its vector is not determined. "
        "Ask for the whole group of equal eigenvalues (a larger k)."
    )


def eigenvalues_backward(gw, gV, data, pattern, solver, w, V, *, ops):
    """At the entries, of each u_i v_i^H as much as gw_i, less y_i v_i^H with the y of the adjoint system for gV_i."""
    left = None
    if gw is not None:
        left = _left_vectors(data, pattern, solver, w, V, ops) * ops.unsqueeze(gw, 0)
    if gV is not None:
        moved = _bordered(gV, 0, data, pattern, solver, w, V, True, ops)
        left = -moved if left is None else left - moved
    return ops.scipy_sparse.sddmm(left, ops.conj(V), pattern, 1)


def general_eigenvalues_jvp(data_t, data, pattern, solver, w, V, *, ops):
    """u_i^H dA v_i."""
    left = _left_vectors(data, pattern, solver, w, V, ops)
    return ops.sum(ops.conj(left) * ops.scipy_sparse.spmm(_as_complex(data_t, w, ops), V, pattern), 0)


def general_vectors_jvp(data_t, data, pattern, solver, w, V, *, ops):
    """The dv_i with (A - w_i) dv_i = dw_i v_i - dA v_i and v_i^H dv_i = 0."""
    moved = ops.scipy_sparse.spmm(_as_complex(data_t, w, ops), V, pattern)
    return -_bordered(moved, 0, data, pattern, solver, w, V, False, ops)


def _left_vectors(data, pattern, solver, w, V, ops):
    """The u_i with (A - w_i)^H u_i = 0 and v_i^H u_i = 1."""
    left = _bordered(ops.zeros_like(V), 1, data, pattern, solver, w, V, True, ops)
    long = ops.sqrt(ops.sum(ops.square(ops.abs(left)), 0))
    refuse_where(ops.gt(long, 1e8), _defective)
    return left


def _bordered(sides, below, data, pattern, solver, w, V, adjoint, ops):
    """The z_i of (A - w_i) z_i + m v_i = side i, v_i^H z_i = below; of the adjoint system where that is asked for."""
    n, k = V.shape
    data = _as_complex(data, w, ops)
    places = solver.bordered(pattern, 1)
    found = []
    for i in range(k):
        v = ops.reshape(ops.narrow(V, 1, i, 1), (n,))
        shift = ops.expand(-ops.narrow(w, 0, i, 1), (n,))
        system = ops.cat([data, shift, v, ops.conj(v)], 0)
        side = ops.reshape(ops.narrow(sides, 1, i, 1), (n,))
        side = ops.cat([side, ops.full_like(ops.narrow(side, 0, 0, 1), below)], 0)
        if adjoint:
            both = ops.scipy_sparse.spsolve(ops.conj(system), side, places.T, solver.factors())
        else:
            both = ops.scipy_sparse.spsolve(system, side, places, solver.factors())
        found.append(ops.reshape(ops.narrow(both, 0, 0, n), (n, 1)))
    return ops.cat(found, 1)


def _as_complex(data, w, ops):
    return data + ops.zeros_like(ops.narrow(w, 0, 0, 1))


def _defective():
    return LinAlgError(
        "scipy.sparse.linalg.eigs: an eigenvalue that was asked for is repeated, or nearly so, and has no derivative "
        "here."
    )
