"""A logistic regression whose fit is part of the program: how a prediction follows from the weight of each observation."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def data(n=60, seed=4):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 2))])
    return X, (rng.random(n) < expit(X @ [0.3, 1.5, -1.0])).astype(float)


def loss(beta, weights, X, y):
    z = X @ beta
    return np.sum(weights * (np.logaddexp(0.0, z) - y * z)) + 0.5 * np.sum(beta**2)


def slope(beta, weights, X, y):
    return X.T @ (weights * (expit(X @ beta) - y)) + beta


def curvature(beta, weights, X, y):
    p = expit(X @ beta)
    return (X * (weights * p * (1 - p))[:, None]).T @ X + np.eye(len(beta))


def fit(weights, X, y):
    how = {"jac": slope, "hess": curvature, "method": "trust-exact", "options": {"gtol": 1e-12}}
    return minimize(loss, np.zeros(X.shape[1]), args=(weights, X, y), **how).x


def prediction(weights, at=np.array([1.0, 0.5, -0.5])):
    """The probability at a new place."""
    X, y = data()
    return expit(at @ fit(weights, X, y))


def left_out(i):
    """The prediction without an observation, fitted anew."""
    weights = np.ones(60)
    weights[i] = 0.0
    return prediction(weights)


def main():
    print(f"prediction {prediction(np.ones(60)):.6f}")
    changes = [left_out(i) - prediction(np.ones(60)) for i in range(0, 60, 12)]
    print("without observations 0, 12, ...:", np.array(changes).round(5))


if __name__ == "__main__":
    main()
