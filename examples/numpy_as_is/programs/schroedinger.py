"""A wave packet through a barrier, by the split-step Fourier method."""

import numpy as np
from numpy.fft import fft, fftfreq, ifft

N = 64
X = np.linspace(-10, 10, N, endpoint=False)
K = 2 * np.pi * fftfreq(N, d=X[1] - X[0])


def propagate(height, width, momentum, steps=40, dt=0.05):
    V = height * np.exp(-((X / width) ** 2))
    psi = np.exp(-((X + 4) ** 2) / 2 + 1j * momentum * X)
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2))
    half = np.exp(-0.5j * dt * V)
    kinetic = np.exp(-0.5j * dt * K**2)
    for _ in range(steps):
        psi = half * ifft(kinetic * fft(half * psi))
    return psi


def transmission(height, width, momentum):
    psi = propagate(height, width, momentum)
    return np.sum(np.abs(psi[X > 0]) ** 2)


def main():
    for height in (0.0, 1.0, 3.0):
        print(f"height {height}: {100 * transmission(height, 0.8, 2.0):.1f} % pass")


if __name__ == "__main__":
    main()
