"""A hidden Markov model of a noisy record that jumps between three levels, fitted by maximum likelihood."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm

LEVELS, NOISE = np.array([-2.0, 0.5, 3.0]), np.array([0.4, 0.8, 0.5])
STAY = np.array([[0.92, 0.06, 0.02], [0.05, 0.9, 0.05], [0.02, 0.08, 0.9]])


def record(n=300, seed=2):
    rng = np.random.default_rng(seed)
    states = [0]
    for _ in range(n - 1):
        states.append(rng.choice(3, p=STAY[states[-1]]))
    return LEVELS[states] + NOISE[states] * rng.standard_normal(n)


def unpack(theta):
    means, log_scales = theta[:3], theta[3:6]
    return means, np.exp(log_scales), log_softmax(theta[6:15].reshape(3, 3), axis=1)


def forward(theta, y):
    """The logarithms of the filtered joint probabilities, one row a time."""
    means, scales, log_transition = unpack(theta)
    log_density = norm.logpdf(y[:, None], loc=means, scale=scales)
    alpha = np.zeros((len(y), 3))
    alpha[0] = log_density[0] - np.log(3)
    for t in range(1, len(y)):
        alpha[t] = log_density[t] + logsumexp(alpha[t - 1][:, None] + log_transition, axis=0)
    return alpha


def negative_log_likelihood(theta, y):
    return -logsumexp(forward(theta, y)[-1])


def start(y):
    return np.concatenate([np.quantile(y, [0.1, 0.5, 0.9]), np.zeros(3), 2.0 * np.eye(3).ravel()])


def main():
    y = record(120)
    theta = start(y)
    print(f"-log likelihood at the start {negative_log_likelihood(theta, y):.4f}")
    found = minimize(negative_log_likelihood, theta, args=(y,), method="BFGS", options={"maxiter": 8})
    print(f"after 8 steps of BFGS {found.fun:.4f}, with {found.nfev} evaluations: differences are dear")


if __name__ == "__main__":
    main()
