"""The 18 unconstrained problems of Moré, Garbow and Hillstrom (ACM TOMS 7, 1981), from their standard starts.

The functions are written for NumPy. The oracle is the paper's: the values of f at the minima.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb


def helical_valley(x):
    angle = np.arctan2(x[1], x[0]) / (2 * np.pi)
    return 100 * (x[2] - 10 * angle) ** 2 + 100 * (np.hypot(x[0], x[1]) - 1) ** 2 + x[2] ** 2


def biggs_exp6(x):
    t = np.arange(1, 14) / 10
    y = np.exp(-t) - 5 * np.exp(-10 * t) + 3 * np.exp(-4 * t)
    return np.sum((x[2] * np.exp(-t * x[0]) - x[3] * np.exp(-t * x[1]) + x[5] * np.exp(-t * x[4]) - y) ** 2)


def gaussian(x):
    y = np.array([9, 44, 175, 540, 1295, 2420, 3521, 3989, 3521, 2420, 1295, 540, 175, 44, 9]) / 1e4
    t = (8 - np.arange(1, 16)) / 2
    return np.sum((x[0] * np.exp(-x[1] * (t - x[2]) ** 2 / 2) - y) ** 2)


def powell_badly_scaled(x):
    return (1e4 * x[0] * x[1] - 1) ** 2 + (np.exp(-x[0]) + np.exp(-x[1]) - 1.0001) ** 2


def box_three_dimensional(x):
    t = np.arange(1, 11) / 10
    return np.sum((np.exp(-t * x[0]) - np.exp(-t * x[1]) - x[2] * (np.exp(-t) - np.exp(-10 * t))) ** 2)


def variably_dimensioned(x):
    slope = np.sum(np.arange(1, x.size + 1) * (x - 1))
    return np.sum((x - 1) ** 2) + slope**2 + slope**4


def watson(x):
    n = x.size
    t = np.arange(1, 30)[:, None] / 29
    powers = t ** np.arange(n)
    slopes = np.arange(1, n) * powers[:, : n - 1]
    return np.sum((slopes @ x[1:] - (powers @ x) ** 2 - 1) ** 2) + x[0] ** 2 + (x[1] - x[0] ** 2 - 1) ** 2


def penalty_1(x):
    return 1e-5 * np.sum((x - 1) ** 2) + (np.sum(x**2) - 0.25) ** 2


def penalty_2(x):
    n = x.size
    i = np.arange(2, n + 1)
    y = np.exp(i / 10) + np.exp((i - 1) / 10)
    total = (x[0] - 0.2) ** 2 + 1e-5 * np.sum((np.exp(x[1:] / 10) + np.exp(x[:-1] / 10) - y) ** 2)
    total += 1e-5 * np.sum((np.exp(x[1:] / 10) - np.exp(-1 / 10)) ** 2)
    return total + (np.sum(np.arange(n, 0, -1) * x**2) - 1) ** 2


def brown_badly_scaled(x):
    return (x[0] - 1e6) ** 2 + (x[1] - 2e-6) ** 2 + (x[0] * x[1] - 2) ** 2


def brown_and_dennis(x):
    t = np.arange(1, 21) / 5
    return np.sum(((x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2) ** 2)


def gulf_research(x):
    t = np.arange(1, 100) / 100
    y = 25 + (-50 * np.log(t)) ** (2 / 3)
    return np.sum((np.exp(-(np.abs(y - x[1]) ** x[2]) / x[0]) - t) ** 2)


def trigonometric(x):
    n = x.size
    f = n - np.sum(np.cos(x)) + np.arange(1, n + 1) * (1 - np.cos(x)) - np.sin(x)
    return np.sum(f**2)


def extended_rosenbrock(x):
    return np.sum(100 * (x[1::2] - x[::2] ** 2) ** 2 + (1 - x[::2]) ** 2)


def extended_powell_singular(x):
    a, b, c, d = x[::4], x[1::4], x[2::4], x[3::4]
    return np.sum((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4)


def beale(x):
    return sum((y - x[0] * (1 - x[1] ** i)) ** 2 for i, y in ((1, 1.5), (2, 2.25), (3, 2.625)))


def wood(x):
    first = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 + 90 * (x[3] - x[2] ** 2) ** 2 + (1 - x[2]) ** 2
    return first + 10 * (x[1] + x[3] - 2) ** 2 + 0.1 * (x[1] - x[3]) ** 2


def chebyquad(x):
    n = x.size
    before, now, total = np.ones(n), 2 * x - 1, 0.0
    for i in range(1, n + 1):
        integral = 0.0 if i % 2 else -1 / (i**2 - 1)
        total = total + (np.sum(now) / n - integral) ** 2
        before, now = now, 2 * (2 * x - 1) * now - before
    return total


def alternating(n, *pattern):
    return np.tile(pattern, n // len(pattern)).astype(float)


PROBLEMS = [  # function, start, the minimum of the paper
    (helical_valley, [-1.0, 0.0, 0.0], 0),
    (biggs_exp6, [1.0, 2.0, 1.0, 1.0, 1.0, 1.0], (0, 5.65565e-3)),  # the second is a local one
    (gaussian, [0.4, 1.0, 0.0], 1.12793e-8),
    (powell_badly_scaled, [0.0, 1.0], 0),
    (box_three_dimensional, [0.0, 10.0, 20.0], 0),
    (variably_dimensioned, 1 - np.arange(1, 11) / 10, 0),
    (watson, np.zeros(6), 2.28767e-3),
    (watson, np.zeros(9), 1.39976e-6),
    (watson, np.zeros(12), 4.72238e-10),
    (penalty_1, np.arange(1.0, 5), 2.24997e-5),
    (penalty_1, np.arange(1.0, 11), 7.08765e-5),
    (penalty_2, np.full(4, 0.5), 9.37629e-6),
    (penalty_2, np.full(10, 0.5), 2.93660e-4),
    (brown_badly_scaled, [1.0, 1.0], 0),
    (brown_and_dennis, [25.0, 5.0, -5.0, -1.0], 85822.2),
    (gulf_research, [5.0, 2.5, 0.15], 0),
    (trigonometric, np.full(10, 0.1), (0, 2.79506e-5)),
    (extended_rosenbrock, alternating(10, -1.2, 1), 0),
    (extended_powell_singular, alternating(8, 3, -1, 0, 1), 0),
    (beale, [1.0, 1.0], 0),
    (wood, [-3.0, -1.0, -3.0, -1.0], 0),
    (chebyquad, np.arange(1, 9) / 9, 3.51687e-3),
    (chebyquad, np.arange(1, 10) / 10, 0),
    (chebyquad, np.arange(1, 11) / 11, (6.50395e-3, 4.77271e-3)),  # a lower one is known by now
]
IDS = [f"{function.__name__}-{len(start)}" for function, start, _ in PROBLEMS]


def test_all_18_functions_are_here():
    assert len({function for function, _, _ in PROBLEMS}) == 18


@pytest.mark.parametrize(("function", "start", "minima"), PROBLEMS, ids=IDS)
def test_the_minimum_is_that_of_the_paper(function, start, minima):
    """By a trust region with exact Hessians, from the standard start."""
    found = pb.optimize.minimize(function, start, method="trust-exact", tol=1e-10, options={"maxiter": 5000})
    minima = np.atleast_1d(minima)
    nearest = minima[np.argmin(np.abs(found.fun - minima))]
    assert found.fun == pytest.approx(nearest, rel=1e-5, abs=0 if nearest else 1e-9)
    assert found.derivatives == {"jac": "exact", "hess": f"exact, dense: {len(start)} x {len(start)}"}


@pytest.mark.parametrize("number", range(0, len(PROBLEMS), 3))
def test_quasi_newton_steps_find_it_with_exact_gradients(number):
    function, start, minima = PROBLEMS[number]
    found = pb.optimize.minimize(function, start, method="BFGS", tol=1e-10)
    assert np.min(np.abs(found.fun - np.atleast_1d(minima))) <= 1e-5 * max(np.max(minima), 1e-4)
