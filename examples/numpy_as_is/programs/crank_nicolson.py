"""The price of a European put on a grid of prices: Crank-Nicolson steps, each solved by the Thomas algorithm."""

import numpy as np


def thomas(a, b, c, d):
    """Solve a tridiagonal system; the arguments are overwritten."""
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.empty(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


def put_price(spot, strike, years, rate, volatility, nodes=40, steps=20):
    S = np.linspace(0.0, 200.0, nodes + 1)
    j = np.arange(1, nodes)
    dt = years / steps
    V = np.maximum(strike - S, 0.0)
    alpha = 0.25 * dt * (volatility**2 * j**2 - rate * j)
    beta = -0.5 * dt * (volatility**2 * j**2 + rate)
    gamma = 0.25 * dt * (volatility**2 * j**2 + rate * j)
    for n in range(steps):
        next_edge = strike * np.exp(-rate * (n + 1) * dt)
        d = alpha * V[:-2] + (1 + beta) * V[1:-1] + gamma * V[2:]
        d[0] += alpha[0] * next_edge
        V[0] = next_edge
        V[1:-1] = thomas(-alpha, 1 - beta, -gamma, d)
    return np.interp(spot, S, V)


def main():
    for volatility in (0.1, 0.2, 0.4):
        print(f"volatility {volatility}: {put_price(98.0, 100.0, 1.0, 0.03, volatility):.4f}")


if __name__ == "__main__":
    main()
