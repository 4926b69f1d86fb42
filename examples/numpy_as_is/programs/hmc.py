"""Hamiltonian Monte Carlo for a correlated Gaussian; how do the samples move with its width and correlation?"""

import numpy as np


def potential(q, width, rho):
    x, y = q
    return (x**2 - 2 * rho * x * y + y**2) / (2 * width**2 * (1 - rho**2))


def force(q, width, rho):
    g = np.empty(2)
    g[0] = q[0] - rho * q[1]
    g[1] = q[1] - rho * q[0]
    g /= width**2 * (1 - rho**2)
    return -g


def sample(width, rho, n_samples=25, eps=0.15, n_steps=8, seed=3):
    np.random.seed(seed)
    chain = np.zeros((n_samples, 2))
    q = np.array([1.0, -0.5])
    accepted = 0
    for n in range(n_samples):
        p = np.random.normal(size=2)
        q_new, p_new = q.copy(), p.copy()
        p_new += 0.5 * eps * force(q_new, width, rho)
        for step in range(n_steps):
            q_new += eps * p_new
            if step != n_steps - 1:
                p_new += eps * force(q_new, width, rho)
        p_new += 0.5 * eps * force(q_new, width, rho)
        old = potential(q, width, rho) + 0.5 * p @ p
        new = potential(q_new, width, rho) + 0.5 * p_new @ p_new
        if np.log(np.random.rand()) < old - new:
            q = q_new
            accepted += 1
        chain[n] = q
    return chain, accepted / n_samples


def spread(width, rho):
    """The variance of the sum of both coordinates along the chain."""
    chain, _ = sample(width, rho)
    return np.var(chain.sum(axis=1))


def main():
    chain, rate = sample(1.2, 0.6)
    print(f"accepted {100 * rate:.0f} %, mean {chain.mean(axis=0)}, covariance")
    print(np.cov(chain, rowvar=False))


if __name__ == "__main__":
    main()
