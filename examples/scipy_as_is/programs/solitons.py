"""Two solitons of the Korteweg-de Vries equation, in Fourier space with an integrating factor."""

import numpy as np
from scipy.fft import irfft, rfft

N, LENGTH, DT, STEPS = 128, 40.0, 2e-3, 500
X = np.linspace(-LENGTH / 2, LENGTH / 2, N, endpoint=False)
K = 2 * np.pi * np.arange(N // 2 + 1) / LENGTH


def start(p):
    """The speeds and places of two solitons."""
    one = 0.5 * p[0] / np.cosh(0.5 * np.sqrt(p[0]) * (X - p[2])) ** 2
    return one + 0.5 * p[1] / np.cosh(0.5 * np.sqrt(p[1]) * (X - p[3])) ** 2


def evolve(u, steps=STEPS):
    """u_t + 6 u u_x + u_xxx = 0 by Runge and Kutta."""
    v = rfft(u)
    half = np.exp(0.5j * DT * K**3)
    full = half**2

    def slope(v):
        return -3j * K * rfft(irfft(v, n=N) ** 2)

    for _ in range(steps):
        a = DT * slope(v)
        b = DT * slope(half * (v + a / 2))
        c = DT * slope(half * v + b / 2)
        d = DT * slope(full * v + half * c)
        v = full * v + (full * a + 2 * half * (b + c) + d) / 6
    return irfft(v, n=N)


def misfit(p, seen):
    return np.sum((evolve(start(p)) - seen) ** 2)


TRUE = np.array([6.0, 2.0, -10.0, -2.0])


def main():
    u = evolve(start(TRUE))
    print(f"mass before {start(TRUE).sum() * LENGTH / N:.6f}, after {u.sum() * LENGTH / N:.6f}; top {u.max():.4f}")


if __name__ == "__main__":
    main()
