"""Remission of leukemia under 6-mercaptopurine and under a placebo: a Weibull model and Cox's, both with censoring.

The data of Freireich et al. (Blood 21, 1963), as every textbook on survival has them.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import weibull_min

WEEKS = np.array(
    [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    + [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23],
    dtype=float,
)
RELAPSED = np.array([1] * 9 + [0] * 12 + [1] * 21, dtype=bool)
TREATED = np.array([1.0] * 21 + [0.0] * 21)


def weibull(theta, weeks=WEEKS):
    """The negative log-likelihood by intercept, effect of the treatment, and logarithm of the scale, as R's survreg."""
    location, log_scale = theta[0] + theta[1] * TREATED, theta[2]
    law = {"c": np.exp(-log_scale), "scale": np.exp(location)}
    density, survival = weibull_min.logpdf(weeks, **law), weibull_min.logsf(weeks, **law)
    return -np.sum(np.where(RELAPSED, density, survival))


def cox(effect, weeks=WEEKS):
    """The negative partial log-likelihood of Cox, ties as Breslow treats them."""
    score = effect * TREATED
    total = 0.0
    for i in np.flatnonzero(RELAPSED):
        at_risk = weeks >= weeks[i]
        total += score[i] - np.log(np.sum(np.exp(score[at_risk])))
    return -total


def main():
    found = minimize(weibull, np.array([2.0, 0.0, 0.0]), method="Nelder-Mead", options={"xatol": 1e-6, "maxiter": 2000})
    print("Weibull: intercept {:.3f}, treatment {:.3f}, scale {:.3f}".format(*found.x[:2], np.exp(found.x[2])))
    found = minimize(lambda b: cox(b[0]), np.zeros(1), method="Nelder-Mead")
    print(f"Cox: effect of the treatment {found.x[0]:.3f}, hazard ratio {np.exp(found.x[0]):.3f}")


if __name__ == "__main__":
    main()
