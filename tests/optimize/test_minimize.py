"""optimize.minimize: SciPy's results with exact derivatives, trees, bounds, constraints, scales, refusals."""

from __future__ import annotations

import sys
import warnings
from collections import namedtuple

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.optimize import BFGS, Bounds, LinearConstraint, NonlinearConstraint, OptimizeWarning

import pullback as pb
from pullback.optimize import minimize


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


START = np.array([-1.2, 1.0, 0.8])
EVERY_METHOD = (
    "Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr",
    "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
)  # fmt: skip


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)


# -- what SciPy gets ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", EVERY_METHOD)
def test_every_method_runs_as_scipy_runs_it_with_hand_written_derivatives(method):
    start = np.array([1.1, 1.21, 1.46]) if method == "dogleg" else START
    by_hand = {"jac": scipy.optimize.rosen_der}
    if method in ("Newton-CG", "trust-ncg", "trust-krylov", "trust-constr", "dogleg", "trust-exact"):
        by_hand["hess"] = scipy.optimize.rosen_hess
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what SciPy says of derivatives that a method does not use
        expected = scipy.optimize.minimize(rosenbrock, start, method=method, **by_hand)
    found = minimize(rosenbrock, start, method=method)
    assert type(found) is type(expected)
    assert found.nfev == pytest.approx(expected.nfev, rel=0.1, abs=2)
    assert found.success == expected.success
    if expected.success:
        np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
    assert expected.keys() <= found.keys()


def one_element(x, target=1.5):
    """A loss of shape (1, 1), with the minimum (target, target)."""
    r = (x - target).reshape(-1, 1)
    return r.T @ np.array([[2.0, 0.5], [0.5, 1.0]]) @ r * 0.5


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_every_method_takes_an_objective_of_one_element(method):
    assert np.allclose(minimize(one_element, np.zeros(2), method=method).x, 1.5, atol=1e-3)


def test_an_objective_of_one_element_has_standard_errors_and_a_solution_differentiable_by_args():
    found = minimize(one_element, np.zeros(2), x_scale=2.0, stderr=True)
    assert np.allclose(found.covariance, np.linalg.inv([[2.0, 0.5], [0.5, 1.0]]))
    assert pb.func.grad(lambda t: minimize(one_element, np.zeros(2), args=(t,)).x[0])(1.5) == pytest.approx(1)


def test_value_and_gradient_come_of_one_evaluation():
    counted = Counted(rosenbrock)
    found = minimize(counted, START, method="L-BFGS-B")
    assert found.nfev == found.njev == counted.calls


def test_default_methods_are_scipys():
    constraint = {"type": "ineq", "fun": lambda x: x[0] - 2}
    assert "hess_inv" in minimize(rosenbrock, START)  # of BFGS
    assert isinstance(minimize(rosenbrock, START, bounds=[(0, 2)] * 3).hess_inv, scipy.sparse.linalg.LinearOperator)
    assert minimize(rosenbrock, START, constraints=constraint).x[0] == pytest.approx(2)


@pytest.mark.parametrize("jac", [True, "callable", "3-point"])
def test_given_gradients_are_honoured(jac):
    counted = Counted(lambda x: np.array(scipy.optimize.rosen_der(x)))
    if jac is True:
        found = minimize(lambda x: (rosenbrock(x), counted(x)), START, jac=True)
    else:
        found = minimize(rosenbrock, START, jac=counted if jac == "callable" else jac)
    assert (counted.calls > 0) == (jac != "3-point")
    assert found.derivatives["jac"] == ("differences (3-point)" if jac == "3-point" else "given")
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


def test_a_pair_serves_methods_without_gradients_too():
    found = minimize(lambda x: (rosenbrock(x), scipy.optimize.rosen_der(x)), START, jac=True, method="Nelder-Mead")
    np.testing.assert_allclose(found.x, 1, atol=1e-3)


def test_given_hessians_are_honoured():
    hess, hessp = Counted(scipy.optimize.rosen_hess), Counted(scipy.optimize.rosen_hess_prod)
    assert minimize(rosenbrock, START, method="trust-exact", hess=hess).derivatives["hess"] == "given"
    assert minimize(rosenbrock, START, method="Newton-CG", hessp=hessp).derivatives["hess"] == "given"
    assert hess.calls > 3
    assert hessp.calls > 10
    assert minimize(rosenbrock, START, method="trust-constr", hess=BFGS()).derivatives["hess"] == "BFGS"


def test_a_custom_method_gets_exact_derivatives():
    def newton(fun, x0, args, jac, hess, hessp, callback=None, **options):
        x = x0
        for _ in range(30):
            direction = np.linalg.solve(hess(x), jac(x))
            np.testing.assert_allclose(hessp(x, direction), hess(x) @ direction, rtol=1e-9, atol=1e-20)
            x = x - direction
        return scipy.optimize.OptimizeResult(x=x, fun=fun(x), success=True)

    np.testing.assert_allclose(minimize(rosenbrock, START, method=newton).x, 1)


def test_a_product_of_an_operator_without_forward_mode():
    @pb.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, g: (3 * x**2 * g,))
    found = minimize(lambda x: np.sum(cube(x) * x - x), np.full(60, 0.7), method="trust-krylov", tol=1e-9)
    np.testing.assert_allclose(found.x, 0.25 ** (1 / 3), atol=1e-7)


# -- sparse where it pays ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
def test_a_sparse_hessian_is_used_where_it_pays(method):
    found = minimize(rosenbrock, np.full(300, 0.5), method=method)
    assert found.derivatives["hess"] == "exact, sparse: 898 of 300 x 300 entries, 3 passes an evaluation"
    plain = minimize(rosenbrock, np.full(300, 0.5), method=method, sparse=False)
    assert plain.derivatives["hess"] == "exact, products with it"
    np.testing.assert_allclose(found.x, plain.x, atol=1e-6)
    assert found.fun < 1e-2


def test_a_full_pattern_does_not_pay():
    found = minimize(lambda x: np.sum(x**2) ** 2 + np.sum((x - 1) ** 2), np.zeros(80), method="trust-krylov")
    assert found.derivatives["hess"] == "exact, products with it (the pattern is too full: 6400 of 80 x 80 entries)"


def test_a_pattern_that_changes_on_the_way_is_found_anew():
    def bent(x):
        far = np.sum((x - 2) ** 2) + np.sum(x[1:] * x[:-1]) / 4
        return far if x[0] < 1 else far + (x[0] - 1) ** 3 * x[-1]

    found = minimize(bent, np.zeros(60), method="trust-constr", sparse=True, tol=1e-10)
    assert found.x[0] > 1
    np.testing.assert_allclose(pb.func.grad(bent)(found.x), 0, atol=1e-7)


# -- trees -------------------------------------------------------------------------------------------------------------
Line = namedtuple("Line", ["slope", "offset"])
T = np.linspace(0, 1, 7)


def misfit(line):
    return np.sum((line.slope @ np.stack([T, T**2]) + line.offset - np.sin(T)) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "trust-exact", "trust-constr", "Nelder-Mead"])
def test_parameters_come_back_as_they_were_given(method):
    found = minimize(misfit, Line(np.zeros(2), 0.0), method=method, tol=1e-9)
    assert type(found.x) is Line
    expected = np.polyfit(T, np.sin(T), 2)
    np.testing.assert_allclose([*found.x.slope, found.x.offset], expected[[1, 0, 2]], atol=1e-5)
    if method == "BFGS":
        assert type(found.jac) is Line
        assert found.hess_inv.shape == (3, 3)


def test_a_matrix_is_a_tree_too():
    target = np.arange(6.0).reshape(2, 3)
    found = minimize(lambda W: np.sum((W - target) ** 4), np.ones((2, 3)), method="trust-exact", tol=1e-12)
    np.testing.assert_allclose(found.x, target, atol=1e-3)
    assert found.jac.shape == (2, 3)


def test_lists_of_numbers_are_arrays_and_integers_are_numbers_as_in_scipy():
    for start in ([3, 4], (3, 4), 3, np.int64(3), np.array([3, 4])):
        found = minimize(lambda x: np.sum((x - 1) ** 2), start)
        assert found.x.shape == np.atleast_1d(np.asarray(start)).shape
        np.testing.assert_allclose(found.x, 1)


def test_tensors_get_tensors():
    def loss(p):
        assert isinstance(p["w"], pb.Tensor)
        return ((p["w"] - 2) ** 2).sum(dim=0)

    found = minimize(loss, {"w": pb.zeros(3)})
    assert type(found.x["w"]) is pb.Tensor
    np.testing.assert_allclose(found.x["w"].numpy(), 2, atol=1e-6)


@pytest.mark.parametrize(
    "bounds",
    [
        {"a": (0, 1), "b": (None, 0.5)},
        {"a": (np.zeros(2), np.ones(2)), "b": (None, 0.5)},
        Bounds({"a": 0.0, "b": -np.inf}, {"a": np.ones(2), "b": 0.5}),
    ],
)
def test_bounds_in_the_structure_of_the_parameters(bounds):
    def distance(p):
        return np.sum((p["a"] - np.array([2.0, -3.0])) ** 2) + (p["b"] - 4) ** 2

    found = minimize(distance, {"a": np.full(2, 0.5), "b": 0.0}, bounds=bounds)
    np.testing.assert_allclose(found.x["a"], [1, 0])
    assert found.x["b"] == pytest.approx(0.5)


# -- constraints -------------------------------------------------------------------------------------------------------
def hock_schittkowski_71(x):
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]


HS71 = np.array([1.0, 4.742999643, 3.821149984, 1.379408293])  # and the minimum 17.0140173
AS_CLASSES = [
    NonlinearConstraint(lambda x: np.prod(x), 25, np.inf),
    NonlinearConstraint(lambda x: np.sum(x**2), 40, 40),
]
AS_DICTS = [
    {"type": "ineq", "fun": lambda x, least: np.prod(x) - least, "args": (25,)},
    {"type": "eq", "fun": lambda x: np.sum(x**2) - 40},
]


@pytest.mark.parametrize("constraints", [AS_CLASSES, AS_DICTS], ids=["classes", "dicts"])
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_hock_schittkowski_71(method, constraints):
    found = minimize(
        hock_schittkowski_71, [1, 5, 5, 1], method=method, bounds=[(1, 5)] * 4, constraints=constraints, tol=1e-12
    )
    np.testing.assert_allclose(found.x, HS71, atol=1e-6)
    assert found.fun == pytest.approx(17.0140173, abs=1e-6)
    assert found.derivatives["constraints"] == "exact, dense; exact, dense"
    assert found.nfev < 100


@pytest.mark.parametrize("constraints", [AS_CLASSES, AS_DICTS], ids=["classes", "dicts"])
@pytest.mark.parametrize("method", ["COBYLA", "COBYQA"])
def test_methods_without_derivatives_take_constraints_too(method, constraints):
    found = minimize(
        hock_schittkowski_71, [1, 5, 5, 1], method=method, bounds=[(1, 5)] * 4, constraints=constraints, tol=1e-8
    )
    np.testing.assert_allclose(found.x, HS71, atol=1e-4)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_get_the_tree_and_scales_do_not_show(method):
    def area(p):
        return p["sides"][0] * p["sides"][1] + p["height"]

    constraints = [
        NonlinearConstraint(lambda p: [p["sides"], 0 * p["height"]], [1, 2, -1], [9, 9, 1]),
        NonlinearConstraint(lambda p: p["height"] * p["sides"][0], 3, 3),
        LinearConstraint(np.array([[1.0, 0.0, 1.0]]), 3.5, np.inf),  # height, then the sides
    ]
    start = {"sides": np.array([3.0, 4.0]), "height": 2.0}
    options = {"gtol": 1e-9, "xtol": 1e-12, "barrier_tol": 1e-10} if method == "trust-constr" else {"ftol": 1e-12}
    found, scaled = (
        minimize(area, start, method=method, constraints=constraints, x_scale=scale, options=options)
        for scale in (None, {"sides": np.array([10.0, 0.1]), "height": 5.0})
    )
    for result in (found, scaled):
        first, second, height = *result.x["sides"], result.x["height"]
        assert height * first == pytest.approx(3, abs=1e-6)
        assert height + second >= 3.5 - 1e-6
        assert result.fun == pytest.approx(
            min(a * max(2, 3.5 - 3 / a) + 3 / a for a in np.linspace(1, 9, 80001)), rel=1e-5
        )
    gradient = scaled.jac if method == "SLSQP" else scaled.grad
    np.testing.assert_allclose(gradient["sides"], scaled.x["sides"][::-1], rtol=1e-6)


def test_sparse_jacobians_of_constraints_are_used_where_they_pay():
    n = 60
    constraint = NonlinearConstraint(lambda x: x[1:] ** 2 + x[:-1], 0.5, np.inf)
    found = minimize(lambda x: np.sum(x**2), np.ones(n), method="trust-constr", constraints=constraint)
    assert found.derivatives["constraints"].startswith(f"exact, sparse: {2 * (n - 1)} of {n - 1} x {n} entries")
    assert (found.x[1:] ** 2 + found.x[:-1] >= 0.5 - 1e-6).all()
    assert scipy.sparse.issparse(found.jac[0])
    plain = minimize(lambda x: np.sum(x**2), np.ones(n), method="trust-constr", constraints=constraint, sparse=False)
    assert plain.fun == pytest.approx(found.fun, rel=1e-4)  # as far as trust-constr goes


def test_the_hessian_of_a_constraint_is_exact():
    seen = []

    def slope(x):
        return np.stack([np.sin(x[0]) * x[1], x[0] ** 3])

    def by_hand(x, v):
        seen.append(1)
        return np.array(
            [[-np.sin(x[0]) * x[1] * v[0] + 6 * x[0] * v[1], np.cos(x[0]) * v[0]], [np.cos(x[0]) * v[0], 0]]
        )

    options = {"gtol": 1e-10, "xtol": 1e-12}
    found, expected = (
        minimize(
            lambda x: np.sum((x - 2) ** 2),
            [0.5, 0.5],
            method="trust-constr",
            constraints=NonlinearConstraint(slope, [-1, -1], [1, 1], **extra),
            options=options,
        )
        for extra in ({}, {"hess": by_hand})
    )
    assert seen
    assert found.nit == expected.nit
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9)


def test_methods_without_derivatives_need_nothing_that_has_one():
    rough = {"type": "ineq", "fun": lambda x: float(np.floor(10 * x[0])) / 10 - 0.5}
    found = minimize(lambda x: float(np.sum(x**2)), [2.0, 1.0], method="COBYLA", constraints=rough)
    assert 0.49 <= found.x[0] < 0.7
    assert found.derivatives == {}


# -- scales, histories, bars, errors of estimates ----------------------------------------------------------------------
def test_scales_help_and_do_not_show():
    sizes = np.array([1e6, 1.0, 1e-5])

    def badly_scaled(x):
        y = x / sizes - 3
        return np.sum(y**2) + np.sum(y) ** 2 + 0.1 * np.sum(y**4)

    start = sizes * np.array([1.0, 2.0, 5.0])
    for method in ("BFGS", "L-BFGS-B", "trust-exact", "trust-constr", "Newton-CG"):
        found = minimize(badly_scaled, start, method=method, x_scale=sizes, tol=1e-9)
        np.testing.assert_allclose(found.x / sizes, 3, rtol=1e-5)
        if method == "BFGS":
            exact = np.linalg.inv(pb.func.hessian(badly_scaled)(3 * sizes))
            np.testing.assert_allclose(
                found.hess_inv / np.outer(sizes, sizes), exact / np.outer(sizes, sizes), atol=0.1
            )
        if method == "L-BFGS-B":
            v = np.array([1.0, 2.0, 3.0])
            plain = minimize(lambda y: badly_scaled(y * sizes), start / sizes, method=method, tol=1e-9)
            np.testing.assert_allclose(found.hess_inv @ v, sizes * (plain.hess_inv @ (sizes * v)), rtol=1e-6)
        if method == "trust-exact":
            np.testing.assert_allclose(found.hess, pb.func.hessian(badly_scaled)(found.x), rtol=1e-9)
    found = minimize(badly_scaled, start, bounds=[(4e6, None), (None, None), (None, 1e-5)], x_scale=sizes)
    np.testing.assert_allclose(found.x[[0, 2]], [4e6, 1e-5])


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_a_history_lists_the_iterations(method):
    start = np.array([1.1, 1.21, 1.46]) if method == "dogleg" else START
    found = minimize(
        rosenbrock, start, method=method, history=True, options={"maxiter": 200} if method != "TNC" else {}
    )
    np.testing.assert_array_equal(found.history[0].x, start)
    values = [state.fun for state in found.history]
    np.testing.assert_allclose(values, [rosenbrock(state.x) for state in found.history])
    assert len(found.history) > 3
    assert min(values) == pytest.approx(found.fun, rel=0.1, abs=1e-6)


def test_callbacks_get_the_tree():
    seen = []

    def with_result(intermediate_result):
        seen.append((intermediate_result.x["a"].copy(), intermediate_result.fun))
        if len(seen) == 3:
            raise StopIteration

    found = minimize(lambda p: rosenbrock(p["a"]), {"a": START}, callback=with_result)
    assert len(seen) == 3
    assert found.status == 99
    assert seen[-1][1] == rosenbrock(seen[-1][0])
    states = []
    minimize(rosenbrock, START, method="trust-constr", callback=lambda x, state: states.append(state.nit))
    assert states[:3] == [1, 2, 3]


def test_a_bar_shows_progress(capsys):
    pytest.importorskip("tqdm", reason="extra progress")
    minimize(rosenbrock, START, progress=True)
    assert "minimize BFGS" in capsys.readouterr().err


def test_a_bar_without_tqdm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pullback\[progress\]'"):
        minimize(rosenbrock, START, progress=True)


def test_standard_errors_of_a_likelihood():
    data = np.random.default_rng(0).normal(3.0, 2.0, 400)

    def negative_log_likelihood(p):
        return np.sum(np.log(p["sigma"]) + (data - p["mean"]) ** 2 / (2 * p["sigma"] ** 2))

    found = minimize(negative_log_likelihood, {"mean": 0.0, "sigma": 1.0}, stderr=True, tol=1e-10, method="trust-exact")
    sigma = np.std(data)
    assert found.stderr["mean"] == pytest.approx(sigma / np.sqrt(400), rel=1e-6)
    assert found.stderr["sigma"] == pytest.approx(sigma / np.sqrt(800), rel=1e-6)
    np.testing.assert_allclose(found.covariance, np.diag([sigma**2 / 400, sigma**2 / 800]), atol=1e-9)
    scaled = minimize(
        negative_log_likelihood, {"mean": 0.0, "sigma": 1.0}, stderr=True, tol=1e-10, x_scale=7.0, method="trust-exact"
    )
    np.testing.assert_allclose(scaled.covariance, found.covariance, rtol=1e-6, atol=1e-12)


def test_what_has_no_standard_error_has_nan_and_a_warning():
    with pytest.warns(OptimizeWarning, match="not positive definite"):
        found = minimize(lambda x: (x[0] + x[1] - 1) ** 2, np.zeros(2), stderr=True)
    assert np.isnan(found.stderr).all()
    with pytest.warns(OptimizeWarning, match="1 parameters are at a bound"):
        found = minimize(lambda x: np.sum((x - 1) ** 2), np.zeros(2), bounds=[(None, 0.5), (None, None)], stderr=True)
    np.testing.assert_allclose(found.stderr, [np.nan, np.sqrt(0.5)])
    with pytest.raises(ValueError, match="without constraints"):
        minimize(rosenbrock, START, constraints=AS_DICTS[1], stderr=True)


def test_a_run_that_stops_early_or_never_moves_has_no_standard_errors():
    t = np.linspace(0, 1, 20)
    y = np.exp(-t)

    def residuals(p):
        return p[0] * np.exp(-p[1] * t) - y

    with pytest.warns(OptimizeWarning, match="this is no minimum"):
        found = minimize(lambda p: np.sum(residuals(p) ** 2), [1.0, 0.5], stderr=True, options={"maxiter": 1})
    assert np.isnan(found.stderr).all()
    with pytest.warns(OptimizeWarning, match="this is no minimum"):
        found = pb.optimize.least_squares(residuals, [2.0, 0.5], stderr=True, max_nfev=2, polish=False)
    assert np.isnan(found.stderr).all()

    def osborne(x, a, b, c, d, e):
        return a + b * np.exp(-x * d) + c * np.exp(-x * e)

    x, truth = np.arange(0.0, 330, 10), np.array([0.375, 1.9, -1.46, 0.0129, 0.0221])
    start = [50.0, 150.0, -100.0, 1.0, 2.0]  # from which MINPACK does not move, and says that it has converged
    with np.errstate(all="ignore"), pytest.warns(OptimizeWarning, match="this is no minimum"):
        found, covariance = pb.optimize.curve_fit(osborne, x, osborne(x, *truth), p0=start)
    assert (found == start).all()
    assert np.isnan(covariance).all()
    found, covariance = pb.optimize.curve_fit(osborne, x, osborne(x, *truth), p0=[0.5, 1.5, -1.0, 0.01, 0.02])
    np.testing.assert_allclose(found, truth, rtol=1e-6)  # a perfect fit
    assert np.isfinite(covariance).all()


# -- inside of transforms ----------------------------------------------------------------------------------------------
def pulled(x, theta, weight):
    return np.sum((x - theta) ** 2) + weight * np.sum(x**4)


def solution(theta, weight):
    return minimize(pulled, np.zeros(3), args=(theta, weight), method="trust-exact", tol=1e-12)


def test_the_solution_is_differentiable_by_args():
    theta, weight = np.array([1.0, 2.0, 3.0]), 0.1
    gradient = pb.func.grad(lambda t, w: np.sum(solution(t, w).x), argnums=(0, 1))(theta, weight)
    x = solution(theta, weight).x
    curvature = 2 + 12 * weight * x**2
    np.testing.assert_allclose(gradient[0], 2 / curvature, rtol=1e-9)
    assert gradient[1] == pytest.approx(np.sum(-4 * x**3 / curvature), rel=1e-9)
    envelope = pb.func.grad(lambda t: solution(t, weight).fun)(theta)
    np.testing.assert_allclose(envelope, 2 * (theta - x), rtol=1e-8)
    jacobian = pb.func.jacfwd(lambda t: solution(t, weight).x)(theta)
    np.testing.assert_allclose(jacobian, np.diag(2 / curvature), atol=1e-12)


def test_a_minimum_inside_of_an_objective():
    target = np.array([0.3, 0.5, 0.6])

    def outer(theta):
        return np.sum((solution(theta, 0.1).x - target) ** 2)

    found = minimize(outer, np.ones(3), tol=1e-9)
    np.testing.assert_allclose(solution(found.x, 0.1).x, target, atol=1e-6)


def test_a_derivative_by_the_start_is_zero_and_said():
    with pytest.warns(pb.extend.IndependentResultWarning):
        pb.func.grad(lambda x0: np.sum(minimize(lambda x: np.sum((x - 1) ** 2), x0).x))(np.zeros(2))


def test_a_captured_tensor_is_refused_eagerly_too():
    theta = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Pass it in args"):
        minimize(lambda x: np.sum((x - theta) ** 2), np.zeros(2))


def test_it_is_by_backward_too():
    theta = pb.tensor([1.0, 2.0], requires_grad=True)
    minimize(pulled, np.zeros(2), args=(theta, 0.0)).x.sum().backward()
    np.testing.assert_allclose(theta.grad.numpy(), 1)


def test_a_tree_is_differentiable_by_args():
    def fit(y):
        return minimize(
            lambda p, y: np.sum((p["a"] * T + p["b"] - y) ** 2), {"a": 0.0, "b": 0.0}, args=(y,), tol=1e-9
        ).x

    slopes = pb.func.jacobian(fit)(np.sin(T))
    expected = np.linalg.pinv(np.stack([T, np.ones(7)], 1))
    np.testing.assert_allclose(slopes["a"], expected[0], atol=1e-9)
    np.testing.assert_allclose(slopes["b"], expected[1], atol=1e-9)


def test_the_result_inside_has_nothing_that_would_look_constant():
    kept = []

    def value(theta):
        kept.append(solution(theta, 0.1))
        return np.sum(kept[0].x)

    pb.func.grad(value)(np.ones(3))
    assert {"x", "fun", "success", "derivatives"} <= kept[0].keys()
    assert not {"jac", "hess", "hess_inv"} & kept[0].keys()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda t: minimize(lambda x: pulled(x, t, 0.1), np.zeros(3)), r"but is not an argument.*Pass it in args"),
        (lambda t: minimize(pulled, np.zeros(3), (t, 0.1), method="Powell", bounds=[(0, 0.3)] * 3), "at a bound"),
        (lambda t: minimize(pulled, np.zeros(3), (t, 0.1), constraints=AS_DICTS[1]), "custom_root"),
        (lambda t: minimize(pulled, np.zeros(3), (t, 0.1), stderr=True), "outside the transform"),
        (lambda t: minimize(pulled, np.zeros(3), (np.ones(3), 0.1), bounds=Bounds(t, 9)), "bound"),
        (lambda t: minimize(lambda x: np.sum(x) * t[0], np.zeros(3), method="COBYQA"), "Pass it in args"),
    ],
)
def test_what_would_lose_a_derivative_is_refused(call, match):
    with pytest.raises((RuntimeError, TypeError), match=match):
        pb.func.grad(lambda t: np.sum(call(t).x))(np.array([1.0, 2.0, 3.0]))


def test_a_bound_that_does_not_hold_is_no_hindrance():
    gradient = pb.func.grad(lambda t: np.sum(minimize(pulled, np.zeros(3), (t, 0.0), bounds=[(-9, 9)] * 3).x))
    np.testing.assert_allclose(gradient(np.array([1.0, 2.0, 3.0])), 1)


def test_a_constraint_may_be_flat_where_the_solver_starts():
    constraint = NonlinearConstraint(lambda x: np.sum(x**2), 1, 1)
    found = minimize(lambda x: np.sum((x - 3) ** 2), np.full(2, 1e-8), constraints=constraint, method="trust-constr")
    np.testing.assert_allclose(found.x, 0.5**0.5, atol=1e-5)
    assert minimize(lambda x: x[0] + x[1], np.zeros(2), constraints=constraint, options={"maxiter": 2}).nit <= 2


def test_a_start_that_vmap_maps_is_refused():
    with pytest.raises(TypeError, match="vmap maps it"):
        pb.func.vmap(lambda x0: minimize(rosenbrock, x0).x)(np.ones((3, 2)))


# -- what is refused ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fun", "x0", "error", "match"),
    [
        (lambda x: 3.0, START, RuntimeError, "does not depend on 'x', so there is no gradient"),
        (lambda x: 3, START, RuntimeError, "so there is no gradient"),
        (lambda x: rosenbrock(x.detach() if isinstance(x, pb.Tensor) else x), START, RuntimeError, r"detach\(\) at"),
        (lambda x: np.round(np.sum(x)).astype(int), START, RuntimeError, "gradient"),
        (lambda x: x, START, RuntimeError, "real scalar"),
        (lambda x: np.sum(x) * 1j, START, RuntimeError, "complex"),
        (lambda x: np.sum(np.sqrt(x)), np.zeros(3), RuntimeError, "the gradient is not finite at x0"),
        (lambda x: np.sum(x) * np.nan, START, ValueError, "the objective is nan at x0"),
        (rosenbrock, {"n": 3}, TypeError, r"x0 has \['n'\], which is an int"),
        (rosenbrock, START * 1j, TypeError, "must be real"),
        (rosenbrock, [], ValueError, "no numbers"),
        (rosenbrock, [1.0, np.nan], ValueError, "must be finite"),
        (3, START, TypeError, "fun must be callable"),
    ],
)
def test_an_objective_that_cannot_be_minimised_is_refused(fun, x0, error, match):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(error, match=match):
            minimize(fun, x0)


def test_a_gradient_that_is_exactly_zero_is_said():
    with pytest.warns(RuntimeWarning, match="exactly zero"):
        minimize(lambda x: np.sum(np.floor(x)), START)


def test_a_gradient_that_becomes_nan_is_said():
    def masked(x):
        return np.where(x[0] > 0, x[0] ** 2, 0 * np.sqrt(np.abs(x[0] * 0))) + (x[0] + 1) ** 2

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        minimize(masked, [0.5])
    assert any("the gradient is not finite where the objective is" in str(w.message) for w in noted)


def test_an_end_among_nans_is_no_success():
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        found = minimize(lambda x: np.sum(np.log(x)) + np.sum(x**0.5), [0.1, 0.2], method="CG")
    assert not found.success
    assert np.isfinite(found.x).all() or any("no solution was found" in str(w.message) for w in noted)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"bounds": {"b": (0, 1)}}, r"bounds must be a dict with the keys \['a'\]"),
        ({"bounds": {"a": 3}}, r"a pair \(lower, upper\)"),
        ({"bounds": {"a": (2, 1)}}, "above its upper bound"),
        ({"bounds": {"a": (np.zeros(3), 1)}}, "shape"),
        ({"x_scale": 0.0}, "positive"),
        ({"x_scale": {"a": np.ones(3)}}, "shape"),
        ({"constraints": {"fun": np.sum}}, "'type'"),
        ({"constraints": LinearConstraint(np.ones((1, 3)), 0, 1)}, "3 columns for 2 parameters"),
        ({"jac": "4-point"}, "jac must be"),
    ],
)
def test_what_does_not_fit_is_refused(options, match):
    with pytest.raises((ValueError, TypeError), match=match):
        minimize(lambda p: np.sum(p["a"] ** 2), {"a": np.ones(2)}, **options)


def test_an_error_of_the_users_function_comes_through():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        minimize(broken, START)
