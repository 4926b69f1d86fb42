"""Calls of scipy.linalg."""

import numpy as np
from scipy import linalg

from tests.scipy.calls import B, M, v
from tests.scipy.calls import x as point


def C(x):
    """A complex matrix."""
    return M(x) + 1j * M(x**2)[::-1]


def H(x):
    """A symmetric positive definite matrix."""
    return M(x) @ M(x).T + np.eye(2)


def H3(x):
    """A symmetric matrix of three, with distinct eigenvalues."""
    return np.diag(np.array([1.0, 3.0, 7.0])) + np.outer(x[:3], x[1:]) + np.outer(x[1:], x[:3])


def HC(x):
    """A Hermitian matrix."""
    A = C(x) @ C(x).conj().T
    return (A + A.conj().T) / 2


def T(x):
    """A matrix of four rows and two columns."""
    return x.reshape(4, 1) * np.array([[1.0, 2.0]]) + np.array([[0, 0.3], [1, 1], [2, 0.1], [0.2, 3]])


def projector(N):
    """What does not depend on the choice of a basis."""
    return N @ N.T


def moduli(w, V):
    """What of complex eigenvectors does not depend on their phases."""
    return w, abs(V)


CALLS = {
    "scipy.linalg.block_diag": [
        lambda x: linalg.block_diag(M(x), x),
        lambda x: linalg.block_diag(M(x), x[0], M(x) ** 2),
    ],
    "scipy.linalg.circulant": [lambda x: linalg.circulant(B(x)[0]), lambda x: linalg.circulant(x)],
    "scipy.linalg.det": [lambda x: linalg.det(C(x)), lambda x: linalg.det(M(x)), lambda x: linalg.det(B(x))],
    "scipy.linalg.expm": [
        lambda x: linalg.expm(B(x) / 9),
        lambda x: linalg.expm(M(x) / 4),
        lambda x: linalg.expm([[x[0], 0.3], [x[1], x[2]]]),
    ],
    "scipy.linalg.inv": [
        lambda x: linalg.inv(M(x)),
        lambda x: linalg.inv(B(x)),
        lambda x: linalg.inv(M(x), assume_a="sym"),
        lambda x: linalg.inv(M(x), assume_a="pos", lower=True),
    ],
    "scipy.linalg.norm": [
        lambda x: linalg.norm(M(x), 2),
        lambda x: linalg.norm(M(x), "nuc"),
        lambda x: linalg.norm(M(x), -1, keepdims=True),
        lambda x: linalg.norm(x),
        lambda x: linalg.norm(x, 1),
        lambda x: linalg.norm(M(x), "fro"),
        lambda x: linalg.norm(M(x), axis=1),
    ],
    "scipy.linalg.solve": [
        lambda x: linalg.solve(B(x), x[:2]),
        lambda x: linalg.solve(B(x), B(x)),
        lambda x: linalg.solve(M(x), 3.0 * x[:2][:, None], assume_a="her"),
        lambda x: linalg.solve(M(x), v[:2], assume_a="banded"),
        lambda x: linalg.solve(M(x), x[:2]),
        lambda x: linalg.solve(M(v), x[:2], transposed=True),
        lambda x: linalg.solve(M(x), v[:2], assume_a="pos"),
        lambda x: linalg.solve(M(x), M(v), assume_a="upper triangular"),
        lambda x: linalg.solve(M(x), v[:2], assume_a="diagonal"),
        lambda x: linalg.solve(M(x), v[:2], assume_a="sym", lower=True),
    ],
    "scipy.linalg.cholesky": [
        lambda x: linalg.cholesky(np.stack([H(x), H(v)])),
        lambda x: linalg.cholesky(M(x) @ M(x).T),
        lambda x: linalg.cholesky(M(x) @ M(x).T, True),
    ],
    "scipy.linalg.cho_factor": [lambda x: linalg.cho_factor(M(x) @ M(x).T + np.eye(2))[0].diagonal()],
    "scipy.linalg.cho_solve": [
        lambda x: linalg.cho_solve(linalg.cho_factor(np.stack([H(x), H(v)])), x[:2]),
        lambda x: linalg.cho_solve(linalg.cho_factor(M(x) @ M(x).T), x[:2]),
        lambda x: linalg.cho_solve(linalg.cho_factor(M(x) @ M(x).T, lower=True), M(v)),
    ],
    "scipy.linalg.solve_triangular": [
        lambda x: linalg.solve_triangular(B(x), x[:2]),
        lambda x: linalg.solve_triangular(B(x), B(x), lower=True, trans=2),
        lambda x: linalg.solve_triangular(M(x), x[:2]),
        lambda x: linalg.solve_triangular(M(x), M(v), lower=True, trans="T"),
        lambda x: linalg.solve_triangular(M(x), v[:2], trans=2, unit_diagonal=True),
    ],
    "scipy.linalg.toeplitz": [
        lambda x: linalg.toeplitz(B(x)[0]),
        lambda x: linalg.toeplitz(x * 1j, v),
        lambda x: linalg.toeplitz(x),
        lambda x: linalg.toeplitz(x[:2], x[1:]),
    ],
    "scipy.linalg.cdf2rdf": [
        lambda x: linalg.cdf2rdf(*linalg.eig(M(x))),
    ],
    "scipy.linalg.cho_solve_banded": [
        lambda x: linalg.cho_solve_banded((linalg.cholesky_banded(np.stack([x, x + 9])), False), x),
        lambda x: linalg.cho_solve_banded(
            (linalg.cholesky_banded(np.stack([x + 9, x * (1 + 1j)]), lower=True), True), np.outer(x, v)
        ),
    ],
    "scipy.linalg.cholesky_banded": [
        lambda x: linalg.cholesky_banded(np.stack([x, x + 9])),
        lambda x: linalg.cholesky_banded(np.stack([x + 9, x * (1 + 1j)]), lower=True),
    ],
    "scipy.linalg.companion": [
        lambda x: linalg.companion(x),
    ],
    "scipy.linalg.convolution_matrix": [
        lambda x: linalg.convolution_matrix(x, 3, mode="same"),
    ],
    "scipy.linalg.coshm": [
        lambda x: linalg.coshm(M(x) / 9),
        lambda x: linalg.coshm(B(x) / 9),
    ],
    "scipy.linalg.cosm": [
        lambda x: linalg.cosm(M(x) / 9),
        lambda x: linalg.cosm(B(x) / 9),
    ],
    "scipy.linalg.diagsvd": [
        lambda x: linalg.diagsvd(x, 4, 5),
    ],
    "scipy.linalg.eig": [
        lambda x: linalg.eig(M(x)),
        lambda x: linalg.eig(M(x), left=True),
        lambda x: linalg.eig(M(x), M(v) @ M(v).T),
        lambda x: linalg.eig(M(x), right=False),
        lambda x: linalg.eig(M(x), M(v), left=True),
        lambda x: moduli(*linalg.eig(np.array([[x[0], -x[1]], [x[2], x[3]]]))),
        lambda x: linalg.eig(B(x)),
    ],
    "scipy.linalg.eig_banded": [
        lambda x: linalg.eig_banded(M(x)),
        lambda x: linalg.eig_banded(M(x), lower=True, select="i", select_range=(0, 0)),
        lambda x: linalg.eig_banded(M(x), eigvals_only=True),
    ],
    "scipy.linalg.eigh": [
        lambda x: linalg.eigh(H3(x), lower=False, subset_by_index=[1, 2]),
        lambda x: linalg.eigh(H3(x), subset_by_value=[0, 5.0]),
        lambda x: linalg.eigh(H(x), H(v), type=1),
        lambda x: linalg.eigh(H(x), H(v), type=2),
        lambda x: linalg.eigh(H(x), H(v), type=3),
        lambda x: linalg.eigh(H(v), H(x), type=1),
        lambda x: linalg.eigh(H(v), H(x), type=2),
        lambda x: linalg.eigh(H(v), H(x), type=3),
        lambda x: linalg.eigh(H3(x), driver="evd"),
        lambda x: linalg.eigh(M(x), lower=False),
        lambda x: linalg.eigh(np.stack([H(x), H(x) * 2 + M(x)])),
        lambda x: moduli(*linalg.eigh(HC(x))),
        lambda x: moduli(*linalg.eigh(HC(x), HC(v))),
    ],
    "scipy.linalg.eigh_tridiagonal": [
        lambda x: linalg.eigh_tridiagonal(x, x[1:]),
        lambda x: linalg.eigh_tridiagonal(x, v[1:], select="i", select_range=(1, 2)),
    ],
    "scipy.linalg.eigvals": [
        lambda x: linalg.eigvals(M(x)),
        lambda x: linalg.eigvals(np.array([[x[0], -x[1]], [x[2], x[3]]])),
        lambda x: linalg.eigvals(M(x), M(v)),
        lambda x: linalg.eigvals(B(x)),
    ],
    "scipy.linalg.eigvals_banded": [
        lambda x: linalg.eigvals_banded(np.stack([x, x**2])),
        lambda x: linalg.eigvals_banded(np.stack([x, x**2]), True, select="v", select_range=(0, 3.0)),
    ],
    "scipy.linalg.eigvalsh": [
        lambda x: linalg.eigvalsh(H3(x)),
        lambda x: linalg.eigvalsh(HC(x), H(x)),
        lambda x: linalg.eigvalsh(H3(x), subset_by_index=[0, 1]),
    ],
    "scipy.linalg.eigvalsh_tridiagonal": [
        lambda x: linalg.eigvalsh_tridiagonal(x, x[1:]),
    ],
    "scipy.linalg.expm_frechet": [
        lambda x: linalg.expm_frechet(M(x) / 4, M(v)),
        lambda x: linalg.expm_frechet(M(x) / 4, M(x), compute_expm=False),
    ],
    "scipy.linalg.fiedler": [
        lambda x: linalg.fiedler(x),
    ],
    "scipy.linalg.fiedler_companion": [
        lambda x: linalg.fiedler_companion(x),
    ],
    "scipy.linalg.fractional_matrix_power": [
        lambda x: linalg.fractional_matrix_power(M(x), 0.3),
        lambda x: linalg.fractional_matrix_power(M(x), -2),
        lambda x: linalg.fractional_matrix_power(M(x), 1.7),
    ],
    "scipy.linalg.funm": [
        lambda x: linalg.funm(M(x), np.sin),
        lambda x: linalg.funm(M(x), lambda w: np.exp(1j * w)),
    ],
    "scipy.linalg.hankel": [
        lambda x: linalg.hankel(x, x[::-1]),
        lambda x: linalg.hankel(x),
    ],
    "scipy.linalg.khatri_rao": [
        lambda x: linalg.khatri_rao(M(x), T(x)),
        lambda x: linalg.khatri_rao(T(x), M(v)),
    ],
    "scipy.linalg.ldl": [
        lambda x: linalg.ldl(H(x)),
        lambda x: linalg.ldl(H3(x), lower=False),
        lambda x: linalg.ldl(HC(x) + 5 * np.eye(2)),
    ],
    "scipy.linalg.leslie": [
        lambda x: linalg.leslie(x, x[:3]),
        lambda x: linalg.leslie(x, v[:3]),
    ],
    "scipy.linalg.logm": [
        lambda x: linalg.logm(M(x)),
        lambda x: linalg.logm(C(x)),
        lambda x: linalg.logm(B(x)),
        lambda x: linalg.logm(np.eye(2) * 4 + M(x - point) - 3 * np.eye(2)),
    ],
    "scipy.linalg.lstsq": [
        lambda x: linalg.lstsq(T(x), x),
        lambda x: linalg.lstsq(M(x), M(v)),
        lambda x: linalg.lstsq(T(x), np.outer(x, x[:3])),
        lambda x: linalg.lstsq(T(x).T, x[:2], lapack_driver="gelsy")[0],
        lambda x: linalg.lstsq(T(x).T, x[:2]),
    ],
    "scipy.linalg.lu": [
        lambda x: linalg.lu(M(x)[::-1]),
        lambda x: linalg.lu(B(x), permute_l=True),
        lambda x: linalg.lu(T(x), p_indices=True),
        lambda x: linalg.lu(C(x))[1:],
    ],
    "scipy.linalg.lu_factor": [
        lambda x: linalg.lu_factor(M(x)[::-1]),
        lambda x: linalg.lu_factor(B(x)),
    ],
    "scipy.linalg.lu_solve": [
        lambda x: linalg.lu_solve(linalg.lu_factor(M(x)[::-1]), x[:2], trans=0),
        lambda x: linalg.lu_solve(linalg.lu_factor(M(x)[::-1]), x[:2], trans=1),
        lambda x: linalg.lu_solve(linalg.lu_factor(M(x)[::-1]), x[:2], trans=2),
        lambda x: linalg.lu_solve(linalg.lu_factor(C(x)), M(v), trans=0),
        lambda x: linalg.lu_solve(linalg.lu_factor(C(x)), M(v), trans=1),
        lambda x: linalg.lu_solve(linalg.lu_factor(C(x)), M(v), trans=2),
    ],
    "scipy.linalg.matmul_toeplitz": [
        lambda x: linalg.matmul_toeplitz((x, v[:2]), x[:2]),
        lambda x: linalg.matmul_toeplitz(x * (1 + 1j), np.outer(x, v)),
    ],
    "scipy.linalg.null_space": [
        lambda x: projector(linalg.null_space(T(x).T)),
        lambda x: linalg.null_space(np.array([[x[0], x[1]]])),
    ],
    "scipy.linalg.orth": [
        lambda x: projector(linalg.orth(T(x))),
        lambda x: linalg.orth(T(x)),
    ],
    "scipy.linalg.orthogonal_procrustes": [
        lambda x: linalg.orthogonal_procrustes(M(x), M(v)),
        lambda x: linalg.orthogonal_procrustes(C(x), M(v)),
    ],
    "scipy.linalg.pinv": [
        lambda x: linalg.pinv(M(x)),
        lambda x: linalg.pinv(T(x), return_rank=True),
        lambda x: linalg.pinv(B(x)),
        lambda x: linalg.pinv(C(x)),
    ],
    "scipy.linalg.pinvh": [
        lambda x: linalg.pinvh(H(x)),
        lambda x: linalg.pinvh(HC(x), lower=False),
        lambda x: linalg.pinvh(np.outer(x, x), return_rank=True),
    ],
    "scipy.linalg.polar": [
        lambda x: linalg.polar(M(x)),
        lambda x: linalg.polar(M(x), "left"),
        lambda x: linalg.polar(T(x)),
        lambda x: linalg.polar(T(x).T, "left"),
        lambda x: linalg.polar(C(x)),
        lambda x: linalg.polar(B(x)),
    ],
    "scipy.linalg.schur": [
        lambda x: linalg.schur(M(x)),
        lambda x: linalg.schur(H3(x)),
        lambda x: linalg.schur(M(x) + np.array([[0, 9.0], [-7.0, 0]])),
        lambda x: linalg.schur(np.stack([M(x), M(x) + np.array([[0, 9.0], [-7.0, 0]])])),
        lambda x: linalg.schur(
            linalg.block_diag(M(x), M(x) + np.array([[0, 9.0], [-7.0, 0]])) + np.outer(x, x**2) / 9, sort="lhp"
        ),
    ],
    "scipy.linalg.qr": [
        lambda x: linalg.qr(M(x)),
        lambda x: linalg.qr(T(x), mode="economic", pivoting=True),
        lambda x: linalg.qr(M(x), mode="r"),
        lambda x: linalg.qr(B(x)),
        lambda x: linalg.qr(T(x), mode="r"),
        lambda x: linalg.qr(T(x).T),
        lambda x: linalg.qr(C(x)),
    ],
    "scipy.linalg.qr_multiply": [
        lambda x: linalg.qr_multiply(M(x), M(v)),
        lambda x: linalg.qr_multiply(T(x), M(x), "left"),
        lambda x: linalg.qr_multiply(M(x), x[:2], "left"),
        lambda x: linalg.qr_multiply(C(x), M(v), conjugate=True),
    ],
    "scipy.linalg.rq": [
        lambda x: linalg.rq(M(x)),
        lambda x: linalg.rq(T(x).T, mode="economic"),
        lambda x: linalg.rq(M(x), mode="r"),
        lambda x: linalg.rq(C(x)),
    ],
    "scipy.linalg.signm": [
        lambda x: linalg.signm(M(x) - 4 * np.eye(2)),
    ],
    "scipy.linalg.sinhm": [
        lambda x: linalg.sinhm(M(x) / 9),
        lambda x: linalg.sinhm(B(x) / 9),
    ],
    "scipy.linalg.sinm": [
        lambda x: linalg.sinm(M(x) / 9),
        lambda x: linalg.sinm(B(x) / 9),
    ],
    "scipy.linalg.solve_banded": [
        lambda x: linalg.solve_banded((1, 1), np.stack([x, x + 5, x**2]), x),
        lambda x: linalg.solve_banded((0, 2), np.stack([x, x**2, x + 3]), np.outer(x, v)),
        lambda x: linalg.solve_banded((1, 1), np.stack([x, x + 5j, x**2]), x * 1j),
    ],
    "scipy.linalg.solve_circulant": [
        lambda x: linalg.solve_circulant(x, v),
        lambda x: linalg.solve_circulant(v, np.outer(x, x)),
    ],
    "scipy.linalg.solve_continuous_are": [
        lambda x: linalg.solve_continuous_are(M(x), M(v), H(x), H(v)),
        lambda x: linalg.solve_continuous_are(M(v), T(x)[:2], H(v), H(x)),
        lambda x: linalg.solve_continuous_are(M(x), M(v), H(x) + 9 * np.eye(2), H(v), e=M(x**0.5), s=M(x) / 5),
        lambda x: linalg.solve_continuous_are(C(x), M(v), HC(x), H(v)),
    ],
    "scipy.linalg.solve_continuous_lyapunov": [
        lambda x: linalg.solve_continuous_lyapunov(M(x), M(v)),
        lambda x: linalg.solve_continuous_lyapunov(C(x), H(x)),
    ],
    "scipy.linalg.solve_lyapunov": [lambda x: linalg.solve_lyapunov(M(x), M(v))],
    "scipy.linalg.solve_discrete_are": [
        lambda x: linalg.solve_discrete_are(M(x), M(v), H(x), H(v)),
        lambda x: linalg.solve_discrete_are(M(v), T(x)[:2], H(v), H(x)),
        lambda x: linalg.solve_discrete_are(M(x), M(v), H(x) + 9 * np.eye(2), H(v), e=M(x**0.5), s=M(x) / 5),
        lambda x: linalg.solve_discrete_are(C(x), M(v), HC(x), H(v)),
    ],
    "scipy.linalg.solve_discrete_lyapunov": [
        lambda x: linalg.solve_discrete_lyapunov(M(x) / 9, M(x)),
        lambda x: linalg.solve_discrete_lyapunov(M(x) / 9, M(x), method="bilinear"),
    ],
    "scipy.linalg.solve_sylvester": [
        lambda x: linalg.solve_sylvester(M(x), M(v), H(x)),
        lambda x: linalg.solve_sylvester(C(x), M(x), T(x)[:2]),
        lambda x: linalg.solve_sylvester(H3(x), M(x), T(x)[:3]),
    ],
    "scipy.linalg.solve_toeplitz": [
        lambda x: linalg.solve_toeplitz((x + np.array([5, 0, 0, 0]), v + np.array([6.07, 0, 0, 0])), x),
        lambda x: linalg.solve_toeplitz(x + np.array([5j, 0, 0, 0]), np.outer(x, v)),
    ],
    "scipy.linalg.solveh_banded": [
        lambda x: linalg.solveh_banded(np.stack([x, x + 5]), x),
        lambda x: linalg.solveh_banded(np.stack([x + 9, x]), np.outer(x, v), lower=True),
        lambda x: linalg.solveh_banded(np.stack([x + 9, x * 1j]), x, lower=True),
    ],
    "scipy.linalg.sqrtm": [
        lambda x: linalg.sqrtm(M(x)),
        lambda x: linalg.sqrtm(C(x)),
        lambda x: linalg.sqrtm(np.eye(2) * 4 + M(x - point) - 3 * np.eye(2)),
    ],
    "scipy.linalg.subspace_angles": [
        lambda x: linalg.subspace_angles(T(x), T(v[::-1]) ** 2),
        lambda x: linalg.subspace_angles(x[:, None], v[:, None]),
    ],
    "scipy.linalg.svd": [
        lambda x: linalg.svd(M(x)),
        lambda x: linalg.svd(T(x), full_matrices=False),
        lambda x: linalg.svd(B(x)),
        lambda x: linalg.svd(M(x), compute_uv=False),
        lambda x: abs(linalg.svd(C(x))[0]) + linalg.svd(C(x))[1],
    ],
    "scipy.linalg.svdvals": [
        lambda x: linalg.svdvals(M(x)),
        lambda x: linalg.svdvals(B(x)),
    ],
    "scipy.linalg.tanhm": [
        lambda x: linalg.tanhm(M(x) / 9),
        lambda x: linalg.tanhm(B(x) / 9),
    ],
    "scipy.linalg.tanm": [
        lambda x: linalg.tanm(M(x) / 9),
        lambda x: linalg.tanm(B(x) / 9),
    ],
}
