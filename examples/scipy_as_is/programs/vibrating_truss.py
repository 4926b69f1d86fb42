"""The lowest frequency of a truss, by the areas of its bars: a generalised eigenvalue problem."""

import numpy as np
from scipy.linalg import eigh

E, RHO = 210e9, 7800.0
NODES = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1], [3, 0], [3, 1]], dtype=float)
BARS = [
    (0, 2),
    (1, 3),
    (0, 3),
    (1, 2),
    (2, 3),
    (2, 4),
    (3, 5),
    (2, 5),
    (3, 4),
    (4, 5),
    (4, 6),
    (5, 7),
    (4, 7),
    (5, 6),
    (6, 7),
]
FREE = np.arange(4, 16)  # the first two nodes stand on the wall


def assemble(areas):
    K, M = np.zeros((16, 16)), np.zeros((16, 16))
    for area, (i, j) in zip(areas, BARS):
        d = NODES[j] - NODES[i]
        length = np.hypot(*d)
        c = d / length
        block = np.outer(c, c) * E * area / length
        here = np.ix_([2 * i, 2 * i + 1], [2 * i, 2 * i + 1])
        there = np.ix_([2 * j, 2 * j + 1], [2 * j, 2 * j + 1])
        across = np.ix_([2 * i, 2 * i + 1], [2 * j, 2 * j + 1])
        K[here] += block
        K[there] += block
        K[across] -= block
        K[there[0], here[1]] -= block
        mass = RHO * area * length / 6
        M[here] += 2 * mass * np.eye(2)
        M[there] += 2 * mass * np.eye(2)
        M[across] += mass * np.eye(2)
        M[there[0], here[1]] += mass * np.eye(2)
    return K[np.ix_(FREE, FREE)], M[np.ix_(FREE, FREE)]


def frequencies(areas, count=3):
    """In Hz, the lowest ones."""
    K, M = assemble(areas)
    values = eigh(K, M, eigvals_only=True, subset_by_index=[0, count - 1])
    return np.sqrt(values) / (2 * np.pi)


def lowest(areas):
    return frequencies(areas)[0]


def main():
    areas = np.full(len(BARS), 1e-3)
    print("Hz:", frequencies(areas).round(3))
    areas[:5] *= 2
    print("with thicker bars at the wall:", frequencies(areas).round(3))


if __name__ == "__main__":
    main()
