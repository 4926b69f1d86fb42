"""The temperature of a plate whose edges are held at given temperatures, by Gauss-Seidel sweeps in place."""

import numpy as np

N = 8


def solve(edges, sweeps=60):
    top, bottom, left, right = edges
    u = np.zeros((N, N))
    u[0, :] = top
    u[-1, :] = bottom
    u[:, 0] = left
    u[:, -1] = right
    for _ in range(sweeps):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                old = u[i, j]
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                u[i, j] += 0.3 * (u[i, j] - old)
    return u


def discomfort(edges):
    """How far the middle of the plate is from 20 degrees, and how uneven it is."""
    u = solve(edges, sweeps=15)
    middle = u[2:-2, 2:-2]
    return (middle.mean() - 20.0) ** 2 + middle.std()


def main():
    edges = np.array([80.0, 10.0, 25.0, 5.0])
    np.set_printoptions(precision=1, suppress=True)
    print(solve(edges))
    print("discomfort:", discomfort(edges))


if __name__ == "__main__":
    main()
