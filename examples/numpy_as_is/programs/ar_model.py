"""An autoregressive model fitted by least squares; which observations does its forecast depend on?"""

import numpy as np


def sunspots():
    return np.array([5, 11, 16, 23, 36, 58, 29, 20, 10, 8, 3, 0, 0, 2, 11, 27, 47, 63, 60, 39, 28, 26, 22, 11, 21, 40, 78,
                     122, 103, 73, 47, 35, 11, 5, 16, 34, 70, 81, 111, 101, 73, 40, 20, 16, 5, 11], dtype=float)  # fmt: skip


def fit(series, order=3):
    n = len(series)
    X = np.ones((n - order, order + 1))
    for lag in range(1, order + 1):
        X[:, lag] = series[order - lag : n - lag]
    coefficients, *_ = np.linalg.lstsq(X, series[order:], rcond=None)
    return coefficients


def forecast(series, steps=5, order=3):
    coefficients = fit(series, order)
    extended = list(series)
    for _ in range(steps):
        recent = extended[-1 : -order - 1 : -1]
        extended.append(coefficients[0] + np.dot(coefficients[1:], recent))
    return np.array(extended[len(series) :])


def next_maximum(series):
    return np.max(forecast(series))


def main():
    print("coefficients:", fit(sunspots()))
    print("forecast:", forecast(sunspots()))


if __name__ == "__main__":
    main()
