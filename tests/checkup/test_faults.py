"""Functions with known faults: each is named by what `check` reports, and with the line where there is one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import linalg, special

import pullback as pb

X = np.array([0.5, -1.2, 2.0])
WEIGHTS = np.array([[1.0, 2.0], [-0.5, 1.0]])
calls = [0]


@pb.custom_vjp
def square_by_a_wrong_rule(x):
    return x**2


square_by_a_wrong_rule.defvjp(lambda x: (x**2, x), lambda x, g: (3 * x * g,))


@pb.custom_vjp
def sine_by_a_wrong_jvp(x):
    return np.sin(x)


sine_by_a_wrong_jvp.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x),))
sine_by_a_wrong_jvp.defjvp(lambda tangents, y, x: tangents[0] * np.sin(x))


def counting(x):
    calls[0] += 1
    return np.sum(x) * calls[0]


def branch(x):
    return np.sum(x**2) if x[0] >= 0.5 else np.sum(x)


def branch_nearby(x):
    return np.sum(x**2) if x[0] > 0.50001 else np.sum(x**2) + 1


def writes(x):
    x[0] = 3.0
    return np.sum(x**2)


def buffer(x):
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] ** 2
    return np.sum(out)


def bisection(a):
    low, high = 0.0, 5.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if middle**3 > a else (middle, high)
    return 0.5 * (low + high)


def bisection_of_few_steps(a):
    low, high = 0.0, 5.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if middle**3 > a else (middle, high)
    return 0.5 * (low + high) + 0 * a


def golden_section(a):
    low, high, part = -1.0, 4.0, 0.5 * (5**0.5 - 1)
    while high - low > 1e-8:
        left, right = high - part * (high - low), low + part * (high - low)
        if (left - a) ** 2 + 0.1 * left**4 < (right - a) ** 2 + 0.1 * right**4:
            high = right
        else:
            low = left
    return 0.5 * (low + high) + 0 * a


def counted(a):
    found = 0.0
    while found < a:
        found += 1e-3
    return found + 0 * a


def bisections_at_once(x):
    low, high = np.zeros(3), 5 * np.ones(3)
    for _ in range(45):
        middle = 0.5 * (low + high)
        below = middle**3 > x
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return np.sum(low + high) / 2 + np.sum(0 * x)


def held(x):
    return np.sum(pb.func.stop_gradient(x) * x)


def fails(x):
    raise KeyError("nothing")


def another_variable(x):
    return np.sum(X**2)


GRID = np.linspace(0, 5, 501)

# (function, arguments, level, what the report must say)
FAULTS = [
    (
        lambda x: np.sum(square_by_a_wrong_rule(x)),
        (X,),
        "wrong",
        "differs from finite differences, most at 2 (6, differences 4)",
    ),
    (lambda x: np.sum(sine_by_a_wrong_jvp(x)), (X,), "wrong", "forward mode and reverse mode differ"),
    (counting, (X,), "wrong", "two calls give different values"),
    (lambda x: np.sum(x) * np.random.default_rng().random(), (X,), "wrong", "two calls give different values"),
    (branch, (X,), "wrong", "ge (a comparison at its threshold)"),
    (branch_nearby, (X,), "look", "gt (a comparison at its threshold)"),
    (lambda x: np.sum(np.where(x >= 0.5, x + 1, x)), (X,), "wrong", "jumps at these inputs"),
    (lambda x: np.sum(np.maximum(WEIGHTS @ x, 0)), (np.zeros(2),), "wrong", "maximum (ties)"),
    (lambda x: np.sum(np.abs(x)), (np.array([1.0, 0.0]),), "wrong", "abs (abs at 0)"),
    (lambda x: np.sum(np.abs(x)), (np.array([1.0, 1e-9]),), "look", "abs (abs at 0)"),
    (np.max, (np.ones(3),), "wrong", "amax (ties)"),
    (lambda x: np.sum(np.sort(x) * np.arange(3)), (np.array([1.0, 1.0, 2.0]),), "wrong", "sort (ties)"),
    (lambda x: np.linalg.norm(x - X), (X,), "wrong", "(a norm at 0)"),
    (lambda x: np.hypot(x[0], x[1]), (np.zeros(2),), "wrong", "hypot (a kink where both are 0)"),
    (lambda x: np.sum(np.sqrt(x * x)), (np.zeros(2),), "wrong", "nan or infinite"),
    (lambda x: np.sum(np.sqrt(np.abs(x))), (np.array([0.0, 1.0]),), "wrong", "no finite slope"),
    (lambda x: np.sum(np.cbrt(x)), (np.zeros(2),), "wrong", "no finite slope"),
    (lambda x: np.arccos(x[0]), (np.ones(1),), "wrong", "the edge of its domain"),
    (lambda x: np.sum(np.log(x)), (X,), "wrong", "1 of the function's values"),
    (lambda x: np.sum(np.clip(x, -1, 0.5) ** 2), (X,), "wrong", "clamp (a kink at its bounds)"),
    (lambda x: np.sum(np.round(x).astype(int) * 2.0), (X - 0.1,), "wrong", "the cast to int64 at"),
    (lambda x: np.sum(np.floor(x)), (X + 0.1,), "wrong", "there are steps on the way"),
    (lambda x: np.argmax(x) * 1.0 + 0 * x[0], (X,), "look", "argmax at"),
    (bisection, (2.0,), "wrong", "differs from finite differences"),
    (lambda a: bisection(a) + 0 * a, (2.0,), "wrong", "differs from finite differences"),
    (lambda a: bisection(a) + a**2, (2.0,), "wrong", "differs from finite differences"),
    (bisection_of_few_steps, (2.0,), "wrong", "follows a by small jumps"),
    (golden_section, (1.7,), "wrong", "differs from finite differences"),
    (counted, (2.00047,), "wrong", "follows a by small jumps"),
    (bisections_at_once, (np.array([1.3, 2.2, 0.7]),), "wrong", "differs from finite differences"),
    (lambda x: GRID[np.argmin((GRID - x) ** 2)] * x, (2.34561,), "wrong", "argmin (ties)"),
    (lambda x: np.round(x, 6) * x, (2.3456123,), "look", "There are steps on the way: round (a step at halves)"),
    (held, (X,), "wrong", "differs from finite differences"),
    (another_variable, (X,), "look", "another variable"),
    (lambda x: np.sum(x.astype(np.float32) ** 2), (X,), "look", "fewer digits"),
    (lambda x: np.sum(x**2) + 1e-5 * np.sum(np.sin(1e9 * x)), (X,), "wrong", "differs from finite differences"),
    (writes, (X,), "look", "writes into its arguments"),
    (buffer, (X,), "look", "only after pullback.adopt()"),
    (lambda x: math.exp(x[0]) + linalg.expm(np.outer(x, x))[0, 0], (X,), "look", "only after pullback.adopt()"),
    (lambda x: float(np.sum(x)) ** 2, (X,), "wrong", "it cannot be differentiated: DetachingError"),
    (lambda x: np.sum(np.frompyfunc(math.sin, 1, 1)(x)), (X,), "wrong", "it cannot be differentiated"),
    (fails, (X,), "wrong", "fails on these arguments: KeyError"),
    (lambda x: "text", (X,), "wrong", "returns str"),
    (lambda x: x > 0, (X,), "wrong", "whole numbers or truth values"),
    (lambda x: np.sum(special.factorial(x)), (np.abs(X),), "look", "factorial would make a plain ndarray of"),
]


@pytest.mark.parametrize(("function", "args", "level", "said"), FAULTS)
def test_a_fault_is_named(function, args, level, said):
    before = [np.copy(x) for x in args]
    report = pb.check(function, *args)
    found = [finding.text for finding in report.of(level)]
    assert any(said in text for text in found), report
    assert report.ok == (not report.of("wrong"))
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True))


def test_the_line_is_that_of_the_user():
    line = branch.__code__.co_firstlineno + 1
    assert f"{__file__}:{line}" in str(pb.check(branch, X))


def test_adoption_is_needed_and_undone():
    from pullback.interop.adopt.state import State

    assert pb.check(buffer, X).needs_adopt
    assert not State.on
    with pb.adopt():
        report = pb.check(buffer, X)
        assert State.on
    assert not report.needs_adopt
    assert report.ok


def test_the_report_in_a_notebook_is_escaped():
    html = pb.check(lambda x: np.sum(np.abs(x)), np.zeros(2))._repr_html_()
    assert "&lt;lambda&gt;" in html
    assert "wrong" in html


def test_bad_calls():
    with pytest.raises(TypeError, match="must be callable"):
        pb.check(3.0, X)
    with pytest.raises(TypeError, match="Whole numbers have no gradient"):
        pb.check(np.sum, np.arange(3))
    with pytest.raises(TypeError, match=r"t\.detach\(\)"):
        pb.check(np.sum, pb.ones(2))


def test_values_that_only_choose_a_formula_have_not_left_the_graph():
    said = str(pb.check(lambda x: pb.scipy.stats.gamma.pdf(x, 3.0), 0.0))
    assert "Values were read, without derivative, by: scipy.stats.gamma.pdf" in said
    assert "left the graph" not in said
    said = str(pb.check(lambda x: np.argmax(x) * 1.0, X))
    assert "What left the graph: argmax" in said
