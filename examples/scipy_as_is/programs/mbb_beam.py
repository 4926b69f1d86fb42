"""The stiffest beam of half a box of material: topology optimisation of the MBB beam.

Sigmund's element, filter of sensitivities and optimality criteria, as in E. Andreassen, A. Clausen, M. Schevenels,
B. S. Lazarov and O. Sigmund, Efficient topology optimization in MATLAB using 88 lines of code, Struct. Multidisc.
Optim. 43, 2011, 1-16, who print 216.81 for this beam; with SciPy's sparse solver.
"""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

NELX, NELY, VOLFRAC, PENAL, RMIN = 60, 20, 0.5, 3.0, 2.4
SOFTEST = 1e-9  # the modulus of what is empty


def element_stiffness(nu=0.3):
    k = np.array(
        [
            1 / 2 - nu / 6,
            1 / 8 + nu / 8,
            -1 / 4 - nu / 12,
            -1 / 8 + 3 * nu / 8,
            -1 / 4 + nu / 12,
            -1 / 8 - nu / 8,
            nu / 6,
            1 / 8 - 3 * nu / 8,
        ]
    )
    order = np.array(
        [
            [0, 1, 2, 3, 4, 5, 6, 7],
            [1, 0, 7, 6, 5, 4, 3, 2],
            [2, 7, 0, 5, 6, 3, 4, 1],
            [3, 6, 5, 0, 7, 2, 1, 4],
            [4, 5, 6, 7, 0, 1, 2, 3],
            [5, 4, 3, 2, 1, 0, 7, 6],
            [6, 3, 4, 1, 2, 7, 0, 5],
            [7, 2, 1, 4, 3, 6, 5, 0],
        ]
    )
    return k[order] / (1 - nu**2)


KE = element_stiffness()
ELX, ELY = np.meshgrid(np.arange(NELX), np.arange(NELY))  # of each element, as x[ely, elx]
UPPER = ((NELY + 1) * ELX + ELY).ravel()  # the node at its upper left
EDOF = 2 * UPPER[:, None] + np.array([0, 1, 2 * NELY + 2, 2 * NELY + 3, 2 * NELY + 4, 2 * NELY + 5, 2, 3])
NDOF = 2 * (NELX + 1) * (NELY + 1)
FIXED = np.union1d(np.arange(0, 2 * (NELY + 1), 2), [NDOF - 1])
FREE = np.setdiff1d(np.arange(NDOF), FIXED)


def modulus(x):
    return SOFTEST + x**PENAL * (1 - SOFTEST)


def displacements(x):
    """Those of all nodes under a unit load in the middle of the beam, of which the right half is computed."""
    rows, cols = np.repeat(EDOF, 8, axis=1).ravel(), np.tile(EDOF, (1, 8)).ravel()
    data = (modulus(x).reshape(-1, 1, 1) * KE).ravel()
    K = coo_matrix((data, (rows, cols)), shape=(NDOF, NDOF)).tocsc()
    F = np.zeros(NDOF)
    F[1] = -1.0
    U = np.zeros(NDOF)
    U[FREE] = spsolve(K[FREE, :][:, FREE], F[FREE])
    return U


def compliance(x):
    """The work of the load: the sum of E(x) u^T K_e u over the elements with densities x."""
    ue = displacements(x)[EDOF]
    return np.sum(modulus(x).ravel() * np.sum((ue @ KE) * ue, axis=1))


def by_hand(x):
    """The sensitivities of the paper: -p x^(p - 1) u^T K_e u."""
    ue = displacements(x)[EDOF]
    return -(1 - SOFTEST) * PENAL * x ** (PENAL - 1) * np.sum((ue @ KE) * ue, axis=1).reshape(x.shape)


def filtered(x, dc):
    """Means of the sensitivities over the neighbours, against checkerboards."""
    total, weights = np.zeros_like(x), np.zeros_like(x)
    reach = int(RMIN)
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            weight = max(0.0, RMIN - np.hypot(i, j))
            here = np.s_[max(0, -i) : NELY - max(0, i), max(0, -j) : NELX - max(0, j)]
            there = np.s_[max(0, i) : NELY - max(0, -i), max(0, j) : NELX - max(0, -j)]
            total[here] += weight * (x * dc)[there]
            weights[here] += weight
    return total / (np.maximum(0.001, x) * weights)


def updated(x, dc, move=0.2):
    """The optimality criteria: each density times a root of its sensitivity over a multiplier, found by bisection."""
    low, high = 0.0, 1e9
    while (high - low) / (high + low) > 1e-3:
        middle = (low + high) / 2
        new = np.clip(x * np.sqrt(-dc / middle), np.maximum(0.0, x - move), np.minimum(1.0, x + move))
        low, high = (middle, high) if np.sum(new) > VOLFRAC * NELX * NELY else (low, middle)
    return new


def optimise(sensitivities=by_hand, most=200):
    """The densities of the stiffest beam before the first step that changes none by more than 0.01, and its number."""
    new, change, steps = np.full((NELY, NELX), VOLFRAC), 1.0, 0
    while change > 0.01 and steps < most:
        x = new
        new = updated(x, filtered(x, sensitivities(x)))
        change, steps = np.max(np.abs(new - x)), steps + 1
    return x, steps


def main():
    x, steps = optimise()
    print(f"compliance {compliance(x):.2f} after {steps} steps, from {compliance(np.full((NELY, NELX), VOLFRAC)):.2f}")
    for row in x[::2]:
        print("".join(" .:oO@"[int(5.99 * value)] for value in row))


if __name__ == "__main__":
    main()
