"""Rate constants of a stiff reaction from noisy measurements of the concentrations, by least squares."""

import numpy as np
from scipy.integrate import odeint
from scipy.optimize import least_squares

TRUE = np.log([0.04, 1e4, 3e7])
START = np.log([0.1, 3e3, 1e8])
TIMES = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 33)])
NOISE = 0.01


def model(log_k):
    """Concentrations at the times of measurement; the second one, which is small, times 1e4."""
    k = np.exp(log_k)

    def slope(y, t):
        slow, back, fast = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] * y[1]
        return np.array([back - slow, slow - back - fast, fast])

    y = odeint(slope, [1.0, 0.0, 0.0], TIMES, rtol=1e-7, atol=1e-12)
    return y[1:] * np.array([1.0, 1e4, 1.0])


def measurements(seed=5):
    return model(TRUE) + NOISE * np.random.default_rng(seed).standard_normal((len(TIMES) - 1, 3))


def residuals(log_k, measured):
    return np.ravel(model(log_k) - measured) / NOISE


def misfit(log_k, measured):
    return 0.5 * np.sum(residuals(log_k, measured) ** 2)


def fit(measured, jac="2-point"):
    """(the logarithms of the rates, their standard errors, how often the model was run)."""
    found = least_squares(residuals, START, jac=jac, args=(measured,), x_scale="jac")
    errors = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    return found.x, errors, found.nfev


def main():
    found, errors, _ = fit(measurements())
    for name, value, error, true in zip(("k1", "k2", "k3"), found, errors, TRUE):
        print(f"log {name} = {value:.4f} +- {error:.4f}, true {true:.4f}")


if __name__ == "__main__":
    main()
