"""Predators and prey: Runge-Kutta steps into a buffer, compared with the counts of lynx and hare."""

import numpy as np

YEARS = np.arange(1900, 1912)
HARE = np.array([30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3])
LYNX = np.array([4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0])


def rates(y, p):
    dydt = np.zeros(2)
    dydt[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    dydt[1] = -p[2] * y[1] + p[3] * y[0] * y[1]
    return dydt


def trajectory(p, steps=10):
    dt = 1.0 / steps
    y = np.zeros((len(YEARS) * steps, 2))
    y[0] = p[4:]
    for n in range(len(y) - 1):
        k1 = rates(y[n], p)
        k2 = rates(y[n] + dt / 2 * k1, p)
        k3 = rates(y[n] + dt / 2 * k2, p)
        k4 = rates(y[n] + dt * k3, p)
        y[n + 1] = y[n] + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[::steps]


def misfit(p):
    y = trajectory(p, steps=4)
    residuals = np.concatenate([np.log(y[:, 0] / HARE), np.log(y[:, 1] / LYNX)])
    return 0.5 * residuals @ residuals


def main():
    p = np.array([0.55, 0.028, 0.84, 0.026, 33.0, 6.0])
    print("misfit:", misfit(p))


if __name__ == "__main__":
    main()
