"""What a program changes between two calls under `adopt()` is what the next call sees."""

import math

import numpy as np
import pytest
import scipy.constants
from scipy import stats

import pullback as pb

RATE = 1.0
X = np.array([0.5, 2.0])


class Bell(stats.rv_continuous):
    """A distribution of the user's, which reads a global."""

    def _pdf(self, x):
        return np.exp(-RATE * x**2)


def bell():
    rate = 1.0

    class Other(stats.rv_continuous):
        def _pdf(self, x):
            return np.exp(-rate * x**2)

    def change(x):
        nonlocal rate
        rate = x

    return Other(), change


@pytest.fixture(autouse=True)
def adoption():
    with pb.adopt():
        yield


def value_and_slope(function):
    return pb.func.jvp(function, (X,), (np.ones(2),))


def compare(function, rate):
    value, slope = value_and_slope(function)
    np.testing.assert_allclose(value, np.exp(-rate * X**2))
    np.testing.assert_allclose(slope, -2 * rate * X * np.exp(-rate * X**2))


def test_a_global_that_a_distribution_of_the_users_reads(monkeypatch):
    d = Bell()
    compare(d.pdf, 1.0)
    monkeypatch.setitem(globals(), "RATE", 2.0)
    compare(d.pdf, 2.0)


def test_a_variable_of_the_enclosing_function():
    d, change = bell()
    compare(d.pdf, 1.0)
    change(3.0)
    compare(d.pdf, 3.0)


def test_a_method_that_is_replaced(monkeypatch):
    d = Bell()
    compare(d.pdf, 1.0)
    monkeypatch.setattr(Bell, "_pdf", lambda self, x: np.exp(-4.0 * x**2))
    compare(d.pdf, 4.0)


@pytest.mark.parametrize(("module", "name"), [(math, "pi"), (math, "sin"), (scipy.constants, "g")])
def test_a_module_that_was_changed_while_nothing_was_adopted(module, name, monkeypatch):
    pb.release()
    monkeypatch.setattr(module, name, (lambda x: 7.0) if name == "sin" else 7.0)
    scope = {"__name__": "__main__", "math": math, "scipy": scipy}
    exec(f"def f(x): return x * {module.__name__}.{name}{'(1)' if name == 'sin' else ''}", scope)
    with pb.adopt():
        np.testing.assert_allclose(value_and_slope(scope["f"])[0], 7.0 * X)
