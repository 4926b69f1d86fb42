"""An ARMA(2, 1) model by conditional maximum likelihood: the innovations are a filter's output."""

import numpy as np
from scipy.optimize import minimize
from scipy.signal import lfilter

TRUE = np.array([1.2, -0.5, 0.4])  # y[t] = 1.2 y[t-1] - 0.5 y[t-2] + e[t] + 0.4 e[t-1]


def simulate(n=400, seed=7):
    rng = np.random.default_rng(seed)
    return lfilter([1.0, TRUE[2]], [1.0, -TRUE[0], -TRUE[1]], rng.standard_normal(n))


def innovations(p, y):
    return lfilter(np.array([1.0, -p[0], -p[1]]), np.array([1.0, p[2]]), y)


def negative_log_likelihood(p, y):
    e = innovations(p[:3], y)
    return 0.5 * len(y) * np.log(2 * np.pi) + len(y) * p[3] + 0.5 * np.sum(e**2) * np.exp(-2 * p[3])


def forecast(p, y, steps=10):
    """The next values, from where the filter stands."""
    e = innovations(p[:3], y)
    history, last = [y[-2], y[-1]], e[-1]
    for _ in range(steps):
        history.append(p[0] * history[-1] + p[1] * history[-2] + p[2] * last)
        last = 0.0
    return np.array(history[2:])


def main():
    y = simulate()
    found = minimize(negative_log_likelihood, np.array([0.5, 0.0, 0.0, 0.0]), args=(y,), method="BFGS")
    print("phi {:.3f} {:.3f}, theta {:.3f}, log sigma {:.3f}".format(*found.x))
    print("forecast", forecast(found.x, y, 4).round(3))


if __name__ == "__main__":
    main()
