"""A Gaussian process with Matern kernels: the evidence of its hyperparameters, and what it predicts."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular


def measurements(n=60, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 2))
    return X, np.sin(2 * X[:, 0]) * np.exp(-0.3 * X[:, 1]) + 0.1 * rng.standard_normal(n)


def distances(A, B, lengths):
    apart = (A[:, None, :] - B[None, :, :]) / lengths
    return np.sqrt(np.maximum(np.sum(apart**2, axis=-1), 1e-24))


def matern(A, B, lengths, smoothness):
    r = distances(A, B, lengths)
    if smoothness == 1.5:
        r = np.sqrt(3) * r
        return (1 + r) * np.exp(-r)
    r = np.sqrt(5) * r
    return (1 + r + r**2 / 3) * np.exp(-r)


def covariance(X, theta, smoothness):
    """theta: the logarithms of amplitude, of two lengths, and of the noise."""
    amplitude, lengths, noise = np.exp(2 * theta[0]), np.exp(theta[1:3]), np.exp(2 * theta[3])
    K = amplitude * matern(X, X, lengths, smoothness)
    K[np.diag_indices_from(K)] += noise
    return K


def negative_log_evidence(theta, smoothness=2.5):
    X, y = measurements()
    c, lower = cho_factor(covariance(X, theta, smoothness), lower=True)
    half = solve_triangular(c, y, lower=lower)
    return 0.5 * half @ half + np.sum(np.log(np.diag(c))) + 0.5 * len(y) * np.log(2 * np.pi)


def prediction(theta, at, smoothness=1.5):
    """The mean of the process at new points."""
    X, y = measurements()
    amplitude, lengths = np.exp(2 * theta[0]), np.exp(theta[1:3])
    weights = cho_solve(cho_factor(covariance(X, theta, smoothness)), y)
    return amplitude * matern(at, X, lengths, smoothness) @ weights


def lowest(theta, places):
    """How low the process gets at some points, by hyperparameters and points."""
    return np.min(prediction(theta, places.reshape(-1, 2)))


def main():
    theta = np.log([0.8, 0.7, 1.5, 0.1])
    for smoothness in (1.5, 2.5):
        print(f"Matern {smoothness}: -log evidence {negative_log_evidence(theta, smoothness):.4f}")
    print("prediction", prediction(theta, np.array([[1.0, 1.0], [2.0, 3.0]])).round(4))


if __name__ == "__main__":
    main()
