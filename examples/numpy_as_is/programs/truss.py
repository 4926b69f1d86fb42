"""A truss of bars: the stiffness matrix is assembled bar by bar, the deflection solved for."""

import numpy as np
import scipy.linalg as la

NODES = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.5, 0.8], [1.5, 0.8]])
BARS = [(0, 1), (1, 2), (0, 3), (1, 3), (1, 4), (2, 4), (3, 4)]
FIXED = [0, 1, 5]


def stiffness(areas, E=2.0):
    K = np.zeros((2 * len(NODES), 2 * len(NODES)))
    for area, (i, j) in zip(areas, BARS):
        d = NODES[j] - NODES[i]
        L = la.norm(d)
        c, s = d / L
        B = np.array([-c, -s, c, s])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += E * area / L * np.outer(B, B)
    return K


def deflection(areas):
    load = np.zeros(2 * len(NODES))
    load[3] = -1.0
    free = np.setdiff1d(np.arange(len(load)), FIXED)
    u = np.zeros_like(load)
    u[free] = la.solve(stiffness(areas)[np.ix_(free, free)], load[free], assume_a="pos")
    return u.reshape(-1, 2)


def cost(areas):
    """Compliance and weight."""
    lengths = np.array([la.norm(NODES[j] - NODES[i]) for i, j in BARS])
    return -deflection(areas)[1, 1] + 0.1 * np.dot(areas, lengths)


def main():
    areas = np.ones(len(BARS))
    print(deflection(areas))
    print("cost:", cost(areas))


if __name__ == "__main__":
    main()
