"""The likelihood of a DNA sequence under a hidden Markov model of two kinds of regions: the forward algorithm in logs."""

import numpy as np
from scipy.special import logsumexp

SEQUENCE = "GGCACTGAATTTATAGCGCGGCATTAATAC"


def forward(log_start, log_transitions, log_emissions, observed):
    T, K = len(observed), len(log_start)
    alpha = np.full((T, K), -np.inf)
    alpha[0] = log_start + log_emissions[:, observed[0]]
    for t in range(1, T):
        for k in range(K):
            alpha[t, k] = logsumexp(alpha[t - 1] + log_transitions[:, k]) + log_emissions[k, observed[t]]
    return logsumexp(alpha[-1])


def log_softmax(scores):
    return scores - logsumexp(scores, axis=-1, keepdims=True)


def log_likelihood(transition_scores, emission_scores):
    observed = np.array(["ACGT".index(letter) for letter in SEQUENCE])
    start = np.log(np.full(len(transition_scores), 1 / len(transition_scores)))
    return forward(start, log_softmax(transition_scores), log_softmax(emission_scores), observed)


TRANSITIONS = np.array([[2.0, 0.0], [0.5, 1.5]])
EMISSIONS = np.array([[0.2, -0.1, 0.0, 0.3], [-0.5, 0.6, 0.4, -0.4]])


def main():
    print("log likelihood:", log_likelihood(TRANSITIONS, EMISSIONS))


if __name__ == "__main__":
    main()
