"""Integrals with parameters: how long a pendulum swings, and how much a hot body radiates in a band of colours."""

import numpy as np
from scipy.integrate import dblquad, quad

PLANCK, LIGHT, BOLTZMANN = 6.62607015e-34, 2.99792458e8, 1.380649e-23


def period(amplitude, length, g=9.81):
    """Of a pendulum, whatever its amplitude."""
    k = np.sin(amplitude / 2)
    quarter, error = quad(lambda phi: 1 / np.sqrt(1 - (k * np.sin(phi)) ** 2), 0, np.pi / 2)
    return 4 * np.sqrt(length / g) * quarter


def planck(x):
    return x**3 / np.expm1(x)


def radiated(temperature, shortest, longest):
    """What a black body radiates between two wavelengths, in W/m^2."""
    x = PLANCK * LIGHT / BOLTZMANN / temperature
    share = quad(planck, x / longest, x / shortest)[0]
    return 2 * np.pi * (BOLTZMANN * temperature) ** 4 / (PLANCK**3 * LIGHT**2) * share


def radiated_in_all(temperature):
    """The same, of all wavelengths: the law of Stefan and Boltzmann."""
    a = PLANCK * 1e14 / (BOLTZMANN * temperature)

    def by_frequency(nu):
        return nu**3 * np.exp(-a * nu) / -np.expm1(-a * nu)

    return 2 * np.pi * PLANCK * 1e14**4 / LIGHT**2 * quad(by_frequency, 0, np.inf)[0]


def attraction(distance, width):
    """Of a square plate, on a point above its middle."""

    def pull(y, x):
        return distance / (x**2 + y**2 + distance**2) ** 1.5

    return dblquad(pull, -width / 2, width / 2, -width / 2, width / 2)[0]


def main():
    print(f"a pendulum of 1 m: {period(0.1, 1.0):.6f} s at 0.1 rad, {period(2.0, 1.0):.6f} s at 2 rad")
    print(f"the sun's light that is seen: {radiated(5772.0, 380e-9, 750e-9) / radiated_in_all(5772.0):.4f} of all")
    print(f"a plate: {attraction(0.5, 2.0):.6f}")


if __name__ == "__main__":
    main()
