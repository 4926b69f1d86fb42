"""jac="cs": differences by a complex step."""

import numpy as np
import pytest

import pullback as pb


def test_minimize_goes_on_complex_points():
    for method in ("BFGS", "L-BFGS-B", "trust-constr"):
        found = pb.optimize.minimize(lambda x: np.sum((x - 1) ** 4 + x**2), np.zeros(2), jac="cs", method=method)
        np.testing.assert_allclose(found.x, [0.41024549] * 2, rtol=1e-4)
        np.testing.assert_allclose(found.fun, 2 * (0.58975451**4 + 0.41024549**2), rtol=1e-6)


def test_least_squares_and_scales():
    for options in ({}, {"x_scale": [2.0, 0.5]}, {"method": "lm"}):
        found = pb.optimize.least_squares(lambda x: x**2 - [4.0, 9.0], np.ones(2), jac="cs", **options)
        np.testing.assert_allclose(found.x, [2.0, 3.0], rtol=1e-6)


def test_curve_fit():
    t = np.linspace(0, 1, 9)
    popt, _ = pb.optimize.curve_fit(
        lambda t, a, b: a * np.exp(b * t), t, 2 * np.exp(-1.5 * t), [1.0, 0.0], jac="cs", method="trf"
    )
    np.testing.assert_allclose(popt, [2.0, -1.5], rtol=1e-6)


def test_a_function_that_loses_the_imaginary_part_is_refused():
    with pytest.raises(pb.extend.GradientError, match="imaginary"):
        pb.optimize.minimize(lambda x: np.sum(np.abs(x - 1)), np.zeros(2), jac="cs", method="BFGS")
    with pytest.raises(pb.extend.GradientError, match="imaginary"):
        pb.optimize.least_squares(lambda x: np.real(x) - 1, np.zeros(2), jac="cs")
