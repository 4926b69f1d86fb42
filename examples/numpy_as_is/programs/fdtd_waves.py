"""Electromagnetic waves through a dielectric, by finite differences in time (Yee), in slices in place."""

import numpy as np

CELLS = 60


def simulate(permittivity, steps=150):
    Ez = np.zeros(CELLS)
    Hy = np.zeros(CELLS - 1)
    c = 0.5
    record = np.zeros((steps, CELLS))
    for n in range(steps):
        Hy += c * (Ez[1:] - Ez[:-1])
        left, right = Ez[1], Ez[-2]
        Ez[1:-1] += c / permittivity[1:-1] * (Hy[1:] - Hy[:-1])
        Ez[12] += np.exp(-(((n - 25) / 8) ** 2))
        Ez[0] = Ez[0] + (c - 1) / (c + 1) * (Ez[1] - Ez[0])
        Ez[-1] = right
        Ez[0] = left
        record[n] = Ez
    return record


def medium(slab):
    permittivity = np.ones(CELLS)
    permittivity[30 : 30 + len(slab)] = slab
    return permittivity


def transmitted(slab):
    """The energy that has passed behind the slab."""
    record = simulate(medium(slab))
    return (record[:, 50:] ** 2).sum()


def main():
    print("without a slab:", transmitted(np.ones(8)))
    print("with a slab:   ", transmitted(np.full(8, 4.0)))


if __name__ == "__main__":
    main()
