"""How noisy are sensor and motion? The likelihood of a track under a Kalman filter with constant velocity."""

import numpy as np


def simulate(n=40, seed=1):
    rng = np.random.RandomState(seed)
    position, velocity = 0.0, 1.0
    measured = np.zeros(n)
    for k in range(n):
        velocity += 0.1 * rng.randn()
        position += velocity
        measured[k] = position + 0.5 * rng.randn()
    return measured


def filter_track(measured, q, r):
    n = len(measured)
    xhat = np.zeros((n, 2))
    P = np.zeros((n, 2, 2))
    innovations = np.zeros(n)
    variances = np.zeros(n)
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])

    x = np.zeros(2)
    cov = 10.0 * np.eye(2)
    for k in range(n):
        x = F @ x
        cov = F @ cov @ F.T + Q
        innovations[k] = measured[k] - (H @ x)[0]
        variances[k] = (H @ cov @ H.T)[0, 0] + r
        gain = (cov @ H.T)[:, 0] / variances[k]
        x += gain * innovations[k]
        cov = (np.eye(2) - np.outer(gain, H[0])) @ cov
        xhat[k] = x
        P[k, :, :] = cov
    return xhat, P, innovations, variances


def negative_log_likelihood(log_noise, measured=simulate()):
    q, r = np.exp(log_noise)
    _, _, innovations, variances = filter_track(measured, q, r)
    return 0.5 * np.sum(np.log(2 * np.pi * variances) + innovations**2 / variances)


def main():
    for q, r in [(0.01, 0.25), (0.1, 0.25), (0.01, 1.0)]:
        print(f"q = {q:.2f}, r = {r:.2f}: {negative_log_likelihood(np.log([q, r])):.3f}")


if __name__ == "__main__":
    main()
