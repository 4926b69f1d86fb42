"""k-means, hard and soft: how does what it finds move with the points?"""

import numpy as np


def points(seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [3.0, 1.0], [1.0, 3.5]])
    return np.vstack([c + 0.6 * rng.standard_normal((5, 2)) for c in centres])


def hard(X, k=3, iterations=10):
    centres = X[:: len(X) // k][:k].copy()
    for _ in range(iterations):
        distances = np.zeros((len(X), k))
        for j in range(k):
            distances[:, j] = ((X - centres[j]) ** 2).sum(axis=1)
        labels = distances.argmin(axis=1)
        for j in range(k):
            if np.any(labels == j):
                centres[j] = X[labels == j].mean(axis=0)
    return centres, labels


def soft(X, stiffness=2.0, k=3, iterations=8):
    centres = X[:: len(X) // k][:k].copy()
    for _ in range(iterations):
        d = ((X[:, np.newaxis, :] - centres) ** 2).sum(-1)
        w = np.exp(-stiffness * d)
        w /= w.sum(axis=1, keepdims=True)
        centres = (w.T @ X) / w.sum(axis=0)[:, None]
    return centres, w


def inertia(X):
    centres, labels = hard(X)
    return np.sum((X - centres[labels]) ** 2)


def entropy(X):
    _, w = soft(X)
    return -(w * np.log(w)).sum() / len(X)


def main():
    X = points()
    centres, labels = hard(X)
    print(centres, labels)
    print("inertia", inertia(X), "entropy", entropy(X))


if __name__ == "__main__":
    main()
