"""What is in the ground: conductivities from voltages at the surface, a sparse inverse problem.

-div(k grad u) = f on a square, u = 0 on its edge; each experiment has a source, and is measured at some points.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

SIDE = 24  # unknowns on a side
H = 1.0 / (SIDE + 1)


def differences(n):
    """The slopes between the neighbours of n points, those beyond the ends included."""
    return sparse.diags_array([np.ones(n), -np.ones(n)], offsets=[0, -1], shape=(n + 1, n), format="csr") / H


ONE = sparse.eye_array(SIDE, format="csr")
GRADIENT = sparse.vstack([sparse.kron(differences(SIDE), ONE), sparse.kron(ONE, differences(SIDE))]).tocsr()
POINTS = (np.arange(SIDE) + 1) * H
X, Y = np.meshgrid(POINTS, POINTS, indexing="ij")


def sources():
    """One experiment a column."""
    at = [(0.2, 0.2), (0.8, 0.3), (0.5, 0.8), (0.3, 0.6)]
    return np.stack([np.exp(-((X - a) ** 2 + (Y - b) ** 2) / 0.005).ravel() for a, b in at], axis=1)


MEASURED = np.flatnonzero(((np.arange(SIDE * SIDE) * 7) % 11) == 0)


def on_edges(cells):
    """Conductivity between two cells: their mean; at the boundary, that of the cell."""
    k = cells.reshape(SIDE, SIDE)
    wide = np.concatenate([k[:1], (k[1:] + k[:-1]) / 2, k[-1:]])
    high = np.concatenate([k[:, :1], (k[:, 1:] + k[:, :-1]) / 2, k[:, -1:]], axis=1)
    return np.concatenate([wide.ravel(), high.ravel()])


def voltages(log_k):
    stiffness = GRADIENT.T @ sparse.diags_array(on_edges(np.exp(log_k))) @ GRADIENT
    return splu(stiffness.tocsc()).solve(sources())


def truth():
    return np.where((X - 0.6) ** 2 + (Y - 0.5) ** 2 < 0.04, 1.0, 0.0).ravel()


def data():
    return voltages(truth())[MEASURED]


def misfit(log_k, measured, smoothness=1e-6):
    """Squares of what the voltages lack, and of the slopes of log k."""
    lacking = voltages(log_k)[MEASURED] - measured
    return np.sum(lacking**2) / 1e-6 + smoothness * np.sum((GRADIENT @ log_k) ** 2)


def main():
    measured = data()
    flat = np.zeros(SIDE * SIDE)
    print(f"{len(measured)} x {measured.shape[1]} voltages, {SIDE * SIDE} unknowns")
    print(f"misfit of an even ground {misfit(flat, measured):.4g}, of the true one {misfit(truth(), measured):.4g}")


if __name__ == "__main__":
    main()
