"""SciPy's explicit methods in machine code, for a slope that is: the same steps, and derivatives that go along."""

import numpy as np
import pytest
import scipy.integrate

import pullback as pb
from pullback.func import grad, jacrev
from pullback.func.implicit import initial_values_by_steps as by_steps
from pullback.func.repeated import Loan, Repeated, Stream
from tests.compiler.conftest import native_compiler

METHODS = [scipy.integrate.RK23, scipy.integrate.RK45, scipy.integrate.DOP853]


@pytest.fixture(autouse=True)
def native(monkeypatch):
    if (name := native_compiler()) is None:
        pytest.skip("there is neither llvmlite nor a C compiler")
    monkeypatch.setenv("PULLBACK_COMPILER", name)


def oscillator(t, y, a):
    return np.stack([y[1], a * (1 - y[0] ** 2) * y[1] - y[0] + np.sin(t)])


def in_machine_code(slope, y0, *args):
    step = Repeated(slope, loan=Loan({}), at_once=True)
    for k in range(6):
        step(np.float64(0.1 * k), y0 + k, *args)
    return step


@pytest.mark.parametrize("span", [(0.0, 10.0), (3.0, -2.0)])
@pytest.mark.parametrize("method", METHODS)
def test_steps_and_values_between_are_scipys(method, span):
    y0, a, options = np.array([1.0, 0.3]), np.float64(1.5), {"rtol": 1e-6, "atol": 1e-9}
    step = in_machine_code(oscillator, y0, a)
    found = by_steps.solved(step, method, span, y0, [a], options)
    expected = scipy.integrate.solve_ivp(oscillator, span, y0, method, args=(a,), dense_output=True, **options)
    np.testing.assert_allclose(found.t, expected.t, rtol=1e-6)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-6, atol=1e-7)
    between = np.linspace(*span, 57)
    np.testing.assert_allclose(found.sol(between), expected.sol(between), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.sol(between[5]), expected.sol(between[5]), rtol=1e-6, atol=1e-7)
    assert found.nfev == expected.nfev


def test_every_end_is_met_and_a_short_last_step_is_not_the_next_ones_length():
    y0, a = np.array([1.0, 0.3]), np.float64(1.5)
    code = in_machine_code(oscillator, y0, a).rounds([np.float64(0.0), y0, a], [0])
    ends = np.linspace(0.5, 10.0, 20)
    solver = scipy.integrate.RK45(lambda t, y: oscillator(t, y, a), 0.0, y0, 10.0, rtol=1e-8, atol=1e-10)
    found = code.solution(solver, [Stream(a)], ends)
    assert [times[-1] for times, _, _ in found] == [*ends]
    exact = scipy.integrate.solve_ivp(oscillator, (0, 10.0), y0, "DOP853", ends, args=(a,), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose([values[-1] for _, values, _ in found], exact.y.T, rtol=1e-6, atol=1e-7)


def test_a_solution_that_becomes_infinite_is_scipys_to_refuse():
    def slope(t, y):
        return y * y

    step = in_machine_code(slope, np.array([0.01]))
    with np.errstate(all="ignore"):
        assert by_steps.solved(step, scipy.integrate.RK45, (0.0, 2.0), np.array([1.0]), [], {}) is None


def sir(t, y, beta, gamma):
    s, i, _ = y
    return np.array([-beta * s * i, beta * s * i - gamma * i, gamma * i])


TIMES = np.linspace(0, 40, 8)


def at_times(p, method):
    return pb.scipy.integrate.solve_ivp(
        sir, (0, 40), np.array([0.99, 0.01, 0.0]), method, TIMES, args=(p[0], p[1]), rtol=1e-8, atol=1e-10
    ).y


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_derivatives_of_solve_ivp_are_the_same_once_they_go_along(method, monkeypatch):
    found, stepped = [], by_steps.stepped
    monkeypatch.setattr(
        "pullback.func.implicit.trajectories.stepped", lambda *a, **k: found.append(stepped(*a, **k)) or found[-1]
    )
    p = np.array([0.5, 0.2])
    jacobian = jacrev(lambda p: at_times(p, method=method))
    first = jacobian(p)
    for _ in range(5):
        last = jacobian(p)
    assert found
    assert found[-1] is not None
    np.testing.assert_allclose(last, first, rtol=1e-6, atol=1e-7)


def test_derivatives_by_the_start_go_along_too():
    def loss(y0):
        t = np.linspace(0, 5, 6)
        found = pb.scipy.integrate.solve_ivp(sir, (0, 5), y0, "RK45", t, args=(0.5, 0.2), rtol=1e-8, atol=1e-10)
        return np.sum(found.y**2)

    y0 = np.array([0.9, 0.1, 0.0])
    first = grad(loss)(y0)
    for _ in range(5):
        last = grad(loss)(y0)
    np.testing.assert_allclose(last, first, rtol=1e-6, atol=1e-7)
