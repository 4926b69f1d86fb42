"""Solvers of SciPy that close over what is being differentiated are refused: their steps tell nothing of it."""

import numpy as np
import pytest
import scipy.optimize

import pullback as pb

X = np.array([4.0, 0.4])
SOLVERS = {
    "newton": lambda x: scipy.optimize.newton(lambda t: t**2 - x[0], 2.0, fprime=lambda t: 2 * t) * x[1],
    "golden": lambda x: scipy.optimize.golden(lambda t: (t - x[0]) ** 2) * x[1],
    "brent": lambda x: scipy.optimize.brent(lambda t: (t - x[0]) ** 2) * x[1],
    "fmin_powell": lambda x: scipy.optimize.fmin_powell(lambda t: np.sum((t - x[0]) ** 2), [1.0], disp=0)[0] * x[1],
    "shgo": lambda x: scipy.optimize.shgo(lambda t: (t[0] - x[0]) ** 2, [(0, 4)]).x[0] * x[1],
    "minimize": lambda x: scipy.optimize.minimize(lambda t: np.sum((t - x[0]) ** 2), [1.0], method="Powell").x[0],
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
