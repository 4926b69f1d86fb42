"""What solvers and optimisers call many times is compiled by itself: with the results of the uncompiled function."""

import math
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import pullback as pb
from pullback.compiler import callbacks
from pullback.core.errors import ConvergenceError
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, odeint, vmap
from pullback.func.implicit import sensitivities, trajectories
from pullback.scipy import integrate

RNG = np.random.default_rng(20)
COUPLING = 0.3 * RNG.standard_normal((6, 6)) - np.eye(6)
TIGHT = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture
def made(monkeypatch):
    """The functions that have become programs, or have been tried."""
    found = []

    class Noted(callbacks.Callback):
        def __init__(self, *args):
            super().__init__(*args)
            found.append(self)

    monkeypatch.setattr(callbacks, "Callback", Noted)
    return found


@pytest.fixture
def by_equations(monkeypatch):
    """No sensitivities of all steps at once: derivatives solve their differential equations."""
    monkeypatch.setattr(sensitivities, "_STATES", 0)


def programs(callback):
    return [program for variants in callback._by_signature.values() for program in variants.programs]


def gradient(f, p, step=1e-3):
    """By differences of fourth order."""
    found = []
    for i in range(len(p)):
        h = np.zeros(len(p))
        h[i] = step * abs(p[i])
        found.append((8 * (f(p + h) - f(p - h)) - f(p + 2 * h) + f(p - 2 * h)) / (12 * h[i]))
    return np.array(found)


# -- problems: a function of parameters, where, and the relative error of differences ----------------------------------
def epidemic(p, solve=integrate.solve_ivp, **options):
    def slope(t, y, infection, recovery):
        s, i, _ = y
        return np.stack([-infection * s * i, infection * s * i - recovery * i, recovery * i])

    times, start = np.linspace(0, 30, 30), np.array([0.99, 0.01, 0.0])
    return solve(slope, (0.0, 30.0), start, t_eval=times, args=(p[0], p[1]), **(TIGHT | options)).y[1]


def prey(p):
    """Lotka and Volterra: at some times, and when the predators are as many as in the beginning."""

    def slope(t, y):
        return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[1] * y[0] * y[1] - p[2] * y[1]])

    def event(t, y):
        return y[1] - 1.2

    found = integrate.solve_ivp(slope, (0, 5), [1.5, 1.0], t_eval=[1.0, 2.5, 4.0], events=event, **TIGHT)
    return np.sum(found.y**2) + np.sum(found.t_events[0])


def reactions(method):
    def last(p):
        def slope(t, y):
            a, b, c = y
            return np.stack([-p[0] * a + p[1] * b * c, p[0] * a - p[1] * b * c - p[2] * b**2, p[2] * b**2])

        tight = {"rtol": 1e-8, "atol": 1e-13, "t_eval": [0.4, 40.0]}
        return np.log(integrate.solve_ivp(slope, (0, 40), [1.0, 0.0, 0.0], method, **tight).y[1, -1])

    return last


def pendulum(p):
    def slope(y, t):
        return np.stack([y[1], -p[0] * np.sin(y[0]) - p[1] * y[1]])

    return np.sum(integrate.odeint(slope, [1.0, 0.0], np.linspace(0, 5, 20), rtol=1e-10, atol=1e-12)[:, 0])


def network(p):
    def slope(y, t, p):
        return np.tanh(COUPLING @ y * p[0]) - p[1] * np.sin(t) * y

    return np.sum(odeint(slope, np.ones(6), np.linspace(0, 3, 8), p) ** 2)


def switched(p):
    def slope(t, y):
        rate = p[0] if t < 0.5 else p[1]
        return -rate * y

    return np.sum(integrate.solve_ivp(slope, (0, 1), [1.0, 2.0], max_step=0.02, **TIGHT).y[:, -1])


def rotating(p):
    return np.real(integrate.solve_ivp(lambda t, y: (1j * p[0] - p[1]) * y, (0, 3), [1.0 + 0j], **TIGHT).y[0, -1])


def oscillating(p):
    def integrand(x):
        return np.exp(-p[0] * x) * np.cos(p[1] * x**2) / (1 + p[2] * x)

    return integrate.quad(integrand, 0, 10, limit=300, epsabs=1e-11, epsrel=1e-11)[0]


def looped(p):
    def step(x, k, p):
        return np.tanh(COUPLING @ x * p[0] + p[1])

    return np.sum(pb.func.checkpointed_loop(step, np.full(6, 0.3), 100, p) ** 2)


PROBLEMS = {
    "epidemic": (lambda p: np.sum(epidemic(p) ** 2), [0.5, 0.2]),
    "prey": (prey, [1.1, 0.7, 0.9]),
    "reactions BDF": (reactions("BDF"), [0.04, 1e4, 3e7]),
    "reactions Radau": (reactions("Radau"), [0.04, 1e4, 3e7]),
    "reactions LSODA": (reactions("LSODA"), [0.04, 1e4, 3e7]),
    "pendulum": (pendulum, [1.5, 0.1]),
    "network": (network, [0.7, 0.3]),
    "switched": (switched, [0.5, 0.7]),
    "rotating": (rotating, [1.3, 0.4]),
    "oscillating": (oscillating, [0.3, 2.0, 1.0]),
    "looped": (looped, [0.5, 0.2]),
}
STEPS = {"switched": 0.05}  # of differences: where a slope jumps the solver's errors do too


@pytest.mark.parametrize("name", PROBLEMS)
def test_values_and_gradients_are_those_without_programs_and_of_differences(name, monkeypatch):
    f, p = PROBLEMS[name][0], np.array(PROBLEMS[name][1])
    found, value = grad(f)(p), f(p)
    np.testing.assert_allclose(found, gradient(f, p, STEPS.get(name, 1e-3)), rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(jvp(f, (p,), (p,))[1], found @ p, rtol=1e-5)
    monkeypatch.setenv("PULLBACK_COMPILE", "0")
    assert f(p) == value
    monkeypatch.setattr(sensitivities, "_STATES", 0)
    np.testing.assert_allclose(found, grad(f)(p), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("name", ["epidemic", "network", "switched", "rotating", "oscillating", "looped"])
def test_the_equations_of_derivatives_become_programs(name, by_equations, made):
    f, p = PROBLEMS[name][0], np.array(PROBLEMS[name][1])
    found = grad(f)(p)
    assert sum(map(len, map(programs, made))) >= 1
    assert not any(callback._fallbacks for callback in made)
    np.testing.assert_allclose(found, gradient(f, p, STEPS.get(name, 1e-3)), rtol=1e-4, atol=1e-8)


def test_the_steps_of_a_solution_do_not_depend_on_programs(by_equations, monkeypatch):
    counts = []
    run = trajectories.Integrator.run

    def counted(*args, **kwargs):
        found = run(*args, **kwargs)
        counts[-1].append(found[0].nfev)
        return found

    monkeypatch.setattr(trajectories.Integrator, "run", counted)
    for value in ("1", "0"):
        monkeypatch.setenv("PULLBACK_COMPILE", value)
        counts.append([])
        grad(network)(np.array([0.7, 0.3]))
    assert counts[0] == counts[1]


# -- sensitivities -----------------------------------------------------------------------------------------------------
def test_values_are_scipys_own_and_jacobians_agree_in_both_modes():
    p = np.array([0.5, 0.2])
    np.testing.assert_array_equal(pb.func.value_and_grad(lambda p: np.sum(epidemic(p)))(p)[0], np.sum(epidemic(p)))
    np.testing.assert_array_equal(epidemic(p), epidemic(p, scipy.integrate.solve_ivp))
    forward = jacfwd(epidemic)(p)
    np.testing.assert_allclose(forward, jacrev(epidemic)(p), rtol=1e-12)
    np.testing.assert_allclose(forward.T, gradient(epidemic, p), rtol=1e-5, atol=1e-8)


def test_the_start_and_the_times_have_sensitivities_too():
    def last(y0, end, k):
        return integrate.solve_ivp(lambda t, y: -k * y * t, (1.0, end), np.stack([y0, 2 * y0]), **TIGHT).y[:, -1]

    found = jacfwd(last, argnums=(0, 1, 2))(1.5, 2.0, 0.4)
    decay = np.exp(-0.4 * 1.5)
    np.testing.assert_allclose(found[0], [decay, 2 * decay], rtol=1e-8)
    np.testing.assert_allclose(found[1], [-0.8 * 1.5 * decay, -1.6 * 1.5 * decay], rtol=1e-8)
    np.testing.assert_allclose(found[2], [-1.5 * 1.5 * decay, -3.0 * 1.5 * decay], rtol=1e-8)


def test_a_solution_that_goes_back_in_time():
    f = lambda p: integrate.solve_ivp(lambda t, y: -p[0] * y + np.sin(p[1] * t), (1, -1), [1.0], **TIGHT).y[0, -1]  # noqa: E731
    p = np.array([0.5, 0.7])
    np.testing.assert_allclose(grad(f)(p), gradient(f, p), rtol=1e-6)


def test_a_jump_in_time_is_found_by_bisection():
    def last(p):
        slope = lambda t, y: -np.where(t < 0.4321, p[0], p[1]) * y  # noqa: E731
        return integrate.solve_ivp(slope, (0, 1), [1.0], **TIGHT).y[0, -1]

    p = np.array([0.5, 0.7])
    value = np.exp(-p[0] * 0.4321 - p[1] * 0.5679)
    np.testing.assert_allclose(grad(last)(p), [-0.4321 * value, -0.5679 * value], rtol=1e-6)


def test_second_derivatives_and_batches_go_on_to_work():
    def last(p):
        return integrate.solve_ivp(lambda t, y: -p[0] * y + p[1], (0, 1), [1.0], t_eval=[1.0], **TIGHT).y[0, 0]

    exact = lambda p: p[1] / p[0] + (1 - p[1] / p[0]) * np.exp(-p[0])  # noqa: E731
    p = np.array([0.5, 0.7])
    np.testing.assert_allclose(hessian(last)(p), hessian(exact)(p), rtol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # samples run one after the other
        found = vmap(grad(last))(np.stack([p, 2 * p]))
    np.testing.assert_allclose(found, [grad(exact)(p), grad(exact)(2 * p)], rtol=1e-6)


def test_a_problem_with_many_numbers_takes_the_adjoint_equation(made):
    matrix = 0.1 * RNG.standard_normal((40, 40)) - np.eye(40)

    def total(p):
        slope = lambda t, y: matrix @ y * p[0] + p[1] * np.sin(t) * np.tanh(y)  # noqa: E731
        return np.sum(integrate.solve_ivp(slope, (0, 3), np.ones(40), t_eval=np.linspace(0, 3, 9), **TIGHT).y)

    p = np.array([0.5, 0.7])
    found = grad(total)(p)
    assert programs(made[-1])
    np.testing.assert_allclose(found, gradient(total, p), rtol=1e-6)


# -- state -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("equations", [False, True])
def test_what_changes_between_solves_is_never_stale(equations, monkeypatch):
    if equations:
        monkeypatch.setattr(sensitivities, "_STATES", 0)
    state = {"rate": 0.5, "force": np.array([0.1, 0.2])}

    def last(p):
        slope = lambda t, y: -state["rate"] * p * y + state["force"]  # noqa: E731
        return np.sum(integrate.solve_ivp(slope, (0, 1), [1.0, 2.0], **TIGHT).y[:, -1])

    def exact(p):
        a = state["rate"] * p
        return np.sum(np.array([1.0, 2.0]) * np.exp(-a) + state["force"] * (1 - np.exp(-a)) / a)

    for rate, force in ((0.5, 0.1), (0.9, 0.1), (0.9, 0.7)):
        state["rate"] = rate
        state["force"][:] = force
        assert grad(last)(1.3) == pytest.approx(grad(exact)(1.3), rel=1e-6)


@pytest.mark.parametrize("equations", [False, True])
def test_functions_that_change_something_run_eagerly(equations, made, monkeypatch):
    if equations:
        monkeypatch.setattr(sensitivities, "_STATES", 0)
    count = [0]

    def last(p):
        def slope(t, y):
            count[0] += 1
            return -p * y

        return integrate.solve_ivp(slope, (0, 1), [1.0], **TIGHT).y[0, -1]

    assert grad(last)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-7)
    assert count[0] > 100
    assert not made


def test_a_log_of_the_times_is_a_log_of_the_call(by_equations, made):
    def last(p):
        times = []

        def slope(t, y):
            times.append(t)
            return -p * y

        return integrate.solve_ivp(slope, (0, 1), [1.0], **TIGHT).y[0, -1]

    assert grad(last)(0.5) == pytest.approx(-np.exp(-0.5), rel=1e-7)
    assert not any(map(programs, made))


def test_a_slope_that_raises_says_so():
    def last(p):
        def slope(t, y):
            if t > 0.7:
                raise ZeroDivisionError("beyond the end of the world")
            return -p * y

        return integrate.solve_ivp(slope, (0, 1), [1.0], **TIGHT).y[0, -1]

    with pytest.raises(ZeroDivisionError, match="the end of the world"):
        grad(last)(0.5)


def test_a_slope_that_branches_on_y(by_equations, made):
    def last(p):
        def slope(t, y):
            return -p[0] * y if y[0] > 0.8 else -(p[0] + 0 * p[1]) * y

        return integrate.solve_ivp(slope, (0, 1), [1.0], **TIGHT).y[0, -1]

    np.testing.assert_allclose(grad(last)(np.array([0.5, 0.7])), [-np.exp(-0.5), 0], rtol=1e-7, atol=1e-12)
    assert programs(made[-1])


def test_a_slope_that_needs_numbers_of_python():
    def last(p):
        return integrate.solve_ivp(lambda t, y: -p * y + math.sin(t), (0, 1), [1.0], **TIGHT).y[0, -1]

    k = 0.5
    assert grad(last)(k) == pytest.approx(gradient(lambda p: last(p[0]), np.array([k]))[0], rel=1e-6)


def test_random_slopes_are_refused_as_ever():
    def last(p):
        return integrate.solve_ivp(lambda t, y: -p * y + RNG.standard_normal(), (0, 1), [1.0], max_step=0.1).y[0, -1]

    with pytest.raises((ConvergenceError, pb.core.errors.GradientError), match="another result in backward"):
        grad(last)(0.5)


# -- optimisers --------------------------------------------------------------------------------------------------------
def valley(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


T = np.linspace(0, 5, 60)
MEASURED = 2 * np.exp(-1.3 * T) + 0.01 * RNG.standard_normal(60)


def both(solve):
    return solve(compile=True), solve(compile=False)


@pytest.mark.parametrize("options", [{}, {"bounds": [(0, 0.9)] * 20}, {"method": "trust-exact"}], ids=str)
def test_minima_and_ways_to_them_are_those_without_programs(options, made):
    one, other = both(lambda **more: pb.optimize.minimize(valley, np.zeros(20), **options, **more))
    np.testing.assert_allclose(one.x, other.x, rtol=1e-9)
    assert one.nfev == other.nfev
    assert one.fun == pytest.approx(other.fun, rel=1e-9, abs=1e-15)
    if not options:
        assert programs(made[0])


def test_fits_and_roots_are_those_without_programs():
    residuals = lambda p: p["a"] * np.exp(-p["b"] * T) - MEASURED  # noqa: E731
    one, other = both(lambda **more: pb.optimize.least_squares(residuals, {"a": 1.0, "b": 1.0}, **more))
    assert (one.nfev, one.x) == (other.nfev, pytest.approx(other.x, rel=1e-12))
    plain = scipy.optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * T) - MEASURED, [1.0, 1.0], x_scale=1.0)
    np.testing.assert_allclose([one.x["a"], one.x["b"]], plain.x, rtol=1e-5)
    decay = lambda t, a, b: a * np.exp(-b * t)  # noqa: E731
    one, other = both(lambda **more: pb.optimize.curve_fit(decay, T, MEASURED, **more))
    np.testing.assert_allclose(one[0], other[0], rtol=1e-12)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-9)
    system = lambda x: np.stack([x[0] ** 2 + x[1] - 3, np.sin(x[1]) - 0.5 * x[0]])  # noqa: E731
    one, other = both(lambda **more: pb.optimize.root(system, np.array([1.0, 1.0]), **more))
    np.testing.assert_allclose(one.x, other.x, rtol=1e-12)


def test_an_epidemic_is_fitted_to_the_end():
    data = epidemic(np.array([0.6, 0.15])) + 0.005 * RNG.standard_normal(30)
    found = pb.optimize.least_squares(lambda p: epidemic(p) - data, np.array([0.5, 0.2]), xtol=1e-12, ftol=1e-12)
    expected = scipy.optimize.least_squares(
        lambda p: epidemic(p, scipy.integrate.solve_ivp) - data, [0.5, 0.2], "3-point", xtol=1e-12, ftol=1e-12
    )
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-5)


def test_an_objective_whose_state_a_callback_changes(made):
    state, calls = [1.0], [0]

    def objective(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (state[0] - x[:-1]) ** 2)

    def change(x):
        calls[0] += 1
        if calls[0] == 50:
            state[0] = 2.0

    found = []
    for compile in (True, False):
        state[0], calls[0] = 1.0, 0
        found.append(pb.optimize.minimize(objective, np.zeros(20), callback=change, compile=compile))
    assert state == [2.0]
    assert programs(made[0])
    assert found[0].nfev == found[1].nfev
    np.testing.assert_allclose(found[0].x, found[1].x, rtol=1e-8)


def test_an_objective_that_says_or_counts_something_runs_each_time(made, capsys):
    count = [0]

    def counted(x):
        count[0] += 1
        return valley(x)

    def said(x):
        print(".", end="")
        return valley(x)

    found = pb.optimize.minimize(counted, np.zeros(20))
    assert count[0] == found.nfev > 100
    assert pb.optimize.minimize(said, np.zeros(20)).nfev == len(capsys.readouterr().out) > 100
    assert not any(map(programs, made))


def test_an_error_on_the_way_is_the_objectives_own():
    def objective(x):
        if x[0] > 0.9:
            raise ZeroDivisionError("too far")
        return valley(x)

    with pytest.raises(ZeroDivisionError, match="too far"):
        pb.optimize.minimize(objective, np.zeros(20))


def test_nothing_is_compiled_where_the_environment_says_so(made, monkeypatch):
    monkeypatch.setenv("PULLBACK_COMPILE", "0")
    pb.optimize.minimize(valley, np.zeros(20))
    grad(oscillating)(np.array([0.3, 2.0, 1.0]))
    assert not made
