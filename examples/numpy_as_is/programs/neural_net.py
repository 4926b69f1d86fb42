"""A small neural network that learns the two spirals; its weights are a dictionary of arrays."""

import numpy as np


def spirals(n=30):
    t = np.linspace(0.5, 3.5, n)
    one = np.c_[t * np.cos(2 * t), t * np.sin(2 * t)]
    return np.r_[one, -one] / 3.5, np.repeat([0, 1], n)


def initial_weights(hidden=12, seed=0):
    np.random.seed(seed)
    return {
        "W1": np.random.randn(2, hidden) * 2.0,
        "b1": np.zeros(hidden),
        "W2": np.random.randn(hidden, 2) / np.sqrt(hidden),
        "b2": np.zeros(2),
    }


def forward(weights, X):
    h = X @ weights["W1"] + weights["b1"]
    h = np.maximum(h, 0.1 * h)
    scores = h @ weights["W2"] + weights["b2"]
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    return p


def cross_entropy(weights, data=spirals()):
    X, y = data
    p = forward(weights, X)
    loss = -np.log(p[range(len(y)), y]).mean()
    loss += 1e-3 * sum((weights[name] ** 2).sum() for name in ("W1", "W2"))
    return loss


def main():
    weights = initial_weights()
    X, y = spirals()
    print("loss", cross_entropy(weights), "right", (forward(weights, X).argmax(axis=1) == y).mean())


if __name__ == "__main__":
    main()
