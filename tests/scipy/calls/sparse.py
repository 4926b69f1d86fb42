"""Calls of scipy.sparse and scipy.sparse.linalg."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from tests.scipy.calls import v

N = 4
_GRID = np.array([[4.0, 0.7, 0, 0], [0, 5.0, -0.4, 0.2], [0.9, 0, 3.5, 0], [0, -1.0, 0.3, 6.0]])
ROWS, COLS = np.nonzero(_GRID)
WEIGHTS = _GRID[ROWS, COLS]
EXACT = {"rtol": 1e-13, "atol": 1e-14}
LEAST = {"atol": 1e-15, "btol": 1e-15}
BLOCKS = np.array([0, 1, 0, 1])
DOUBLE = ([0, 1, 0, 1, 2, 0, 0, 0], [0, 1, 0, 1, 2, 1, 1, 1])  # places that occur twice


def values(x):
    """As many as the matrix has entries."""
    return np.concatenate([x, x**2, x])[: len(ROWS)] * WEIGHTS


def S(x):
    """A sparse matrix."""
    return sparse.csr_array((values(x), (ROWS, COLS)), shape=(N, N))


def P(x):
    """A symmetric positive definite one."""
    return (S(x) @ S(x).T + 3 * sparse.eye_array(N)).tocsr()


def Y(x):
    """A symmetric one."""
    return S(x) + S(x).T


def Y8(x):
    """A symmetric one of eight rows."""
    return sparse.kron(sparse.diags_array(np.array([1.0, 3.0])), Y(x)).tocsr()


def gauge_free(w, V):
    """What does not depend on signs and phases."""
    return w, abs(V), (V * w) @ V.conj().T


def R(x):
    """One of more rows than columns."""
    return sparse.vstack([S(x), S(x * x)[:2]]).tocsr()


def b(x):
    """As many numbers as R has rows."""
    return np.concatenate([x, x[:2]])


def changed(x):
    """The diagonals of a matrix set."""
    A = S(x)
    A.setdiag(x * x)
    A.setdiag(x[0], 1)
    return A.toarray()


def of_class(name):
    return [
        lambda x: getattr(sparse, name)((values(x), (ROWS, COLS)), shape=(N, N)).toarray(),
        lambda x: getattr(sparse, name)((values(x), (ROWS, COLS)), shape=(N, N)) @ x,
        lambda x: x @ getattr(sparse, name)((values(x), (ROWS, COLS))).T,
        lambda x: getattr(sparse, name)((np.concatenate([x, x * x]), DOUBLE), shape=(3, 3)).toarray(),
        lambda x: getattr(sparse, name)((np.concatenate([x, x * x]), DOUBLE), shape=(3, 3)).power(2).toarray(),
        lambda x: getattr(sparse, name)(np.outer(x, x)).toarray(),
        lambda x: getattr(sparse, name)(S(x)).diagonal(1),
        lambda x: getattr(sparse, f"{name[:3]}_array")(getattr(sparse, name)(S(x))).sum(axis=0),
        lambda x: (
            2 * getattr(sparse, name)(S(x)) * x[0] - getattr(sparse, name)(S(x)) / x[1] + getattr(sparse, name)(S(x)).T
        ).toarray(),
        lambda x: (getattr(sparse, name)(S(x)) @ getattr(sparse, name)(S(x)).T).toarray(),
        lambda x: (getattr(sparse, name)(S(x)) @ sparse.csr_array(_GRID)).toarray(),
        lambda x: (sparse.csr_array(_GRID) @ getattr(sparse, name)(S(x))).toarray(),
        lambda x: getattr(sparse, name)(S(x)).multiply(S(x * x)).toarray(),
        lambda x: getattr(sparse, name)(S(x)).multiply(x[:, None]).toarray(),
        lambda x: getattr(sparse, name)((values(x) * (1 + 2j), (ROWS, COLS))).conj().T @ x,
    ]


def of_format(name):
    return [
        lambda x: getattr(sparse, name)(S(x)).tocsr().toarray(),
        lambda x: getattr(sparse, name)(S(x)) @ x,
        lambda x: getattr(sparse, name)(np.outer(x, v)) @ x,
    ]


def road(x):
    """A graph of which one node is not reached."""
    A = np.array([[0, 1.0, 5.0, 0], [0, 0, 1.3, 0], [2.2, 0.4, 0, 0], [0, 0, 0, 0]])
    return sparse.csr_array((np.concatenate([x, x[:1]]) * A[A > 0], np.nonzero(A)), shape=A.shape)


def reached(lengths):
    return lengths[np.isfinite(lengths)]


def paths_by(name):
    return [
        lambda x: reached(getattr(csgraph, name)(road(x))),
        lambda x: reached(getattr(csgraph, name)(road(x), directed=False)),
        lambda x: reached(getattr(csgraph, name)(np.outer(x, x))),
    ]


def solved_by(name):
    return [
        lambda x: getattr(sparse_linalg, name)(S(x), x, **EXACT)[0],
        lambda x: getattr(sparse_linalg, name)(sparse.csr_array(_GRID), x, **EXACT)[0],
    ]


CALLS = {
    **{f"scipy.sparse.{name}": of_class(name) for name in (
        "coo_array", "coo_matrix", "csc_array", "csc_matrix", "csr_array", "csr_matrix",
    )},
    **{f"scipy.sparse.{name}": of_format(name) for name in (
        "bsr_matrix", "dia_matrix", "dok_array", "dok_matrix", "lil_array", "lil_matrix",
    )},
    "scipy.sparse.bsr_array": [
        lambda x: sparse.bsr_array((np.outer(x, x).reshape(4, 2, 2), BLOCKS, np.array([0, 2, 4]))).toarray()
    ],
    "scipy.sparse.dia_array": [lambda x: sparse.dia_array((np.stack([x, x * x]), [0, 1]), shape=(N, N)).toarray()],
    "scipy.sparse.block_array": [
        lambda x: sparse.block_array([[S(x), S(x).T], [sparse.eye_array(N), None]]).tocsc().toarray()
    ],
    "scipy.sparse.block_diag": [lambda x: sparse.block_diag([S(x), x[:, None], 3.0]).toarray()],
    "scipy.sparse.bmat": [lambda x: sparse.bmat([[S(x), None], [sparse.eye(N), np.outer(x, x)]]).toarray()],
    "scipy.sparse.diags": [
        lambda x: sparse.diags([x, 1.0, x[:-1] * 2], [0, 2, -1], shape=(N, N)).toarray(),
        lambda x: sparse.diags(x) @ v,
    ],
    "scipy.sparse.diags_array": [lambda x: sparse.diags_array([x, x[1:]], offsets=[0, 1], format="csr").toarray()],
    "scipy.sparse.find": [lambda x: sparse.find(S(x))[2]],
    "scipy.sparse.hstack": [lambda x: sparse.hstack([S(x), sparse.csr_array(_GRID)], format="csc").toarray()],
    "scipy.sparse.kron": [
        lambda x: sparse.kron(S(x), np.outer(x[:2], x[:2])).toarray(),
        lambda x: sparse.kron(sparse.eye_array(2), S(x)).tocsr() @ np.ones(2 * N),
    ],
    "scipy.sparse.kronsum": [lambda x: sparse.kronsum(S(x), S(x)[:2, :2]).toarray()],
    "scipy.sparse.permute_dims": [lambda x: sparse.permute_dims(S(x).tocoo(), (1, 0)).toarray()],
    "scipy.sparse.spdiags": [lambda x: sparse.spdiags(np.stack([x, x * x]), [0, -1], N, N).toarray()],
    "scipy.sparse.swapaxes": [lambda x: sparse.swapaxes(S(x).tocoo(), 0, 1).toarray()],
    "scipy.sparse.tril": [lambda x: sparse.tril(S(x), -1).toarray()],
    "scipy.sparse.triu": [lambda x: sparse.triu(S(x), format="csr") @ x],
    "scipy.sparse.vstack": [lambda x: R(x).toarray()],
    **{f"scipy.sparse.csgraph.{name}": paths_by(name) for name in (
        "bellman_ford", "floyd_warshall", "johnson", "shortest_path",
    )},
    "scipy.sparse.csgraph.dijkstra": [
        *paths_by("dijkstra"),
        lambda x: reached(csgraph.dijkstra(road(x), indices=[1, 2])),
        lambda x: reached(csgraph.dijkstra(road(x), indices=1, return_predecessors=True)[0]),
    ],
    "scipy.sparse.csgraph.laplacian": [
        lambda x: csgraph.laplacian(road(x)).toarray(),
        lambda x: csgraph.laplacian(road(x), symmetrized=True, normed=True).toarray(),
        lambda x: csgraph.laplacian(np.outer(x, x), normed=True, use_out_degree=True, return_diag=True),
        lambda x: csgraph.laplacian(np.outer(x, v), return_diag=True),
    ],
    "scipy.sparse.csgraph.minimum_spanning_tree": [
        lambda x: csgraph.minimum_spanning_tree(road(x)).toarray(),
        lambda x: csgraph.minimum_spanning_tree(np.outer(x, v)).toarray(),
    ],
    "scipy.sparse.linalg.aslinearoperator": [
        lambda x: sparse_linalg.aslinearoperator(sparse.csr_array(_GRID)) @ x,
        lambda x: sparse_linalg.aslinearoperator(_GRID).rmatvec(x),
        lambda x: sparse_linalg.aslinearoperator(sparse.csr_array(_GRID)).matmat(np.outer(x, x)),
        lambda x: sparse_linalg.aslinearoperator(S(x)).H @ v,
        lambda x: sparse_linalg.aslinearoperator(S(x)).matvec(x),
    ],
    **{f"scipy.sparse.linalg.{name}": solved_by(name) for name in (
        "bicg", "bicgstab", "cgs", "gcrotmk", "gmres", "lgmres", "qmr", "tfqmr",
    )},
    "scipy.sparse.linalg.cg": [
        lambda x: sparse_linalg.cg(P(x), x, **EXACT)[0],
        lambda x: sparse_linalg.cg(P(v), x, x0=x, M=sparse.diags_array(v), **EXACT)[0],
        lambda x: sparse_linalg.cg(P(v), x, M=sparse.diags_array(x), **EXACT)[0],
        lambda x: sparse_linalg.cg(sparse_linalg.LinearOperator((N, N), lambda y: (v + 1) * y), x, **EXACT)[0],
    ],
    "scipy.sparse.linalg.minres": [lambda x: sparse_linalg.minres(P(x), x, rtol=1e-14)[0]],
    "scipy.sparse.linalg.eigs": [
        lambda x: sparse_linalg.eigs(S(x), k=2, v0=v, return_eigenvectors=False),
        lambda x: sparse_linalg.eigs((S(x) + 1j * S(x * x)).tocsc(), k=1, v0=v + 0j, return_eigenvectors=False),
    ],
    "scipy.sparse.linalg.eigsh": [
        lambda x: sparse_linalg.eigsh(Y(x), k=2, v0=v)[0],
        lambda x: gauge_free(*sparse_linalg.eigsh(Y(x), k=2, v0=v)),
        lambda x: gauge_free(*sparse_linalg.eigsh(Y(x).tocsc(), k=1, sigma=5.0, v0=v)),
        lambda x: sparse_linalg.eigsh(Y(x), k=2, which="SA", v0=v, return_eigenvectors=False),
        lambda x: gauge_free(*sparse_linalg.eigsh((Y(x) + 1j * (S(x) - S(x).T)).tocsc(), k=2, v0=v + 0j)),
    ],
    "scipy.sparse.linalg.lobpcg": [
        lambda x: gauge_free(*sparse_linalg.lobpcg(Y8(x), np.eye(8)[:, :1] + 0.1, tol=1e-12, maxiter=400))
    ],
    "scipy.sparse.linalg.svds": [
        lambda x: sparse_linalg.svds(S(x), k=2, v0=v, return_singular_vectors=False),
        lambda x: [y**2 for y in sparse_linalg.svds(S(x)[:3], k=2, v0=v[:3])],
    ],
    "scipy.sparse.linalg.expm": [lambda x: sparse_linalg.expm(S(x).tocsc() / 9).toarray()],
    "scipy.sparse.linalg.expm_multiply": [
        lambda x: sparse_linalg.expm_multiply(S(x) / 3, x),
        lambda x: sparse_linalg.expm_multiply(np.outer(x, v) / 9, x, start=0, stop=1.0, num=3),
        lambda x: sparse_linalg.expm_multiply(sparse.csr_array(_GRID), np.outer(x, v)),
    ],
    "scipy.sparse.linalg.factorized": [
        lambda x: sparse_linalg.factorized(S(x).tocsc())(x),
        lambda x: sparse_linalg.factorized(sparse.csc_array(_GRID))(x),
    ],
    "scipy.sparse.linalg.inv": [lambda x: sparse_linalg.inv(S(x).tocsc()).toarray()],
    "scipy.sparse.linalg.lsmr": [lambda x: sparse_linalg.lsmr(R(x), b(x), damp=0.3, **LEAST)[0]],
    "scipy.sparse.linalg.lsqr": [
        lambda x: sparse_linalg.lsqr(R(x), b(x), **LEAST)[0],
        lambda x: [sparse_linalg.lsqr(R(x), b(x), damp=0.3, **LEAST)[i] for i in (0, 3, 4, 8)],
        lambda x: sparse_linalg.lsqr(R(v), b(x), **LEAST)[0],
    ],
    "scipy.sparse.linalg.matrix_power": [lambda x: sparse_linalg.matrix_power(S(x), 3).toarray()],
    "scipy.sparse.linalg.norm": [
        lambda x: sparse_linalg.norm(S(x)),
        lambda x: sparse_linalg.norm(S(x), 1),
        lambda x: sparse_linalg.norm(S(x), np.inf),
        lambda x: sparse_linalg.norm(S(x), axis=1),
    ],
    "scipy.sparse.linalg.spilu": [lambda x: sparse_linalg.spilu(sparse.csc_array(_GRID)).solve(x)],
    "scipy.sparse.linalg.splu": [
        lambda x: sparse_linalg.splu(S(x).tocsc()).solve(x),
        lambda x: sparse_linalg.splu(S(x).tocsc()).solve(np.outer(x, v), "T"),
        lambda x: sparse_linalg.splu(sparse.csc_array(_GRID)).solve(x, "H"),
        lambda x: sparse_linalg.splu((S(x) + 1j * S(x * x)).tocsc()).solve(x * (1 + 2j), "H"),
        lambda x: sparse_linalg.splu((S(x) + 1j * S(x * x)).tocsc()).solve(x * (1 + 2j), "T"),
    ],
    "scipy.sparse.linalg.spsolve": [
        lambda x: sparse_linalg.spsolve(S(x), x),
        lambda x: sparse_linalg.spsolve(S(x).T, np.outer(x, x)),
        lambda x: sparse_linalg.spsolve(sparse.csr_matrix(_GRID), x[:, None]),
        lambda x: sparse_linalg.spsolve(S(x).tocsc(), v, permc_spec="MMD_AT_PLUS_A"),
        lambda x: sparse_linalg.spsolve(S(x) + 1j * sparse.eye_array(N), x * (1 + 2j)),
        lambda x: S(x).tocsr()[1, 1] * S(x)[[2, 0, 0]].toarray(),
        lambda x: S(x)[1:4][:, 1:4] @ x[:3] + S(x)[np.arange(3), [0, 1, 2]],
        lambda x: S(x).tocsc()[np.ix_([0, 2], [1, 2])].toarray(),
        changed,
        lambda x: [S(x).trace(), S(x).mean(axis=1), abs(S(x)).sum()],
        lambda x: [(S(x) / 9).sinh().toarray(), S(x).reshape((2, 8)).toarray()],
        lambda x: (sparse.csr_matrix(S(x)) ** 2).toarray() + (x @ (S(x) @ x)),
    ],
    "scipy.sparse.linalg.spsolve_triangular": [
        lambda x: sparse_linalg.spsolve_triangular(sparse.tril(S(x), format="csr"), x),
        lambda x: sparse_linalg.spsolve_triangular(
            sparse.triu(S(x), format="csr"), np.outer(x, x), lower=False, unit_diagonal=True
        ),
    ],
}  # fmt: skip
