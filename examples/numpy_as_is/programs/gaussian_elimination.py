"""Currents in a network of resistors, by Gaussian elimination in place with row pivots."""

import numpy as np


def solve(A, b):
    A = np.array(A, dtype=float)
    b = np.array(b, dtype=float)
    n = len(b)
    for k in range(n - 1):
        p = k + np.argmax(abs(A[k:, k]))
        if A[p, k] == 0:
            raise ValueError("the matrix is singular")
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(A[i, i + 1 :], x[i + 1 :])) / A[i, i]
    return x


def bridge_currents(resistances, voltage=10.0):
    """Mesh currents of a Wheatstone bridge: R1 to R4 around, R5 across, R0 at the source."""
    R0, R1, R2, R3, R4, R5 = resistances
    A = [
        [R0 + R1 + R3, -R1, -R3],
        [-R1, R1 + R2 + R5, -R5],
        [-R3, -R5, R3 + R4 + R5],
    ]
    return solve(A, [voltage, 0, 0])


def bridge_current(resistances):
    currents = bridge_currents(resistances)
    return currents[1] - currents[2]


def main():
    R = np.array([1.0, 100.0, 220.0, 105.0, 218.0, 50.0])
    print("mesh currents:", bridge_currents(R))
    print("current through the bridge:", bridge_current(R))


if __name__ == "__main__":
    main()
