"""Solvers without a rule that close over what is being differentiated are refused: their steps tell nothing of it."""

import numpy as np
import pytest
import scipy.optimize

import pullback as pb

X = np.array([4.0, 0.4])
SOLVERS = {
    "shgo": lambda x: scipy.optimize.shgo(lambda t: (t[0] - x[0]) ** 2, [(0, 4)]).x[0] * x[1],
    "differential_evolution": lambda x: (
        scipy.optimize.differential_evolution(lambda t: (t[0] - x[0]) ** 2, [(0, 4)]).x[0] * x[1]
    ),
    "basinhopping": lambda x: scipy.optimize.basinhopping(lambda t: np.sum((t - x[0]) ** 2), [1.0]).x[0],
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_of_what_is_differentiated_is_refused(solver):
    with pb.adopt():
        for differentiate in (pb.func.grad(SOLVERS[solver]), lambda x: pb.func.jvp(SOLVERS[solver], (x,), (x,))):
            with pytest.raises(RuntimeError, match=f"scipy.optimize.{solver} has no rule"):
                differentiate(X)


def test_a_solver_of_plain_numbers_runs():
    with pb.adopt():
        slope = pb.func.grad(lambda x: scipy.optimize.brentq(lambda t: t**2 - 2, 0, 5) * x[0])(X)
    np.testing.assert_allclose(slope, [np.sqrt(2), 0])


def test_scipy_itself_is_not_adopted():
    with pytest.raises(ValueError, match="scipy and pullback cannot be adopted"):
        pb.adopt("scipy")


KEPT = {}


@pytest.mark.parametrize("name", ["brentq", "brenth", "bisect", "ridder", "toms748"])
def test_outside_of_transforms_a_kept_value_is_refused_by_name(name):
    def keeping(p):
        KEPT["p"] = p * 1.0
        return p * p

    pb.func.jvp(pb.func.grad(keeping), (2.0,), (1.0,))
    with (
        pb.adopt(),
        pytest.raises(pb.extend.DetachingError, match=f"scipy.optimize.{name} would make a .* so lose its gradient"),
    ):
        getattr(scipy.optimize, name)(lambda x: KEPT["p"] * x - 1, 0.0, 3.0)
