"""Laplace's approximation: the posterior of a regression is a Gaussian at its mode, with the Hessian as precision."""

import numpy as np
from scipy.optimize import minimize

import pullback as pb


def data(n=80, seed=0):
    """Points on a line and whether something happened there."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n)
    return x, (rng.uniform(size=n) < 1 / (1 + np.exp(-(0.5 + 1.5 * x)))).astype(float)


def minus_log_joint(w, x, y):
    """Of logistic regression with a Gaussian prior of width 2 on both weights, its constant included."""
    score = w[0] + w[1] * x
    return np.sum(np.logaddexp(0.0, score) - y * score) + np.sum(w**2) / 8 + np.log(2 * np.pi * 4)


def laplace(function, start):
    """(mode, covariance, log evidence)."""
    found = minimize(function, start, jac=pb.func.grad(function), hess=pb.func.hessian(function), method="trust-exact")
    precision = pb.func.hessian(function)(found.x)
    evidence = -found.fun + found.x.size / 2 * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1] / 2
    return found.x, np.linalg.inv(precision), evidence


def main():
    """Compare with the integral over a grid."""
    x, y = data()
    mode, covariance, evidence = laplace(lambda w: minus_log_joint(w, x, y), np.zeros(2))
    a = [np.linspace(m - 6 * s, m + 6 * s, 121) for m, s in zip(mode, np.sqrt(np.diag(covariance)), strict=True)]
    grid = np.array([[-minus_log_joint(np.array([u, v]), x, y) for v in a[1]] for u in a[0]])
    exact = np.log(np.sum(np.exp(grid - grid.max()))) + grid.max() + np.log(np.prod([b[1] - b[0] for b in a]))
    print(f"weights {mode.round(2)} +- {np.sqrt(np.diag(covariance)).round(2)}")
    print(f"log evidence {evidence:.3f}, by integration {exact:.3f}")
    return evidence, exact


if __name__ == "__main__":
    main()
