"""A flat lens by inverse design: where to put glass so that a plane wave meets in a point.

Maxwell's equations for E_z in two dimensions, by finite differences in the frequency domain (FDFD): complex because of
the layers that absorb at the edges (a stretched coordinate, as W. Shin and S. Fan write it).
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

NX, NY, STEP, LAYERS = 70, 60, 0.05, 10  # cells; in wavelengths
OMEGA = 2 * np.pi  # of wavelength 1, with c = 1
LENS = np.s_[20:28, 15:45]
FOCUS = (50, 30)
GLASS = 6.25


def stretched(n):
    """1 / (1 + i sigma / omega) at the n cells, and half a cell before them."""
    found = []
    for shift in (0.5, 0.0):
        depth = np.arange(n) + shift
        into = np.maximum(0, np.maximum(LAYERS - depth, depth - (n - LAYERS))) / LAYERS
        found.append(1 / (1 + 40.0 * into**3 * 1j / OMEGA))
    return found


def second_difference(n):
    at, between = stretched(n)
    forward = sparse.diags_array([-np.ones(n), np.ones(n - 1)], offsets=[0, 1], format="csr") / STEP
    backward = -forward.T
    return sparse.diags_array(between) @ backward @ sparse.diags_array(at) @ forward


LAPLACE = (
    sparse.kron(second_difference(NX), sparse.eye_array(NY)) + sparse.kron(sparse.eye_array(NX), second_difference(NY))
).tocsc()
CURRENT = np.zeros((NX, NY))
CURRENT[14, 12:48] = 1.0


def field(density):
    """E_z, with glass where the density is 1 and air where it is 0."""
    epsilon = np.ones((NX, NY))
    epsilon[LENS] = 1 + (GLASS - 1) * density
    A = LAPLACE + sparse.diags_array(OMEGA**2 * epsilon.ravel(), format="csc")
    return spsolve(A, 1j * OMEGA * CURRENT.ravel()).reshape(NX, NY)


def brightness(parameters):
    """|E_z|^2 at the focus; the densities are sigmoids of the parameters."""
    density = 1 / (1 + np.exp(-parameters.reshape(8, 30)))
    return np.abs(field(density)[FOCUS]) ** 2


def main():
    half = np.zeros((8, 30))
    print(f"brightness of air {np.abs(field(half)[FOCUS]) ** 2:.4g}, of a plate {brightness(half + 9):.4g}, ", end="")
    print(f"of half a plate {brightness(half):.4g}")


if __name__ == "__main__":
    main()
