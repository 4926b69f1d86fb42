"""Optimal transport between two clouds of points, by Sinkhorn's iteration in logarithms."""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp


def clouds(n=30, seed=6):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.standard_normal((n, 2))
    return 0.4 * rng.standard_normal((n, 2)), ring


def sinkhorn(x, y, eps=0.1, iterations=60):
    """The regularised cost, and the plan."""
    cost = cdist(x, y, "sqeuclidean")
    log_a, log_b = -np.log(len(x)), -np.log(len(y))
    f, g = np.zeros(len(x)), np.zeros(len(y))
    for _ in range(iterations):
        f = -eps * logsumexp((g - cost) / eps + log_b, axis=1)
        g = -eps * logsumexp((f[:, None] - cost) / eps + log_a, axis=0)
    plan = np.exp((f[:, None] + g - cost) / eps + log_a + log_b)
    return np.sum(plan * cost), plan


def distance(x, y):
    return sinkhorn(x, y)[0]


def main():
    x, y = clouds()
    cost, plan = sinkhorn(x, y)
    print(f"cost {cost:.5f}; the rows sum to 1/30 within {np.abs(plan.sum(1) - 1 / 30).max():.1e}")


if __name__ == "__main__":
    main()
