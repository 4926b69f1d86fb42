"""Optimisers take sums over data as they take any function."""

import numpy as np
import pytest

import pullback as pb
from pullback import optimize
from pullback.distributed import rows, sum_over

_rng = np.random.default_rng(0)
X = _rng.standard_normal((200, 3))
Y = np.where(X @ [1.0, -2.0, 0.5] + _rng.standard_normal(200) > 0, 1.0, -1.0)
PARTS = rows(X, Y, size=64)


def logistic(w, X, y):
    return np.sum(np.logaddexp(0.0, -y * (X @ w)))


def whole(w):
    return logistic(w, X, Y)


TOTAL = sum_over(logistic, PARTS)
BEST = optimize.minimize(whole, np.zeros(3), tol=1e-10).x


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Newton-CG", "trust-exact", "trust-krylov", "SLSQP"])
def test_minimize_takes_a_sum(method):
    found = optimize.minimize(TOTAL, np.zeros(3), method=method)
    np.testing.assert_allclose(found.x, optimize.minimize(whole, np.zeros(3), method=method).x, rtol=1e-6)


def test_minimize_takes_a_sum_over_threads_of_a_tree():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads:
        total = sum_over(lambda p, X, y: np.sum((X @ p["w"] + p["b"] - y) ** 2), PARTS, threads)
        found = optimize.minimize(total, {"w": np.zeros(3), "b": 0.0}, stderr=True)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(200)]), Y, rcond=None)[0]
    np.testing.assert_allclose([*found.x["w"], found.x["b"]], expected, rtol=1e-6)


def test_products_with_the_hessian_of_many_parameters_are_sums():
    total = sum_over(lambda w, x: np.sum((w - x) ** 2) + np.sum(w**4), [1.0, 2.0])
    found = optimize.minimize(lambda w: np.log(total(w)), np.ones(60), method="trust-krylov")
    assert np.max(np.abs(4 * found.x - 6 + 8 * found.x**3)) < 1e-3


def test_a_minimum_is_differentiable_through_the_sum():
    def penalised(function):
        return lambda a: np.sum(
            optimize.minimize(lambda w, a: function(w) + a * np.sum(w * w), BEST, (a,), tol=1e-10).x
        )

    np.testing.assert_allclose(pb.func.grad(penalised(TOTAL))(2.0), pb.func.grad(penalised(whole))(2.0), rtol=1e-6)


def test_least_squares_and_root_take_sums_that_are_vectors():
    moments = sum_over(lambda w, X, y: np.sum(np.exp(0.3 * X * w), axis=0) / 200, PARTS)
    target = np.array([1.2, 1.3, 1.1])
    for solve in (optimize.least_squares, optimize.root):
        found = solve(lambda w: moments(w) - target, np.ones(3)).x
        np.testing.assert_allclose(np.mean(np.exp(0.3 * X * found), axis=0), target, rtol=1e-7)


def test_curve_fit_takes_a_model_that_is_a_sum():
    x = np.linspace(0, 1, 20)

    def model(x, a, b):
        return sum_over(lambda a, b, k: k * a * np.exp(b * x), [1.0, 2.0])(a, b)

    found, _ = optimize.curve_fit(model, x, 6.0 * np.exp(-x), p0=(1.0, 0.0))
    np.testing.assert_allclose(found, [2.0, -1.0], rtol=1e-6)


def test_optimizers_of_tensors_take_a_sum():
    w = pb.zeros(3, dtype=pb.float64, requires_grad=True)
    optimizer = pb.optim.LBFGS([w], max_iter=40, line_search_fn="strong_wolfe", tolerance_grad=1e-9)

    def closure():
        optimizer.zero_grad()
        loss = TOTAL(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(w.detach().numpy(), BEST, rtol=1e-5)


def test_check_finds_nothing_wrong_with_a_sum():
    assert "nothing wrong" in str(pb.check(TOTAL, np.ones(3)))
