"""optimize.least_squares and curve_fit: exact Jacobians, sparse ones, trees, standard errors, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.optimize import Bounds, OptimizeWarning

import pullback as pb
from pullback.optimize import curve_fit, least_squares

T = np.linspace(0, 3, 12)
Y = 2.0 * np.exp(-0.7 * T) + 0.05 * np.cos(9 * T)


def decay(t, height, rate):
    return height * np.exp(-rate * t)


def residuals(p, t=T, y=Y):
    return decay(t, p[0], p[1]) - y


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_the_result_is_scipys_with_a_jacobian_by_hand(method):
    def by_hand(p):
        return np.stack([np.exp(-p[1] * T), -p[0] * T * np.exp(-p[1] * T)], 1)

    expected = scipy.optimize.least_squares(residuals, [1, 1], jac=by_hand, method=method)
    found = least_squares(residuals, [1, 1], method=method)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-12)
    np.testing.assert_allclose(found.jac, expected.jac, rtol=1e-9)
    assert (found.nfev, found.njev, found.status) == (expected.nfev, expected.njev, expected.status)
    assert found.derivatives == {"jac": "exact, dense"}
    given = least_squares(residuals, [1, 1], jac=by_hand, method=method)
    assert given.derivatives == {"jac": "given"}
    np.testing.assert_array_equal(given.x, expected.x)


@pytest.mark.parametrize("loss", ["soft_l1", "cauchy"])
def test_losses_and_further_options_are_scipys(loss):
    options = {"loss": loss, "f_scale": 0.1, "ftol": 1e-12, "x_scale": "jac", "max_nfev": 50, "verbose": 0}
    found = least_squares(residuals, [1, 1], **options)
    expected = scipy.optimize.least_squares(residuals, [1, 1], jac="3-point", **options)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-6)


def test_trees_bounds_args_and_keywords():
    def fun(p, t, *, y):
        return {"all": decay(t, p["height"], p["rates"][0]) - y, "prior": p["rates"][1] - 5}

    start = {"height": 1.0, "rates": np.ones(2)}
    expected = scipy.optimize.least_squares(residuals, [1, 1], bounds=([0, 0], [1.9, 9]), ftol=1e-12).x
    for bounds in (
        ({"height": 0.0, "rates": 0.0}, {"height": 1.9, "rates": np.full(2, 9.0)}),
        {"height": (0, 1.9), "rates": (0, 9)},
        Bounds({"height": 0.0, "rates": 0.0}, {"height": 1.9, "rates": 9.0}),
    ):
        found = least_squares(
            fun, start, args=(T,), kwargs={"y": Y}, bounds=bounds, ftol=1e-12, x_scale={"height": 1.0, "rates": 2.0}
        )
        np.testing.assert_allclose([found.x["height"], *found.x["rates"]], [*expected, 5], rtol=1e-5)


def chain(x):
    return np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])


def test_a_sparse_jacobian_is_used_where_it_pays():
    n = 100
    found = least_squares(chain, np.full(n, 0.8))
    assert (
        found.derivatives["jac"]
        == f"exact, sparse: {3 * (n - 1)} of {2 * (n - 1)} x {n} entries, 2 passes an evaluation"
    )
    assert scipy.sparse.issparse(found.jac)
    np.testing.assert_allclose(found.x, 1, atol=1e-6)
    for options in ({"sparse": False}, {"tr_solver": "exact"}, {"method": "lm"}):
        dense = least_squares(chain, np.full(n, 0.8), **options)
        assert type(dense.jac) is np.ndarray
        np.testing.assert_allclose(dense.x, 1, atol=1e-6)
    given = least_squares(chain, np.full(n, 0.8), jac_sparsity=found.jac != 0)
    assert given.derivatives["jac"].startswith("exact, sparse")
    few = least_squares(chain, np.full(20, 0.8))
    assert few.derivatives["jac"] == "exact, dense"


def test_a_full_pattern_does_not_pay():
    found = least_squares(lambda x: np.cumsum(x)[::-1] + np.sum(x) - 1, np.zeros(70))
    assert "too full" in found.derivatives["jac"]
    assert found.cost < 1e-12


def test_steps_of_newton_settle_the_last_digits():
    found = least_squares(residuals, [1, 1])
    polished = least_squares(residuals, [1, 1], polish=True)
    slope = np.abs(pb.func.grad(lambda p: np.sum(residuals(p) ** 2) / 2)(polished.x)).max()
    assert slope < 1e-14 < found.optimality
    assert polished.optimality == pytest.approx(slope, abs=1e-14)
    assert polished.cost == pytest.approx(found.cost, rel=1e-9)
    with pytest.raises(ValueError, match="polish"):
        least_squares(residuals, [1, 1], polish=True, loss="cauchy")


def test_standard_errors_are_those_of_the_normal_equations():
    found = least_squares(lambda p: residuals([p["h"], p["r"]]), {"h": 1.0, "r": 1.0}, stderr=True)
    _, expected = scipy.optimize.curve_fit(decay, T, Y, [1, 1], ftol=1e-14)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-5)
    assert found.stderr["r"] == pytest.approx(np.sqrt(expected[1, 1]), rel=1e-5)
    with pytest.warns(OptimizeWarning, match="full rank"):
        found = least_squares(lambda p: (p[0] + p[1]) * T - Y, [1.0, 0.0], stderr=True)
    assert np.isinf(found.stderr).all()
    with pytest.warns(OptimizeWarning, match="no more residuals"):
        found = least_squares(lambda p: p**2 - 2, [1.0, 1.5], stderr=True)
    assert np.isinf(found.stderr).all()


def test_history_and_callback():
    seen = []
    found = least_squares(residuals, [1, 1], history=True, callback=lambda x: seen.append(x.copy()))
    costs = [state.cost for state in found.history]
    assert costs == sorted(costs, reverse=True)
    assert len(costs) == found.njev
    np.testing.assert_array_equal(seen[-1], found.x)


def test_the_solution_is_differentiable_by_args():
    def fit(y):
        return least_squares(lambda p, y: decay(T, p["h"], p["r"]) - y, {"h": 1.0, "r": 1.0}, args=(y,), gtol=1e-12).x

    slopes = pb.func.jacobian(fit)(Y)
    h = 1e-4 * np.cos(T)
    ahead, behind = fit(Y + h), fit(Y - h)
    for name in ("h", "r"):
        assert slopes[name] @ h == pytest.approx((ahead[name] - behind[name]) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda y: least_squares(lambda p: residuals(p, y=y), np.ones(2)).x, "Pass it in args"),
        (lambda y: least_squares(lambda p, y: residuals(p, y=y), np.ones(2), args=(y,), loss="cauchy").x, "linear"),
        (lambda y: least_squares(lambda p, y: residuals(p, y=y), np.ones(2), kwargs={"y": y}).x, "in args"),
        (lambda y: least_squares(lambda p, y: residuals(p, y=y), np.ones(2), args=(y,), bounds=(0, 1)).x, "at a bound"),
        (lambda y: curve_fit(decay, T, y)[0], "least_squares"),
    ],
)
def test_what_would_lose_a_derivative_is_refused(call, match):
    with pytest.raises((RuntimeError, TypeError), match=match):
        pb.func.grad(lambda y: np.sum(call(y)))(Y)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: least_squares(lambda p: T, np.ones(2)), RuntimeError, "does not depend on"),
        (lambda: least_squares(lambda p: np.sqrt(p - 2), np.ones(2)), ValueError, "2 of the 2 residuals are nan at x0"),
        (lambda: least_squares(residuals, np.ones(2), jac="5-point"), ValueError, "jac must be"),
        (lambda: least_squares(residuals, np.ones(2), tol=1), TypeError, "unexpected keyword argument 'tol'"),
        (lambda: least_squares(residuals, np.ones(2), method="lm", sparse=True), ValueError, "sparse Jacobians need"),
        (lambda: least_squares(residuals, np.ones(2), stderr=True, loss="cauchy"), ValueError, "stderr is for"),
        (lambda: least_squares(residuals, {"h": 1}), TypeError, "int"),
        (lambda: curve_fit(lambda t, a: t * 0 + 3, T, Y), RuntimeError, "does not depend on"),
        (lambda: curve_fit(lambda *args: args[0], T, Y), ValueError, "give p0"),
    ],
)
def test_what_cannot_be_fitted_is_refused(call, error, match):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(error, match=match):
            call()


def test_a_model_of_steps_is_said():
    with pytest.warns(RuntimeWarning, match="exactly zero"):
        least_squares(lambda p: np.round(p) - 0.5, np.ones(2))


# -- curve_fit ---------------------------------------------------------------------------------------------------------
SIGMA = 0.1 + 0.02 * T
CORRELATED = np.exp(-np.abs(T[:, None] - T)) * 0.01
WEIGHTS = {"none": None, "one": 0.3, "each": SIGMA, "matrix": CORRELATED}


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("sigma", WEIGHTS)
@pytest.mark.parametrize("method", [None, "trf", "dogbox"])
def test_curve_fit_is_scipys(sigma, absolute, method):
    options = {"sigma": WEIGHTS[sigma], "absolute_sigma": absolute, "method": method, "ftol": 1e-14, "xtol": 1e-14}
    popt, pcov = curve_fit(decay, T, Y, **options)
    expected = scipy.optimize.curve_fit(decay, T, Y, **options)
    np.testing.assert_allclose(popt, expected[0], rtol=1e-6)
    np.testing.assert_allclose(pcov, expected[1], rtol=1e-5)


@pytest.mark.parametrize("sigma", WEIGHTS)
def test_missing_observations_are_left_out(sigma):
    x, y = T.copy(), Y.copy()
    x[3], y[7] = np.nan, np.nan
    options = {"sigma": WEIGHTS[sigma], "nan_policy": "omit", "ftol": 1e-14, "xtol": 1e-14}
    popt, pcov = curve_fit(decay, x, y, **options)
    expected = scipy.optimize.curve_fit(decay, x, y, **options)
    np.testing.assert_allclose(popt, expected[0], rtol=1e-5)
    np.testing.assert_allclose(pcov, expected[1], rtol=1e-5)


def test_parameters_by_name_and_in_trees():
    expected, covariance = curve_fit(decay, T, Y)
    by_name, same = curve_fit(decay, T, Y, {"rate": 1.0, "height": 1.0})
    assert by_name.keys() == {"rate", "height"}
    np.testing.assert_allclose([by_name["height"], by_name["rate"]], expected, rtol=1e-9)
    np.testing.assert_allclose(same, covariance, rtol=1e-7)  # height comes first in both
    *_, info, message, status = curve_fit(
        lambda t, p: p[0][0] * np.exp(-p[1] * t) + p[0][1], T, Y, (np.ones(2), 1.0), full_output=True
    )
    assert info["stderr"][0].shape == (2,)
    assert status in (1, 2, 3, 4)
    assert message
    bounded, _ = curve_fit(decay, T, Y, {"rate": 1.0, "height": 1.0}, bounds={"rate": (0, 9), "height": (0, 9)})
    assert bounded["rate"] == pytest.approx(expected[1], rel=1e-9)


def test_starts_inside_of_the_bounds_and_given_jacobians():
    def by_hand(t, height, rate):
        return np.stack([np.exp(-rate * t), -height * t * np.exp(-rate * t)], 1)

    expected, covariance = curve_fit(decay, T, Y)
    for options in ({"bounds": ([1.5, 0], [9, 9])}, {"jac": by_hand}, {"jac": by_hand, "method": "trf"}):
        popt, pcov = curve_fit(decay, T, Y, **options)
        np.testing.assert_allclose(popt, expected, rtol=1e-9)
        np.testing.assert_allclose(pcov, covariance, rtol=1e-7)
    popt, pcov = curve_fit(decay, T, Y, jac="3-point", method="trf")
    np.testing.assert_allclose(popt, expected, rtol=1e-6)


def test_a_parameter_at_a_bound_has_no_error():
    with pytest.warns(OptimizeWarning, match="1 parameters are at a bound"):
        popt, pcov = curve_fit(decay, T, Y, bounds=([0, 0], [1.5, 9]))
    assert popt[0] == pytest.approx(1.5)
    assert np.isnan(pcov[0, 0])
    assert pcov[1, 1] > 0
