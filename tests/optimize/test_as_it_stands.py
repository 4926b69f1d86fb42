"""Functions with buffers, `np.array` of numbers and `math` in them go to the optimisers without `adopt()`."""

import math
import sys

import numpy as np
import pytest

import pullback as pb

START = np.array([2.0, 2.0])


def equations(x, a=1.0):
    return np.array([x[0] - a, x[1] ** 2 - 3 * a])


def filled(x, a=1.0):
    out = np.zeros(3)
    out[0], out[1] = x[0] - a, math.sinh(x[1] - a**2)
    out[2:] += 0.1 * x[0]
    return out


def loss(x, a=1.0):
    return (filled(x, a)[:2] ** 2).sum()


def decay(t, height, rate):
    y = np.empty(len(t))
    for i, at in enumerate(t):
        y[i] = height * math.exp(-rate * at)
    return y


def bound(x):
    return np.array([x[0] - 1.5])


def test_each_optimiser_takes_them_and_leaves_nothing_behind():
    t = np.linspace(0.0, 1.0, 5)
    found = {
        "root": pb.optimize.root(equations, START).x - [1, math.sqrt(3)],
        "minimize": pb.optimize.minimize(loss, START, tol=1e-10).x - [1, 1],
        "with a Hessian": pb.optimize.minimize(loss, START, method="trust-exact").x - [1, 1],
        "with a constraint": pb.optimize.minimize(
            fun=loss, x0=START, method="SLSQP", constraints={"type": "ineq", "fun": bound}
        ).x - [1.5, 1],
        "least_squares": pb.optimize.least_squares(filled, START).x - [1 / 1.01, 1],
        "curve_fit": pb.optimize.curve_fit(f=decay, xdata=t, ydata=2 * np.exp(-t), p0=[1, 0.5])[0] - [2, 1],
    }  # fmt: skip
    for name, error in found.items():
        np.testing.assert_allclose(error, 0, atol=1e-4, err_msg=name)
    assert np is sys.modules["numpy"]


@pytest.mark.parametrize("derivative", [
    pb.func.grad, pb.func.jacfwd, lambda f: pb.func.grad(lambda a: pb.func.grad(f)(a) * a),
], ids=["grad", "jacfwd", "grad of grad"])  # fmt: skip
def test_their_solutions_are_differentiable(derivative):
    for solution, by_hand in (
        (lambda a: pb.optimize.root(equations, START, (a,)).x.sum(), lambda a: a + np.sqrt(3 * a)),
        (lambda a: pb.optimize.least_squares(filled, START, args=(a,)).x.sum(), lambda a: a / 1.01 + a**2),
    ):
        assert derivative(solution)(1.2) == pytest.approx(derivative(by_hand)(1.2), rel=1e-6)
    assert np is sys.modules["numpy"]


def test_a_function_that_needs_nothing_sees_numpy_itself():
    seen = []

    def f(x):
        seen.append(np is sys.modules["numpy"])
        return x * x - 4

    pb.optimize.root(f, START)
    assert all(seen)


def test_what_adopt_does_not_mend_is_refused_as_it_was():
    kept = np.zeros(2)

    def f(x):
        kept[:] = x * x - 4
        return kept

    with pytest.raises(pb.extend.DetachingError, match="write into a copy that is made there"):
        pb.optimize.root(f, START)
    assert np is sys.modules["numpy"]
