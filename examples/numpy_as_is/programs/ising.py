"""The Ising model: the chain exactly, by its transfer matrix, and the square lattice in mean-field theory."""

import numpy as np


def chain_free_energy(J, h, T):
    beta = 1.0 / T
    transfer = np.zeros((2, 2))
    for i, s in enumerate((1, -1)):
        for j, t in enumerate((1, -1)):
            transfer[i, j] = np.exp(beta * (J * s * t + 0.5 * h * (s + t)))
    return -T * np.log(np.linalg.eigvalsh(transfer)[-1])


def mean_field_magnetization(J, h, T, neighbours=4):
    m = 0.5
    for _ in range(500):
        previous = m
        m = np.tanh((neighbours * J * m + h) / T)
        if abs(m - previous) < 1e-13:
            break
    return m


def difference(J, h, T):
    """Magnetization of the lattice in mean field, minus that of the chain: -dF/dh in its closed form."""
    chain = np.sinh(h / T) / np.sqrt(np.sinh(h / T) ** 2 + np.exp(-4 * J / T))
    return mean_field_magnetization(J, h, T) - chain + chain_free_energy(J, h, T)


def main():
    for T in (1.0, 2.0, 3.0, 5.0):
        print(f"T = {T}: F = {chain_free_energy(1.0, 0.1, T):.6f}, m = {mean_field_magnetization(1.0, 0.1, T):.6f}")


if __name__ == "__main__":
    main()
