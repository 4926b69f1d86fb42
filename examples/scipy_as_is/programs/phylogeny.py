"""How long ago five apes parted: Felsenstein's pruning of a tree under the HKY model of substitutions."""

import numpy as np
from scipy.linalg import expm

FREQUENCIES = np.array([0.32, 0.28, 0.12, 0.28])  # A C G T
TREE = (((("human", "chimp"), "gorilla"), "orang"), "gibbon")
ALIGNMENT = {
    "human": "ACCTAGCTTAACGGATCCTAAGCATTACCA",
    "chimp": "ACCTAGCTTAACGGATCTTAAGCATTACCA",
    "gorilla": "ACCTAGTTTAACGAATCTTAAGCACTACCA",
    "orang": "ATCTAGTTCAACGAACCTTAAACACTGCCA",
    "gibbon": "GTCTGGTTCAATGAACCTTAGACACTGCTA",
}


def rates(kappa):
    """The HKY matrix, one substitution a unit of time on average."""
    Q = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            if i != j:
                Q[i, j] = FREQUENCIES[j] * (kappa if abs(i - j) == 2 else 1.0)
        Q[i, i] = -np.sum(Q[i])
    return Q / -np.sum(FREQUENCIES * np.diag(Q))


def leaf(name):
    return np.eye(4)[["ACGT".index(letter) for letter in ALIGNMENT[name]]]


def prune(tree, Q, lengths):
    """The likelihood of what lies below a node, by site and by its own letter; branches are taken from `lengths`."""
    if isinstance(tree, str):
        return leaf(tree)
    below = 1.0
    for child in tree:
        part = prune(child, Q, lengths)
        below = below * (part @ expm(Q * next(lengths)).T)
    return below


def log_likelihood(theta):
    """By the logarithms of kappa and of the eight branches."""
    lengths = iter(np.exp(theta[1:]))
    sites = prune(TREE, rates(np.exp(theta[0])), lengths) @ FREQUENCIES
    return np.sum(np.log(sites))


START = np.log(np.array([4.0, 0.02, 0.03, 0.05, 0.06, 0.08, 0.1, 0.1, 0.15]))


def main():
    print(f"log likelihood {log_likelihood(START):.4f}")
    for kappa in (1.0, 4.0, 16.0):
        theta = START.copy()
        theta[0] = np.log(kappa)
        print(f"kappa {kappa:4.0f}: {log_likelihood(theta):.4f}")


if __name__ == "__main__":
    main()
