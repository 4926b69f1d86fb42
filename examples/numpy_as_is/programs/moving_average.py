"""A crossing of two moving averages decides what to hold: what is earned, and on which prices that depends."""

import numpy as np


def prices(n=60, seed=5):
    rng = np.random.default_rng(seed)
    return 100 * np.exp(np.cumsum(0.02 * rng.standard_normal(n)))


def moving_average(x, window):
    sums = np.cumsum(np.insert(x, 0, 0.0))
    return (sums[window:] - sums[:-window]) / window


def exponential_average(x, window):
    out = np.empty_like(x)
    out[0] = x[0]
    weight = 2 / (window + 1)
    for i in range(1, len(x)):
        out[i] = weight * x[i] + (1 - weight) * out[i - 1]
    return out


def log_wealth(price, fast=5, slow=15):
    quick = moving_average(price, fast)[slow - fast :]
    steady = moving_average(price, slow)
    signal = np.where(quick > steady, 1.0, -0.5)
    returns = np.diff(np.log(price[slow - 1 :]))
    risk = np.std(np.diff(exponential_average(price, fast)), ddof=1)
    return (signal[:-1] * returns).sum() - 0.001 * np.abs(np.diff(signal)).sum() - 0.01 * risk


def main():
    print("log of what one has in the end:", log_wealth(prices()))


if __name__ == "__main__":
    main()
