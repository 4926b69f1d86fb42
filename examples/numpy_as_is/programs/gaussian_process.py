"""The evidence of a Gaussian process: length scale, amplitude and noise."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

T = np.array([0.1, 0.5, 0.9, 1.3, 2.2, 2.9, 3.1, 4.0])
Y = np.sin(T) + np.array([0.05, -0.1, 0.02, 0.08, -0.04, 0.03, -0.06, 0.01])


def kernel(a, b, amplitude, length):
    d = np.subtract.outer(a, b) / length
    return amplitude**2 * (1 + np.sqrt(5) * abs(d) + 5 / 3 * d**2) * np.exp(-np.sqrt(5) * abs(d))


def log_evidence(theta):
    amplitude, length, noise = np.exp(theta)
    K = kernel(T, T, amplitude, length)
    K[np.diag_indices_from(K)] += noise**2
    c, low = cho_factor(K, lower=True)
    weights = cho_solve((c, low), Y)
    return -0.5 * Y @ weights - np.log(np.diag(c)).sum() - 0.5 * len(T) * np.log(2 * np.pi)


def main():
    print("log evidence:", log_evidence(np.log([1.0, 1.0, 0.1])))


if __name__ == "__main__":
    main()
