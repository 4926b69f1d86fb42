"""Derivatives of what solvers find: in both modes, nested, to third order; and what has none is refused."""

import functools
import itertools
import re
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg

import pullback as pb
from pullback.core.errors import ConvergenceError, GradientError, IndependentResultWarning
from pullback.func import (
    custom_fixed_point,
    custom_linear_solve,
    custom_minimum,
    custom_root,
    grad,
    jacrev,
    jvp,
    linearize,
    sparse_jacobian,
    vmap,
)


def cubic(x, a):
    return x**3 + x - a


@custom_root(cubic)
def cubic_root(x0, a):
    return scipy.optimize.brentq(cubic, -10, 10, args=(a,), xtol=1e-15)


@custom_fixed_point(lambda x, a: x - (x**3 + x - a) / (3 * x**2 + 1))
def cubic_by_newton(x0, a):
    for _ in range(50):
        x0 = x0 - (x0**3 + x0 - a) / (3 * x0**2 + 1)
    return x0


@custom_minimum(lambda x, a: x**4 / 4 + x**2 / 2 - a * x)
def cubic_by_minimum(x0, a):
    return scipy.optimize.brentq(cubic, -10, 10, args=(a,), xtol=1e-15)


# x'(a) = 1 / (3x^2 + 1), and what follows: the derivatives of orders 1, 2 and 3 where x is the root.
def derivative(x, order):
    d = 3 * x**2 + 1
    return (1 / d, -6 * x / d**3, -6 / d**4 + 108 * x**2 / d**5)[order - 1]


MODES = {"grad": grad, "jvp": lambda f: lambda a: jvp(f, (a,), (1.0,))[1]}


@pytest.mark.parametrize("solve", [cubic_root, cubic_by_newton, cubic_by_minimum], ids=["root", "fixed", "minimum"])
@pytest.mark.parametrize(
    "modes", [m for n in (1, 2, 3) for m in itertools.product(MODES, repeat=n)], ids=lambda m: "-".join(m)
)
def test_every_nesting_to_the_third_order_is_the_closed_form(solve, modes):
    def f(a):
        return solve(1.0, a)

    for mode in modes:
        f = MODES[mode](f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = f(2.5)
    assert type(found) in (np.float64, np.ndarray)
    expected = derivative(cubic_root(None, 2.5), len(modes))
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_perturbation_is_not_confused_with_another():
    def inner(x):
        return grad(lambda y: cubic_root(None, x + y * x))(1.0)  # x r'(2x)

    r = cubic_root(None, 3.0)
    assert grad(inner)(1.5) == pytest.approx(derivative(r, 1) + 2 * 1.5 * derivative(r, 2), rel=1e-10)


def test_a_root_within_the_condition_of_a_root():
    inner = custom_root(lambda y0, x, a: cubic_root(None, x * a), lambda y, x, a: cubic(y, x * a))
    solve = lambda x0, a: scipy.optimize.brentq(lambda x: x + cubic_root(None, x * a) - a, -5, 5, xtol=1e-15)  # noqa: E731
    f = functools.partial(custom_root(solve, lambda x, a: x + inner(None, x, a) - a), None)
    # With y = a - x: y^3 + y = x a, so that (3 y^2 + 1) (1 - x') = x + x' a, and once more.
    a, x = 1.2, f(1.2)
    s, y = 3 * (a - x) ** 2 + 1, a - x
    first = (s - x) / (s + a)
    second = (6 * y * (1 - first) ** 2 - 2 * first) / (s + a)
    assert [grad(f)(a), jvp(f, (a,), (1.0,))[1]] == pytest.approx([first, first], rel=1e-12)
    for g in (grad(grad(f)), lambda a: jvp(grad(f), (a,), (1.0,))[1], grad(lambda a: jvp(f, (a,), (1.0,))[1])):
        assert g(a) == pytest.approx(second, rel=1e-11)


def test_tensors_with_backward():
    a = pb.tensor([1.0, 2.5], requires_grad=True)
    find = custom_root(lambda x0, a: np.array([cubic_root(None, v) for v in a]), cubic)
    x = find(None, a)
    (first,) = pb.autograd.grad(x.sum(), a, create_graph=True)
    first.sum().backward()
    roots = [cubic_root(None, v) for v in (1.0, 2.5)]
    np.testing.assert_allclose(first.detach().numpy(), [derivative(r, 1) for r in roots], rtol=1e-12)
    np.testing.assert_allclose(a.grad.numpy(), [derivative(r, 2) for r in roots], rtol=1e-12)
    assert pb.autograd.gradcheck(lambda a: find(None, a), (a,), check_forward_ad=True)
    assert pb.autograd.gradgradcheck(lambda a: find(None, a), (a,), check_fwd_over_rev=True)


def circle(z, p):  # a circle and a line; unknowns and parameters in trees, with things that have no derivative
    return {"circle": z["x"] ** 2 + z["y"][0] ** 2 - p["radius"] ** 2, "line": z["y"] - p["slope"] * z["x"] * p["sign"]}


@custom_root(circle)
def crossing(z0, p):
    x = p["sign"] * p["radius"] / np.sqrt(1 + p["slope"] ** 2)
    return {"x": x, "y": np.array([p["slope"] * x * p["sign"]])}


def test_trees_of_unknowns_and_parameters():
    p = {"radius": 2.0, "slope": 0.5, "sign": 1, "name": "upper"}

    def value(radius, slope):
        return crossing(None, p | {"radius": radius, "slope": slope})["y"].sum()

    def closed(radius, slope):
        return slope * radius / np.sqrt(1 + slope**2)

    for i, j in itertools.product((0, 1), repeat=2):
        found, expected = (grad(grad(f, argnums=i), argnums=j)(2.0, 0.5) for f in (value, closed))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)

    def both(z):
        return {k: np.sum(v) for k, v in z.items()}

    found = jvp(
        lambda q: both(crossing(None, p | q)), ({"radius": 2.0, "slope": 0.5},), ({"radius": 1.0, "slope": 2.0},)
    )
    assert found[1]["y"] == pytest.approx(jvp(closed, (2.0, 0.5), (1.0, 2.0))[1], rel=1e-12)


def heat(u, k, source):  # -u'' + k u^3 = source, on the inside of [0, 1]
    n = u.size
    return (n + 1) ** 2 * (2 * u - np.append(u[1:], 0) - np.append(0, u[:-1])) + k * u**3 - source


def heat_solved(u0, k, source):
    n, u = source.size, np.zeros(source.size)
    bands = np.zeros((3, n))
    for _ in range(30):
        bands[0, 1:] = bands[2, :-1] = -((n + 1) ** 2)
        bands[1] = 2 * (n + 1) ** 2 + 3 * k * u**2
        u = u - scipy.linalg.solve_banded((1, 1), bands, heat(u, k, source))
    return u


def by_lgmres(operator, b):
    return scipy.sparse.linalg.lgmres(operator, b, rtol=1e-12, maxiter=1000)


@pytest.mark.parametrize(("n", "linear_solver"), [(30, None), (100, None), (30, by_lgmres)], ids=["lu", "gmres", "own"])
def test_a_boundary_value_problem_by_each_linear_solver(n, linear_solver):
    find = custom_root(heat_solved, heat, linear_solver=linear_solver)
    source = 50 * np.sin(np.linspace(0, 3, n))

    def energy(k, source):
        return np.sum(find(None, k, source) ** 2)

    h = 1e-3

    def plain(k):
        return np.sum(heat_solved(None, k, source) ** 2)

    first = (8 * (plain(2 + h) - plain(2 - h)) - plain(2 + 2 * h) + plain(2 - 2 * h)) / (12 * h)
    second = (plain(2 + 10 * h) - 2 * plain(2.0) + plain(2 - 10 * h)) / (100 * h**2)
    assert grad(energy)(2.0, source) == pytest.approx(first, rel=1e-8)
    assert jvp(lambda k: energy(k, source), (2.0,), (1.0,))[1] == pytest.approx(first, rel=1e-8)
    assert jvp(lambda k: grad(energy)(k, source), (2.0,), (1.0,))[1] == pytest.approx(second, rel=1e-3)
    assert grad(grad(energy))(2.0, source) == pytest.approx(second, rel=1e-3)
    by_source = grad(energy, argnums=1)(2.0, source)
    v = np.cos(np.arange(n))
    assert by_source @ v == pytest.approx(jvp(lambda s: energy(2.0, s), (source,), (v,))[1], rel=1e-8)


@pytest.mark.parametrize("holomorphic", [True, False])
def test_complex_unknowns_whether_the_condition_is_holomorphic_or_not(holomorphic):
    condition = (lambda z, a: z**2 - a) if holomorphic else (lambda z, a: z * abs(z) - a)
    closed = (lambda a: a**0.5) if holomorphic else (lambda a: a * abs(a) ** -0.5)
    find = custom_root(lambda z0, a: closed(a), condition)

    def value(f):
        return lambda a: abs(f(a) - (1 + 2j)) ** 2

    a = 2.0 - 1.5j
    f, g = (value(h) for h in (lambda a: find(None, a), closed))
    assert grad(f)(a) == pytest.approx(grad(g)(a), rel=1e-12)
    for t in (1.0 + 0j, 1j, 0.3 - 2j):
        assert jvp(f, (a,), (t,))[1] == pytest.approx(jvp(g, (a,), (t,))[1], rel=1e-12)
        found, expected = (jvp(lambda a, h=h: grad(h)(a), (a,), (t,))[1] for h in (f, g))
        assert found == pytest.approx(expected, rel=1e-11)


def test_single_precision_stays():
    a = np.array([1.0, 2.5], np.float32)
    find = custom_root(lambda x0, a: np.array([cubic_root(None, v) for v in a], np.float32), cubic)
    gradient = grad(lambda a: find(None, a).sum())(a)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, [derivative(cubic_root(None, v), 1) for v in (1.0, 2.5)], rtol=1e-5)


# -- minima -----------------------------------------------------------------------------------------------------------
def test_the_hyperparameter_of_a_ridge_regression():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 4)), rng.standard_normal(20)

    def objective(w, X, y, penalty):
        return np.sum((X @ w - y) ** 2) / 2 + np.exp(penalty) * np.sum(w**2) / 2

    def closed(X, y, penalty):
        return np.linalg.solve(X.T @ X + np.exp(penalty) * np.eye(4), X.T @ y)

    @custom_minimum(objective)
    def fit(w0, X, y, penalty):
        return scipy.optimize.minimize(objective, w0, (X, y, penalty), jac=grad(objective), tol=1e-9)

    def score(fit):
        return lambda X, y, penalty: np.sum(fit(X, y, penalty) ** 3)

    f, g = score(lambda *args: fit(np.zeros(4), *args)), score(closed)
    for i in range(3):
        np.testing.assert_allclose(grad(f, argnums=i)(X, y, 0.3), grad(g, argnums=i)(X, y, 0.3), rtol=1e-5, atol=1e-7)
    second = grad(grad(f, argnums=2), argnums=2)(X, y, 0.3)
    assert second == pytest.approx(grad(grad(g, argnums=2), argnums=2)(X, y, 0.3), rel=1e-5)


def test_scipys_conjugate_gradients_serve_for_the_hessian():
    find = custom_minimum(
        lambda x0, a: a / np.arange(1.0, 201),
        lambda x, a: np.sum(np.arange(1, 201) * x**2 / 2 - a * x),
        linear_solver=lambda operator, b: scipy.sparse.linalg.cg(operator, b, rtol=1e-13),
    )
    a = np.ones(200)
    np.testing.assert_allclose(grad(lambda a: find(None, a).sum())(a), 1 / np.arange(1.0, 201), rtol=1e-10)


# -- linear systems ---------------------------------------------------------------------------------------------------
A, B = np.array([[3.0, 1.0, 0.5], [0.0, 2.0, -1.0], [1.0, 0.0, 4.0]]), np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("own_transpose", [True, False])
def test_a_linear_solver_is_used_for_its_derivatives_too(own_transpose):
    calls = []

    def solver(b, A):
        calls.append("A")
        return scipy.linalg.solve(A, b)

    def transpose_solver(b, A):
        calls.append("A^T")
        return scipy.linalg.solve(A.T, b)

    solve = custom_linear_solve(
        solver, lambda x, A: A @ x, transpose_solver=transpose_solver if own_transpose else None
    )

    def f(A, b):
        return np.sum(solve(b, A) ** 3)

    def g(A, b):
        return np.sum(np.linalg.solve(A, b) ** 3)

    for i in range(2):
        np.testing.assert_allclose(grad(f, argnums=i)(A, B), grad(g, argnums=i)(A, B), rtol=1e-12)
    assert calls == ["A", "A^T"] * 2 if own_transpose else calls == ["A"] * 2
    calls.clear()
    moved = jvp(f, (A, B), (B[:, None] * B, A[0]))[1]
    assert moved == pytest.approx(jvp(g, (A, B), (B[:, None] * B, A[0]))[1], rel=1e-12)
    assert calls == ["A"] * 2

    def second(f):
        return grad(lambda A: np.sum(np.sin(grad(f)(A, B))))(A)

    np.testing.assert_allclose(second(f), second(g), rtol=1e-10)

    def mixed(f):
        return jvp(lambda A: grad(f)(A, B), (A,), (A**2,))[1]

    np.testing.assert_allclose(mixed(f), mixed(g), rtol=1e-10)


def test_a_symmetric_solver_serves_for_both_and_a_wrong_claim_is_found():
    symmetric = A + A.T
    solve = custom_linear_solve(lambda b, A: scipy.linalg.solve(A, b), lambda x, A: A @ x, symmetric=True)
    np.testing.assert_allclose(grad(lambda b: solve(b, symmetric)[0])(B), np.linalg.inv(symmetric)[0], rtol=1e-12)
    with pytest.raises(ConvergenceError, match=r"solver did not solve a system with A\^H, the conjugate transpose"):
        grad(lambda b: solve(b, A)[0])(B)


def test_complex_linear_systems_are_transposed_conjugated():
    C = A + 1j * A[::-1]
    solve = custom_linear_solve(
        lambda b, C: scipy.linalg.solve(C, b), lambda x, C: C @ x,
        transpose_solver=lambda b, C: scipy.linalg.solve(C.conj().T, b),
    )  # fmt: skip
    f, g = (lambda C, s=s: np.sum(abs(s(B + 0j, C)) ** 2) for s in (solve, lambda b, C: np.linalg.solve(C, b)))
    np.testing.assert_allclose(grad(f)(C), grad(g)(C), rtol=1e-12)


# -- what is refused, and what is said --------------------------------------------------------------------------------
TRANSFORMS = {"grad": lambda f: grad(f)(2.0), "jvp": lambda f: jvp(f, (2.0,), (1.0,)), "grad of jvp": lambda f: grad(
    lambda a: jvp(f, (a,), (1.0,))[1])(2.0)}  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("other", ["no argument", "a constant", "a differentiated one"])
def test_what_is_captured_and_differentiated_is_refused(transform, other):
    def f(a):
        find = custom_root(lambda x0, b: 1.5, lambda x, b: x - 0 * b - a + 0.5)
        b = {"no argument": None, "a constant": 1.0, "a differentiated one": a}[other]
        if b is None:
            return custom_root(lambda x0: 1.5, lambda x: x - a + 0.5)(None)
        return find(None, b)

    with pytest.raises(GradientError, match="the condition uses a variable that is being differentiated"):
        TRANSFORMS[transform](f)


def test_a_captured_leaf_is_refused_and_a_detached_one_is_a_constant():
    a = pb.tensor(2.0, requires_grad=True)
    find = custom_root(lambda x0: 2.0, lambda x: x - a)
    with pytest.raises(GradientError, match="not an argument"):
        find(None)
    with pb.no_grad():
        assert find(None) == 2.0
    assert custom_root(lambda x0: 2.0, lambda x: x - a.detach())(None) == 2.0


def test_what_only_the_solver_captures_is_refused():
    with pytest.raises(GradientError, match="the solver uses a variable that is being differentiated"):
        grad(lambda a: custom_root(lambda x0: a, lambda x: x - 2.0)(None))(2.0)


def test_a_captured_variable_of_a_minimum_is_refused():
    with pytest.raises(GradientError, match="not an argument"):
        grad(lambda a: custom_minimum(lambda x0: 2.0, lambda x: (x - a) ** 2)(None))(2.0)


def test_what_is_given_by_keyword_is_not_differentiated_in_silence():
    @custom_root(lambda x, a=1.0: x - a)
    def find(x0, a=1.0):
        return a

    with pytest.raises(GradientError, match="'a' is being differentiated, but keyword arguments go only to the solver"):
        grad(lambda a: find(None, a=a))(1.0)
    assert find(None, a=1.0) == 1.0


def test_what_matvec_or_its_solvers_capture_is_refused():
    with pytest.raises(GradientError, match="the condition uses a variable"):
        grad(lambda a: custom_linear_solve(lambda b: b / 2.0, lambda x: x * a)(1.0))(2.0)
    a = pb.tensor(2.0, requires_grad=True)
    solve = custom_linear_solve(lambda b, c: b / c, lambda x, c: x * c, transpose_solver=lambda b, c: b / a)
    with pytest.raises(GradientError, match="the transpose_solver uses a variable"):
        grad(lambda c: solve(1.0, c))(2.0)


def test_a_singular_jacobian_is_refused_in_both_modes():
    double = custom_root(lambda x0, a: 0.0, lambda x, a: x**2 - a)
    for differentiate in (grad(lambda a: double(None, a)), lambda a: jvp(lambda a: double(None, a), (a,), (1.0,))):
        with pytest.raises(np.linalg.LinAlgError, match=r"custom_root\(<lambda>\): the Jacobian .* is singular"):
            differentiate(0.0)
    two = custom_root(
        lambda x0, a: np.array([a, 0.0]), lambda x, a: np.stack([x[0] + x[1] - a, 2 * x[0] + 2 * x[1] - 2 * a])
    )
    with pytest.raises(np.linalg.LinAlgError, match="2 x 2"):
        grad(lambda a: two(None, a)[0])(1.0)


def test_a_large_singular_system_is_refused():
    n = 100
    find = custom_root(lambda x0, a: a * np.ones(n), lambda x, a: x - np.roll(x, 1) + 0 * a)
    with pytest.raises(ConvergenceError, match=r"100 unknowns.*GMRES.*singular or ill-conditioned"):
        grad(lambda a: find(None, a)[3])(1.0)


def test_a_solver_that_did_not_converge_is_refused():
    with pytest.raises(ConvergenceError, match=r"custom_root\(<lambda>\): .* the condition is 0.5 there.*tol"):
        custom_root(lambda x0, a: a + 0.5, lambda x, a: x - a)(None, 2.0)
    with pytest.raises(ConvergenceError, match="nan"):
        custom_root(lambda x0, a: np.array([np.nan, 1.0]), lambda x, a: x - a)(None, 1.0)
    assert custom_root(lambda x0, a: a + 0.5, lambda x, a: x - a, tol=1.0)(None, 2.0) == 2.5
    large = custom_root(lambda x0, a: a + 1e3, lambda x, a: x - a)  # small beside what it is the difference of
    assert large(None, 1e12) == 1e12 + 1e3
    with pytest.raises(ConvergenceError, match="the gradient of the objective"):
        custom_minimum(lambda x0, a: 0.0, lambda x, a: (x - a) ** 2)(None, 1.0)
    with pytest.raises(ConvergenceError, match=r"x - function\(x\)"):
        custom_fixed_point(lambda x0, a: 0.0, lambda x, a: np.cos(x) * a)(None, 1.0)


def test_the_unit_of_the_condition_hides_nothing_where_a_derivative_is_taken():
    find = custom_root(lambda x0, a: 1.1 * a, lambda x, a: 1e-6 * (x - a))
    assert find(None, 2.0) == 2.2  # the residual is below tol
    for differentiate in (grad(lambda a: find(None, a)), lambda a: jvp(lambda a: find(None, a), (a,), (1.0,))):
        with pytest.raises(
            ConvergenceError, match=r"a step of Newton's method would move a number of size 2\.2 by 0\.2 \(the largest"
        ):
            differentiate(2.0)
    many = custom_root(lambda x0, a: 1.1 * a * np.ones(100), lambda x, a: 1e-6 * (x - a))
    with pytest.raises(ConvergenceError, match=r"a step of Newton's method would move a number of size \S+ by 0"):
        grad(lambda a: many(None, a).sum())(2.0)
    at_zero = custom_root(lambda x0, a: 1e-12, lambda x, a: np.sin(x) * a)
    assert abs(grad(lambda a: at_zero(None, a))(2.0)) < 1e-11


def test_units_of_unknowns_and_equations_make_no_jacobian_singular():
    units, scales = np.array([1e-12, 1.0, 1e12]), np.array([1e9, 1e-9, 1.0])
    find = custom_root(lambda x0, a: np.linalg.solve(A, a) * units, lambda x, a: (A @ (x / units) - a) * scales)
    np.testing.assert_allclose(grad(lambda a: find(None, a)[0])(B), np.linalg.inv(A)[0] * 1e-12, rtol=1e-12)
    moved = jvp(lambda a: find(None, a), (B,), (B,))[1]
    np.testing.assert_allclose(moved, find(None, B), rtol=1e-12)


def test_scipys_own_word_of_failure_is_heard():
    def solver(x0, a):
        return scipy.optimize.root(lambda x: x**2 + a, x0)

    with pytest.raises(ConvergenceError, match="the solver did not converge: The iteration is not"):
        custom_root(solver, lambda x, a: x**2 + a)(np.ones(1), 1.0)


def test_a_linear_solver_that_did_not_converge_is_refused():
    find = custom_root(
        heat_solved, heat, linear_solver=lambda A, b: scipy.sparse.linalg.gmres(A, b, maxiter=1, restart=2)
    )
    with pytest.raises(ConvergenceError, match="was not solved by linear_solver, which gave info="):
        grad(lambda k: find(None, k, np.ones(30)).sum())(1.0)
    find = custom_root(heat_solved, heat, linear_solver=lambda A, b: b[:3])
    with pytest.raises(ValueError, match=re.escape("shape (30,)")):
        grad(lambda k: find(None, k, np.ones(30)).sum())(1.0)


def test_what_a_linear_solver_gives_is_tried():
    find = custom_root(heat_solved, heat, linear_solver=lambda A, b: b)
    with pytest.raises(ConvergenceError, match="was not solved by linear_solver: the residual"):
        grad(lambda k: find(None, k, np.ones(30)).sum())(1.0)


def test_least_squares_serve_where_the_system_has_many_solutions():
    find = custom_root(
        lambda x0, a: np.array([a, 0.0]),
        lambda x, a: np.stack([x.sum() - a, 2 * (x.sum() - a)]),
        linear_solver=lambda A, b: scipy.sparse.linalg.lsqr(A, b)[0],
    )
    assert grad(lambda a: find(None, a).sum() ** 2)(3.0) == pytest.approx(6.0, rel=1e-6)  # of all solutions
    with pytest.raises(ConvergenceError, match="linear_solver"):
        grad(lambda a: find(None, a)[0])(3.0)  # of one of them


def test_the_start_has_no_derivative_and_it_is_said():
    with pytest.warns(IndependentResultWarning, match="'x0'"):
        assert grad(lambda x0: cubic_by_newton(x0, 2.5))(1.0) == 0
    with pytest.warns(IndependentResultWarning, match="does not depend on the arguments that are differentiated"):
        assert grad(lambda a: custom_root(lambda x0, a: 1.0, lambda x, a: x - 1)(None, a))(2.0) == 0


def test_equations_and_unknowns_must_be_as_many():
    with pytest.raises(GradientError, match="1 numbers for a solution of 2"):
        custom_root(lambda x0: np.ones(2), lambda x: x.sum() - 2)(None)
    with pytest.raises(GradientError, match=re.escape("takes 1 arrays of shapes [(2,)] and gives 1 of [(1,)]")):
        custom_fixed_point(lambda x0: np.ones(2), lambda x: x[:1])(None)
    with pytest.raises(TypeError, match="got dtype int64"):
        custom_root(lambda x0: np.ones(2, int), lambda x: x - 1)(None)


def test_options_go_to_the_solver_and_aux_comes_back():
    @custom_root(cubic, has_aux=True)
    def newton(x, a, *, steps=3):
        for _ in range(steps):
            x = x - cubic(x, a) / (3 * x**2 + 1)
        return x, {"steps": steps}

    root, aux = newton(1.0, 2.5, steps=20)
    assert aux == {"steps": 20}
    assert root == pytest.approx(cubic_root(None, 2.5), rel=1e-12)
    gradient, aux = grad(lambda a: newton(1.0, a, steps=7), has_aux=True)(2.5)
    assert aux == {"steps": 7}
    assert gradient == pytest.approx(derivative(root, 1), rel=1e-6)
    with pytest.raises(GradientError, match="must return a pair"):
        custom_root(lambda x0: 1.0, lambda x: x - 1, has_aux=True)(None)


def test_what_is_not_callable_is_refused_at_once():
    for make in (custom_root, custom_fixed_point, custom_minimum, custom_linear_solve):
        for wrong in ((1.0,), (np.sin, 1.0), (1.0, np.sin)):
            with pytest.raises(TypeError, match=rf"func\.{make.__name__.rpartition('.')[2]}: \w+ must be callable"):
                make(*wrong)
    with pytest.raises(TypeError, match="not both"):
        custom_linear_solve(np.sin, np.sin, transpose_solver=np.sin, symmetric=True)


def test_the_jacobian_is_factored_once_for_all_rows_and_orders(monkeypatch):
    from pullback.func.implicit import linear_solvers

    factored = []
    real = linear_solvers.scipy.linalg.lapack.dgetrf
    monkeypatch.setattr(linear_solvers.scipy.linalg.lapack, "dgetrf", lambda a: factored.append(a.shape) or real(a))
    x = pb.tensor(2.5, requires_grad=True)
    y = cubic_root(None, x)
    for _ in range(3):
        (y,) = pb.autograd.grad(y, x, create_graph=True)
    assert y.item() == pytest.approx(derivative(cubic_root(None, 2.5), 3), rel=1e-9)
    assert factored == [(1, 1)]


def test_the_jacobian_is_factored_anew_where_a_hook_gives_other_numbers():
    factor = [1.0]
    a = pb.tensor([2.5, 1.0], requires_grad=True)
    find = custom_root(lambda x0, a: np.array([cubic_root(None, v) for v in a]), cubic, tol=1.0)
    with pb.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x * factor[0]):
        x = find(None, a)
    first = pb.autograd.grad(x.sum(), a, retain_graph=True)[0]
    factor[0] = 2.0
    second = pb.autograd.grad(x.sum(), a)[0]
    for found, times in ((first, 1.0), (second, 2.0)):
        np.testing.assert_allclose(found.numpy(), derivative(times * x.detach().numpy(), 1), rtol=1e-12)


def test_plain_calls_are_the_solver():
    assert type(cubic_root(None, 2.5)) is float
    assert cubic_root.__name__ == "cubic_root"
    assert repr(cubic_root) == "<custom_root(cubic_root)>"


@pytest.mark.parametrize("kind", ["linear_solver", "gmres", "minimum"])
def test_an_unfinished_root_in_a_small_unit_is_refused_whatever_solves_the_system(kind):
    n = 100
    by_cg = lambda A, b: scipy.sparse.linalg.cg(A, b, rtol=1e-12)  # noqa: E731
    condition = lambda u, b: 1e-9 * (u**3 - b)  # noqa: E731
    for start, right in ((1.5, False), (2.0, True)):
        solver = lambda x0, b, start=start: np.full(n, start)  # noqa: E731
        if kind == "minimum":
            find = custom_minimum(solver, lambda u, b: 1e-9 * np.sum(u**4 / 4 - b * u), linear_solver=by_cg)
        else:
            find = custom_root(solver, condition, linear_solver=by_cg if kind == "linear_solver" else None)
        b, ones = np.full(n, 8.0), np.ones(n)
        total = lambda b, find=find: find(None, b).sum()  # noqa: E731
        for derivative in (lambda f: grad(f)(b).sum(), lambda f: jvp(f, (b,), (ones,))[1]):  # noqa: B023
            if right:
                assert derivative(total) == pytest.approx(n / 12, rel=1e-9)
                continue
            with pytest.raises(
                ConvergenceError, match=r"a step of Newton's method would move a number of size \S+ by 0"
            ):
                derivative(total)


def test_a_small_unknown_beside_a_large_one_is_not_hidden():
    condition = lambda x, a: {"a": (x["a"] - 1e6) * 1e-9, "b": 1e-9 * (x["b"] ** 2 - a)}  # noqa: E731
    for b in (1.5, 2.0):
        find = custom_root(lambda x0, a, b=b: {"a": np.array([1e6]), "b": np.array(b)}, condition)
        if b == 2.0:
            assert grad(lambda a: find(None, a)["b"])(4.0) == pytest.approx(0.25)  # noqa: B023
        else:
            with pytest.raises(ConvergenceError, match=r"a number of size 1\.5 by 0\.583"):
                grad(lambda a: find(None, a)["b"])(4.0)  # noqa: B023


@pytest.mark.parametrize("kind", ["symmetric", "transpose_solver", "linear_solver", "factors"])
def test_a_condition_reads_the_variable_of_a_loop_as_it_was_at_the_call(kind):
    def total(b, bound):
        s = 0.0
        for i in range(3):
            late = lambda x, b: (1.0 + i) * b * x  # noqa: B023, E731
            matvec = (lambda x, b, i=i: (1.0 + i) * b * x) if bound else late
            solver = lambda r, b, i=i: r / ((1.0 + i) * b)  # noqa: E731
            if kind in ("symmetric", "transpose_solver"):
                options = {"symmetric": True} if kind == "symmetric" else {"transpose_solver": solver}
                x = custom_linear_solve(solver, matvec, **options)(np.ones(2), b)
            else:
                by_cg = scipy.sparse.linalg.cg if kind == "linear_solver" else None
                condition = lambda x, b, matvec=matvec: matvec(x, b) - 1  # noqa: E731
                find = custom_root(lambda x0, b, i=i: np.full(2, 1 / (1.0 + i) / b), condition, linear_solver=by_cg)
                x = find(None, b)
            s = s + x.sum()
        return s

    expected = -2 * (1 + 1 / 2 + 1 / 3) / 4
    for bound in (True, False):
        assert grad(lambda b, bound=bound: total(b, bound))(2.0) == pytest.approx(expected)
        assert grad(grad(lambda b, bound=bound: total(b, bound)))(2.0) == pytest.approx(-expected)


def test_a_condition_that_is_no_function_is_refused():
    drawn = iter(np.linspace(1.0, 2.0, 50))
    find = custom_root(lambda x0, b: 1 / b, lambda x, b: (b * x - 1) * next(drawn) + 1e-4 * next(drawn))
    with pytest.raises(GradientError, match="the condition gives another result in backward than in forward"):
        grad(lambda b: find(None, b))(2.0)


def test_a_poisson_problem_that_gmres_cannot_solve_is_solved_by_factors():
    n = 200
    ones = np.ones(n)
    matrix = (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)) * (n + 1) ** 2

    @custom_root(lambda u, k: (2 * u - np.pad(u, 1)[2:] - np.pad(u, 1)[:-2]) * (n + 1) ** 2 + k * u - 1)
    def find(u0, k):
        return np.linalg.solve(matrix + k * np.eye(n), ones)

    u = find(None, 1.0)
    expected = -ones @ np.linalg.solve(matrix + np.eye(n), u)
    total = lambda k: find(None, k).sum()  # noqa: E731
    assert [grad(total)(1.0), jvp(total, (1.0,), (1.0,))[1]] == pytest.approx([expected] * 2, rel=1e-7)


def test_the_results_of_scipys_scalar_solvers_and_fsolve_are_taken_and_their_failures_heard():
    square = lambda x, a: x**2 - a  # noqa: E731
    o = scipy.optimize
    solvers = {
        "root_scalar": lambda x0, a, n=100: o.root_scalar(square, args=(a,), bracket=(0, 9), maxiter=n),
        "brentq": lambda x0, a, n=100: o.brentq(square, 0, 9, args=(a,), full_output=True, disp=False, maxiter=n),
        "fsolve": lambda x0, a, n=0: o.fsolve(square, 1.0, args=(a,), full_output=True, maxfev=n),
    }
    for name, solver in solvers.items():
        find = custom_root(solver, square)
        assert grad(lambda a: find(None, a).sum())(4.0) == pytest.approx(0.25, rel=1e-6), name  # noqa: B023
        with pytest.raises(ConvergenceError, match="the solver did not converge"):
            find(None, 4.0, n=2)


def test_a_linear_solver_may_overwrite_the_right_side():
    def careless(operator, b):
        u = np.linalg.solve(operator @ np.eye(len(b)), b)
        b[:] = 0
        return u

    find = custom_root(lambda x0, a: np.cbrt(a), lambda x, a: x**3 - a, linear_solver=careless)
    np.testing.assert_allclose(grad(lambda a: find(None, a).sum())(np.array([1.0, 8.0])), [1 / 3, 1 / 12])


def test_vmap_of_a_root_goes_sample_by_sample():
    find = custom_root(lambda x0, a: np.cbrt(a), lambda x, a: x**3 - a)
    a = np.array([1.0, 8.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = pb.func.vmap(grad(lambda a: find(None, a)))(a)
        outside = grad(lambda a: pb.func.vmap(lambda a: find(None, a))(a).sum())(a)
    np.testing.assert_allclose([inside, outside], [[1 / 3, 1 / 12]] * 2)


_SECOND = {
    "custom_root": pb.func.custom_root(lambda _, a: np.cbrt(a), lambda x, a: x**3 - a),
    "custom_minimum": pb.func.custom_minimum(lambda _, a: np.cbrt(a), lambda x, a: np.sum(x**4 / 4 - a * x)),
    "custom_fixed_point": pb.func.custom_fixed_point(lambda _, a: np.cbrt(a), lambda x, a: (2 * x + a / x**2) / 3),
    "custom_linear_solve": pb.func.custom_linear_solve(lambda b, a: b / a, lambda x, a: a * x),
}


@pytest.mark.parametrize("name", _SECOND)
def test_hessians_that_pull_where_the_function_has_ended(name):
    solve, x = _SECOND[name], np.array([0.3, 0.5])

    def f(a):  # the cube root, each time
        return np.sum(solve(a, a ** (2 / 3)) if name == "custom_linear_solve" else solve(None, a))

    expected = np.diag(-2 / 9 * x ** (-5 / 3))
    found = {
        "hessian": pb.func.hessian(f)(x),
        "forward over reverse": pb.func.jacfwd(pb.func.jacrev(f))(x),
        "reverse over reverse": pb.func.jacrev(pb.func.jacrev(f))(x),
        "reverse over forward": pb.func.jacrev(pb.func.jacfwd(f))(x),
        "pulled outside": pb.func.jacfwd(lambda a: pb.func.vjp(f, a)[1](1.0)[0])(x),
    }
    for way, matrix in found.items():
        np.testing.assert_allclose(matrix, expected, rtol=1e-7, atol=1e-10, err_msg=way)


def test_a_rule_that_differentiates_itself_where_the_function_has_ended():
    def rule(cotangent, y, x):
        return cotangent * pb.func.grad(lambda x: np.sum(np.sin(x)))(x)

    f = pb.custom_vjp(np.sin, vjp=rule)
    x = np.array([0.3, 0.5])
    np.testing.assert_allclose(pb.func.vjp(lambda x: np.sum(f(x)), x)[1](1.0)[0], np.cos(x))
    second = pb.func.grad(lambda x: np.sum(pb.func.vjp(lambda x: np.sum(f(x)), x)[1](1.0)[0]))
    np.testing.assert_allclose(second(x), -np.sin(x))


def test_the_hessian_of_what_a_root_gives():
    """Its backward runs inside of vmap, where the Jacobian of the condition must be recorded anew."""
    find = pb.func.custom_root(lambda x0, a: np.sqrt(a), lambda x, a: x**2 - a)
    a = np.array([1.3, 0.7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it goes sample by sample
        for second in (pb.func.hessian, lambda f: pb.func.jacrev(pb.func.jacrev(f))):
            np.testing.assert_allclose(second(lambda a: find(None, a).sum())(a), np.diag(-(a**-1.5) / 4), rtol=1e-9)


# -- linearize: the linear system is an instruction of the tape --------------------------------------------------------
def bent(x, a):  # 100 unknowns: GMRES, not factors
    beside = np.concatenate([x[1:], x[:1]])
    return 4 * x + 0.1 * x**3 - beside - a


@custom_root(bent)
def bent_root(x0, a):
    x = a / 3
    for _ in range(200):
        x = x - bent(x, a) / 6
    return x


@pytest.mark.parametrize("n", [3, 100])
def test_a_linearised_solver_gives_what_jvp_gives_for_each_tangent(n):
    a, tangents = np.cos(np.arange(n)), np.random.default_rng(0).normal(size=(3, n))

    def f(a):
        return {"x": bent_root(None, a**2), "sum": bent_root(None, a).sum()}

    value, push = linearize(f, a)
    given = a.copy()
    a[:] = 7.0  # what is known is kept as it was
    for t in tangents:
        expected_value, expected = jvp(f, (given,), (t,))
        found = push(t)
        for key in ("x", "sum"):
            np.testing.assert_allclose(value[key], expected_value[key], rtol=1e-12)
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-8, atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once, that it goes sample by sample
        rows = vmap(lambda t: push(t)["x"])(tangents)
    np.testing.assert_allclose(rows, [push(t)["x"] for t in tangents], rtol=1e-8, atol=1e-10)
    pulled = grad(lambda t: push(t)["sum"])(tangents[0])  # J^T 1
    np.testing.assert_allclose(pulled, grad(lambda a: bent_root(None, a).sum())(given), rtol=1e-8, atol=1e-10)


def test_a_sparse_jacobian_of_a_solution():
    pattern = np.ones((3, 3))
    a = np.array([0.3, 1.0, -2.0])
    found = sparse_jacobian(lambda a: bent_root(None, a), sparsity=pattern)(a)
    np.testing.assert_allclose(found.toarray(), jacrev(lambda a: bent_root(None, a))(a), rtol=1e-9)


def test_several_systems_of_which_not_all_depend_on_the_tangent():
    def f(radius, slope):
        return crossing(None, {"radius": radius, "slope": slope, "sign": 1.0})

    primals = np.array(2.0), np.array([0.5])
    _, push = linearize(f, *primals)
    for given in ((1.0, np.array([0.0])), (0.0, np.array([1.0])), (0.3, np.array([-2.0]))):
        given = (np.array(given[0]), given[1])
        expected = jvp(f, primals, given)[1]
        found = push(*given)
        np.testing.assert_allclose(found["x"], expected["x"], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-10, atol=1e-12)
