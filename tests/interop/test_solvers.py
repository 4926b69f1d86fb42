"""SciPy's solvers with functions and Jacobians that give Tensors: they work, or the error says what to write."""

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.core.errors import DetachingError

START = np.array([1.3, 0.7])
METHODS = ("BFGS", "L-BFGS-B", "CG", "SLSQP", "TNC", "Newton-CG", "trust-constr")


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_autograd(x):
    t = pb.tensor(x, requires_grad=True)
    return pb.autograd.grad(rosenbrock(t), t)[0]


JACOBIANS = {
    "func.grad": pb.func.grad(rosenbrock),
    "func.grad in a lambda": lambda x: pb.func.grad(rosenbrock)(x),
    "autograd.grad": by_autograd,
    "tensor": lambda x: pb.tensor(pb.func.grad(rosenbrock)(x)),
    "list": lambda x: list(by_autograd(x)),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jac", JACOBIANS.values(), ids=JACOBIANS)
def test_minimize_takes_a_jacobian_that_is_a_tensor(jac, method):
    plain = scipy.optimize.minimize(rosenbrock, START, method=method, jac=pb.func.grad(rosenbrock))
    found = scipy.optimize.minimize(rosenbrock, START, method=method, jac=jac)
    assert type(found.x) is np.ndarray
    np.testing.assert_allclose(found.x, plain.x, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_function_and_a_jacobian_that_require_grad_are_refused_by_name(method):
    with pytest.raises(
        DetachingError, match=r"scipy\.optimize\.minimize would make a plain ndarray(.|\n)*func\.grad\(f\)"
    ):
        scipy.optimize.minimize(rosenbrock, START, method=method, jac=lambda x: by_autograd(x).requires_grad_())
    with pytest.raises(DetachingError, match=r"scipy\.optimize\.minimize would make(.|\n)*func\.grad\(f\)"):
        scipy.optimize.minimize(
            lambda x: rosenbrock(pb.tensor(x, requires_grad=True)), START, method=method, jac=by_autograd
        )


def test_values_and_residuals_that_are_tensors():
    found = scipy.optimize.minimize(lambda x: rosenbrock(pb.tensor(x)), START, jac=by_autograd)
    np.testing.assert_allclose(found.x, 1, atol=1e-5)
    assert scipy.optimize.root(lambda x: pb.tensor(x) - 1, [0.0], jac=lambda x: pb.tensor([[1.0]])).x.tolist() == [1.0]
    assert scipy.optimize.least_squares(lambda x: pb.tensor(x) - 1, [0.0], jac=lambda x: pb.tensor([[1.0]])).x[0] == 1.0
    both = scipy.optimize.minimize(lambda x: (rosenbrock(x), by_autograd(x)), START, jac=True)
    np.testing.assert_allclose(both.x, 1, atol=1e-5)


def test_elsewhere_atleast_1d_keeps_the_tensor():
    x = pb.tensor(START)
    assert isinstance(np.atleast_1d(x), pb.Tensor)
