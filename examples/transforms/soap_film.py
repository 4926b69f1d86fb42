"""A soap film over a wire: 10,000 heights that make its area least, with a sparse Hessian in trust-constr."""

import numpy as np
from scipy.optimize import minimize

import pullback as pb

N = 100  # heights along each side, between those of the wire


def wire():
    """The heights along the four sides: a wave on two of them."""
    s = np.linspace(0, 1, N + 2)
    frame = np.zeros((N + 2, N + 2))
    frame[0], frame[-1] = np.sin(2 * np.pi * s), -np.sin(2 * np.pi * s)
    return frame


FRAME = wire()


def area(x):
    """The area of the film: four triangles' mean at each square of the grid."""
    inner = np.concatenate([FRAME[1:-1, :1], x.reshape(N, N), FRAME[1:-1, -1:]], 1)
    z = np.concatenate([FRAME[:1], inner, FRAME[-1:]]) * (N + 1)
    dx, dy = z[:, 1:] - z[:, :-1], z[1:] - z[:-1]
    first = np.sqrt(1 + dx[:-1] ** 2 + dy[:, :-1] ** 2)
    second = np.sqrt(1 + dx[1:] ** 2 + dy[:, 1:] ** 2)
    return np.sum(first + second) / 2 / (N + 1) ** 2


def main():
    """Find the pattern of the Hessian once, colour it, and let SciPy minimise."""
    start = np.zeros(N * N)
    coloring = pb.func.color_hessian(pb.func.hessian_sparsity(area)(start))
    print(coloring)
    found = minimize(
        area,
        start,
        method="trust-constr",
        jac=pb.func.grad(area),
        hess=pb.func.sparse_hessian(area, sparsity=coloring),
        options={"gtol": 1e-7, "xtol": 1e-12, "maxiter": 200},
    )
    print(f"area {area(start):.4f} flat inside, {found.fun:.4f} at least, |gradient| {found.optimality:.1e}")
    return coloring, found


if __name__ == "__main__":
    main()
