"""The reflectance of a stack of thin films, by complex transfer matrices."""

import numpy as np

INDICES = np.array([1.38, 2.3, 1.38, 2.3])  # MgF2 and ZnS, by turns
GLASS = 1.52
WAVELENGTHS = np.linspace(450e-9, 650e-9, 9)


def reflectance(thicknesses, wavelength):
    M = np.eye(2, dtype=complex)
    for n, d in zip(INDICES, thicknesses):
        delta = 2 * np.pi * n * d / wavelength
        layer = np.zeros((2, 2), dtype=complex)
        layer[0, 0] = np.cos(delta)
        layer[0, 1] = 1j * np.sin(delta) / n
        layer[1, 0] = 1j * n * np.sin(delta)
        layer[1, 1] = layer[0, 0]
        M = M @ layer
    B, C = M @ np.array([1.0, GLASS])
    r = (B - C) / (B + C)
    return abs(r) ** 2


def mean_reflectance(nanometres):
    R = np.zeros(len(WAVELENGTHS))
    for i, wavelength in enumerate(WAVELENGTHS):
        R[i] = reflectance(nanometres * 1e-9, wavelength)
    return R.mean()


def main():
    quarter = 550 / (4 * INDICES)
    print("quarter-wave stack:", mean_reflectance(quarter))


if __name__ == "__main__":
    main()
