"""Parallel tempering in a double well: chains at several temperatures, which swap their states."""

from math import exp

import numpy as np


def energy(x, depth):
    return depth * (x * x - 1) ** 2


def temper(depth, step, n_steps=200, seed=7):
    rng = np.random.RandomState(seed)
    temperatures = np.array([0.2, 0.5, 1.5])
    states = np.array([-1.0, 0.0, 1.0])
    history = np.zeros((n_steps, len(states)))
    swaps = 0
    for n in range(n_steps):
        for k, T in enumerate(temperatures):
            proposal = states[k] + step * rng.randn()
            dE = energy(proposal, depth) - energy(states[k], depth)
            if dE < 0 or rng.rand() < exp(-dE / T):
                states[k] = proposal
        k = rng.randint(len(states) - 1)
        gap = (1 / temperatures[k] - 1 / temperatures[k + 1]) * (
            energy(states[k], depth) - energy(states[k + 1], depth)
        )
        if gap > 0 or rng.rand() < exp(gap):
            states[k], states[k + 1] = states[k + 1], states[k]
            swaps += 1
        history[n] = states
    return history, swaps


def coldest_energy(depth, step):
    history, _ = temper(depth, step)
    return energy(history[20:, 0], depth).mean()


def main():
    history, swaps = temper(2.0, 0.6)
    print(swaps, "swaps; mean of |x|:", np.abs(history).mean(axis=0))
    print("energy of the coldest chain:", coldest_energy(2.0, 0.6))


if __name__ == "__main__":
    main()
