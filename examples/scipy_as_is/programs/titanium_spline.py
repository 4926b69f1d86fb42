"""A cubic spline through the Titanium Heat Data, of which the knots are fitted too.

The data, a property of titanium by temperature with a sharp peak, are those on which splines with free knots have been
tried since C. de Boor and J. R. Rice, Least squares cubic spline approximation II, Purdue University, 1968. D. L. B.
Jupp, SIAM J. Numer. Anal. 15, 1978, 328-343, takes the logarithms of the ratios of neighbouring intervals for unknowns,
so that knots cannot meet. For given knots the coefficients follow from linear least squares.
"""

import numpy as np
from scipy.interpolate import make_lsq_spline
from scipy.optimize import minimize

TEMPERATURE = np.arange(595.0, 1076.0, 10.0)
HEAT = np.array([
    0.644, 0.622, 0.638, 0.649, 0.652, 0.639, 0.646, 0.657, 0.652, 0.655, 0.644, 0.663, 0.663, 0.668, 0.676, 0.676,
    0.686, 0.679, 0.678, 0.683, 0.694, 0.699, 0.710, 0.730, 0.763, 0.812, 0.907, 1.044, 1.336, 1.881, 2.169, 2.075,
    1.598, 1.211, 0.916, 0.746, 0.672, 0.627, 0.615, 0.607, 0.606, 0.609, 0.603, 0.601, 0.603, 0.601, 0.611, 0.601,
    0.608,
])  # fmt: skip
START = np.array([835.0, 875.0, 900.0, 915.0, 975.0])


def unknowns(knots):
    """The logarithms of the ratios of neighbouring intervals."""
    ends = np.concatenate([TEMPERATURE[:1], knots, TEMPERATURE[-1:]])
    return np.diff(np.log(np.diff(ends)))


def knots_of(ratios):
    """The knots between the ends."""
    intervals = np.exp(np.concatenate([[0.0], np.cumsum(ratios)]))
    shares = np.cumsum(intervals) / np.sum(intervals)
    return TEMPERATURE[0] + (TEMPERATURE[-1] - TEMPERATURE[0]) * shares[:-1]


def fitted(knots):
    """The spline of these knots that comes nearest to the data."""
    low, high = TEMPERATURE[[0, -1]]
    return make_lsq_spline(TEMPERATURE, HEAT, np.concatenate([[low] * 4, knots, [high] * 4]))


def sum_of_squares(ratios):
    return np.sum((fitted(knots_of(ratios))(TEMPERATURE) - HEAT) ** 2)


def fit(gradient=None):
    """The best knots, the sum of squares, and how often that was computed; by differences if there is no gradient."""
    found = minimize(sum_of_squares, unknowns(START), jac=gradient, method="BFGS", options={"gtol": 1e-8})
    return knots_of(found.x), found.fun, found.nfev


def main():
    knots, squares, evaluations = fit()
    print(f"knots {np.round(knots, 2)}, sum of squares {squares:.6f} from {sum_of_squares(unknowns(START)):.6f}")
    print(f"after {evaluations} evaluations, by differences")


if __name__ == "__main__":
    main()
