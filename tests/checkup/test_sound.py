"""Where `check` must not be misled: no false alarm for what is sound, and no kink that only some directions cross."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, linalg, special

import pullback as pb

rng = np.random.default_rng(1)
X, A, ROWS = np.array([0.5, -1.2, 2.0]), rng.standard_normal((3, 3)), rng.standard_normal((10, 3))


def newton(a):
    x = 1.0
    for _ in range(30):
        x = 0.5 * (x + a / x)
    return x


def newton_to_a_tolerance(a):
    x = a * 1.0
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def logistic(w, rows, y):
    z = rows @ w
    return np.mean(np.logaddexp(0, z) - y * z)


def oscillator(x):
    for _ in range(50):
        x = x + 0.01 * np.stack([x[1], -x[0]])
    return np.sum(x**2)


def gaussian(p):
    return -0.5 * np.sum((X - p["mean"]) ** 2) / p["scale"] ** 2 - 3 * np.log(p["scale"])


def huber(x):
    return np.sum(np.where(np.abs(x) < 1, 0.5 * x**2, np.abs(x) - 0.5))


def table(x):
    i = np.clip(np.searchsorted([0.0, 1.0, 3.0], x) - 1, 0, 1)
    return np.sum(np.array([1.0, 2.0])[i] * x**2)


SOUND = [
    (newton, 2.0),
    (newton_to_a_tolerance, 2.0),
    (logistic, np.zeros(3), ROWS, (ROWS[:, 0] > 0) * 1.0),
    (oscillator, np.array([1.0, 0.0])),
    (gaussian, {"mean": 0.3, "scale": 2.0}),
    (huber, X),
    (table, np.array([0.5, 1.2, 2.0])),
    (lambda a, b: np.sum(np.tanh(np.maximum(ROWS @ a, 0) @ b) ** 2), rng.standard_normal((3, 4)), np.ones((4, 2))),
    (lambda x: np.sum(np.interp(x, [-2.0, 0.0, 1.0, 3.0], [0.0, 1.0, 3.0, 2.0])), X),
    (lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x), X),
    (lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), X),
    (lambda x: np.sum(np.sin(x) ** 2), rng.standard_normal(10000)),
    (lambda x: np.sum(np.sin(x) * x), X.astype(np.float32)),
    (lambda x: np.sum(special.erf(x)) + np.sum(special.gammaln(np.abs(x))), X),
    (np.linalg.det, A),
    (lambda a: np.linalg.inv(a @ a.T + np.eye(3)), A),
    (lambda a: np.linalg.eigvalsh(a + a.T), A),
    (np.linalg.solve, A, X),
    (lambda x: x**3, 1.7),
    (lambda z: np.abs(z) ** 2, np.array([1 + 2j, 0.5 - 1j])),
    (lambda z: z**2 * np.conj(z), np.array([1 + 2j, 0.5 - 1j])),
    (lambda x, n: np.sum(x**n), np.abs(X), 3),
    (lambda x: np.sum(np.sort(x)), np.array([1.0, 1.0, 2.0])),
    (lambda x: np.sum(np.abs(x) * x), np.zeros(3)),
    (lambda x: np.sum(np.sin(x)), np.zeros(3)),
    (lambda x: np.floor(x) * x + x**2, 2.4),  # steps that are no finer than the argument
    (lambda x: x + np.digitize(x, [1.0, 2.0, 3.0]), 2.4),
    (lambda x: np.interp(x, np.linspace(0, 5, 5001), np.sin(np.linspace(0, 5, 5001))), 2.34561),
    (lambda x: np.sin(3000 * x), 2.0),
    (lambda x: np.exp(-(((x - 2) / 1e-3) ** 2)) + x, 2.0005),
    (lambda x: x + 1e-6 * np.sin(1e6 * x), 2.0),  # smooth, though differences over larger steps say another slope
    (lambda x: (x - 2) ** 2, 2.0),
    (lambda x: np.sum(x**2), np.zeros(3)),
    (lambda x: np.cumsum(x)[::-1], X),
    (lambda x: np.einsum("i,j->ij", x, x), X),
    (lambda x: (np.sin(x), {"twice": x * 2}), X),
    (lambda x: np.exp(50 * x), np.array([0.7, -0.2])),
    (lambda x: 1e-12 * np.sum(x**2), X),
    (lambda x: np.sum(x**2) * 1e12, X * 1e-8),
    (lambda x: np.sum(np.log(x)), np.array([1e-9, 1.0])),
    (np.linalg.norm, X),
    (np.var, X),
]


@pytest.mark.parametrize("case", SOUND)
def test_no_false_alarm(case):
    report = pb.check(*case)
    assert report.verdict == "nothing wrong", report
    assert any("differences confirm" in finding.text for finding in report.findings)
    assert any("forward mode agrees" in finding.text for finding in report.findings)
    assert report.gradient_cost > 0
    assert report.gradient_memory > 0


def test_the_complex_step_is_taken_where_it_may():
    analytic, not_so = pb.check(lambda x: np.sum(np.sin(x)), X), pb.check(lambda x: np.sum(np.abs(x) ** 2), X)
    assert "complex step confirms" in str(analytic)
    assert "complex step" not in str(not_so)


def test_calls_are_counted_in_what_the_function_calls():
    def inner(a):
        return linalg.expm(a)

    report = pb.check(lambda a: np.trace(inner(a)), A)
    assert (
        "2 places call NumPy, SciPy or math: 1 has a rule, 1 has one after pullback.adopt() (scipy.linalg.expm)"
        in str(report)
    )


def lotka_volterra(p):
    def rates(_, y):
        return [p[0] * y[0] - p[1] * y[0] * y[1], y[0] * y[1] - p[2] * y[1]]

    return np.sum(integrate.solve_ivp(rates, (0, 3), [1.0, 1.0], t_eval=[1, 2, 3], rtol=1e-5).y ** 2)


def test_a_solver_is_trusted_as_far_as_its_tolerance():
    report = pb.check(lotka_volterra, np.array([1.0, 0.8, 0.9]))
    assert report.ok
    assert "as far as scipy.integrate.solve_ivp can be trusted" in str(report)
    assert "confirm the gradient" not in str(report)


def test_what_the_function_prints_is_held_back(capsys):
    def talks(x):
        print("hello")
        return np.sum(x)

    report = pb.check(talks, X)
    assert report.ok
    assert "the function prints" in str(report)
    assert "hello" not in capsys.readouterr().out


def test_inputs_too_near_a_kink_confirm_nothing():
    report = pb.check(lambda x: np.sum(np.abs(x - 1e-9)), np.array([0.0, 1.0]))
    assert "differences in x cannot tell" in str(report)
    assert "differences confirm" not in str(report)


# Along (1, -1) neither shows: one step makes up for the other.
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(x**2 + np.round(x)), [1.5, 2.5]),
        (lambda x: np.maximum(0, np.minimum(x[0], x[1])) + np.sum(x), [0.0, 0.0]),
        (lambda x: np.sum(np.sign(x)[:2] * [1, -1]) + np.sum(x), [0.0, 0.0, 1.0]),
    ],
    ids=["steps both ways", "a kink within a kink", "steps of two signs"],
)
def test_kinks_are_found_in_every_direction(f, x):
    report = pb.check(f, np.array(x))
    assert not report.ok
    assert any("jumps" in line.text or "not smooth" in line.text for line in report.of("wrong"))
    assert any("exactly there" in line.text for line in report.of("wrong"))


def test_what_is_smooth_at_a_tie_stays_so():
    for f, x in [(lambda x: np.sum(np.maximum(x, 0) ** 2), [0.0, 1.0]), (lambda x: np.sum(np.sort(x)), [1.0, 1.0])]:
        report = pb.check(f, np.array(x))
        assert report.ok
        assert any("slopes are equal on both sides" in line.text for line in report.findings)


@pytest.mark.parametrize("size", [1e12, 1e13, 1e14, 1e15, 1e16])
def test_rounding_is_no_wrong_gradient(size):
    assert pb.check(lambda x: np.sum(np.log(x)), np.array([size, 2 * size])).ok


def test_an_argument_without_elements_confirms_nothing():
    report = pb.check(lambda x, y: np.sum(x**2) + np.sum(y**2), np.zeros(0), np.ones(2))
    said = [line.text for line in report.findings]
    assert "finite differences confirm the gradient with respect to y" in said
    assert any("x has no elements" in text for text in said)


def test_a_wrong_gradient_through_a_solver_names_the_solver():
    def slope(t, y, a, b):
        return [a * y[0] - y[0] * y[1], -y[1] + b * y[0] * y[1]]

    def last(th):
        return integrate.solve_ivp(lambda t, y: slope(t, y, th[0], th[1]), (0, 3), [1.0, 1.0]).y[0, -1]

    texts = [line.text for line in pb.check(last, np.array([1.0, 0.5])).of("wrong")]
    assert any("solve_ivp computes to a tolerance" in text for text in texts)


def test_errors_name_the_function_and_what_to_do():
    def remembered(x):
        return {tuple(x): np.sum(x**2)}[tuple(x)]

    (said,) = [line.text for line in pb.check(remembered, np.ones(2)).of("wrong")]
    assert "the function test_errors_name" in said
    assert "without a cache" in said
    (said,) = [line.text for line in pb.check(lambda x: float(np.sum(x**2)), np.ones(2)).of("wrong")]
    assert "Write t itself, which NumPy takes as a number" in said


@pytest.mark.parametrize("f", [lambda x, y: np.median(x) * np.sum(x), lambda x, y: np.sum(np.round(x) + x)])
def test_an_argument_that_is_not_used_is_not_wrong(f):
    report = pb.check(f, np.array([0.3, 1.2, 2.9]), np.ones(2))
    assert report.ok
    said = "with respect to y is 0 everywhere here: the result does not depend"
    assert any(said in line.text for line in report.of("look"))


def test_steps_are_named_and_not_what_has_indices_beside():
    (said,) = [line.text for line in pb.check(lambda x: np.sum(np.sort(np.round(x))), np.array([0.3, 1.2])).of("wrong")]
    assert "round (a step at halves)" in said
    assert " sort " not in said


def test_a_function_of_a_library_is_checked_in_one_of_yours():
    (said,) = [line.text for line in pb.check(math.sin, 0.5).of("wrong")]
    assert said.endswith("Check a function of yours that calls it: lambda x: f(x).")
    assert pb.check(lambda x: math.sin(x), 0.5).ok
