"""Forward mode and linearisations within vmap, through decompositions, beside each sample alone.

Their formulas choose by numbers that they look at where they can: what is chosen by must keep the levels of what it is
of, else a transform takes an array of its own for a constant, and the derivative is zero or wrong.
"""

import numpy as np
import pytest

from pullback import func, linalg
from pullback.core.errors import LinAlgError

A = np.array([[[2.0, 1.0], [0.5, 3.0]], [[1.0, 0.3], [0.1, 2.0]]])
W = np.array([[0.3, 1.1], [0.7, -0.4]])
B = np.array([1.0, 0.5])
UNITS = np.eye(4).reshape(4, 2, 2)


def _positive(a):
    return a @ a.T + np.eye(2)


FUNCTIONS = {
    "inv": np.linalg.inv,
    "inv_ex": lambda a: linalg.inv_ex(a).inverse,
    "solve": lambda a: np.linalg.solve(a, W),
    "solve_vector": lambda a: np.linalg.solve(W + a * a, a @ B),
    "solve_ex": lambda a: linalg.solve_ex(a, W).result,
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "det": np.linalg.det,
    "matrix_power": lambda a: np.linalg.matrix_power(a, -2),
    "tensorinv": lambda a: np.linalg.tensorinv(a, ind=1),
    "tensorsolve": lambda a: np.linalg.tensorsolve(a, B),
    "cholesky": lambda a: np.linalg.cholesky(_positive(a)),
    "qr": lambda a: np.linalg.qr(a)[1],
    "pinv": linalg.pinv,
    "eigh": lambda a: np.linalg.eigh(_positive(a))[1] ** 2,
    "eigvalsh": lambda a: np.linalg.eigvalsh(_positive(a)),
    "svd": lambda a: np.linalg.svd(a)[0] ** 2,
    "svdvals": linalg.svdvals,
    "cond": np.linalg.cond,
    "norm_2": lambda a: np.linalg.norm(a, 2),
    "norm_nuc": lambda a: np.linalg.norm(a, "nuc"),
    "eigvals": lambda a: abs(linalg.eigvals(a)),
}


def _loss(f):
    return lambda a: (f(a) ** 2).sum()


TRANSFORMS = {
    "hvp": lambda f: lambda a: func.hvp(_loss(f), a, W),
    "hessian": lambda f: func.hessian(_loss(f), mode="forward-over-reverse"),
    "jvps": lambda f: lambda a: func.vmap(lambda v: func.jvp(f, (a,), (v,))[1])(UNITS),
    "jvps of grad": lambda f: lambda a: func.vmap(lambda v: func.jvp(func.grad(_loss(f)), (a,), (v,))[1])(UNITS),
    "linearize": lambda f: lambda a: func.linearize(f, a)[1](W),
    "linearize of grad": lambda f: lambda a: func.linearize(func.grad(_loss(f)), a)[1](W),
    "grad of linearize": lambda f: func.grad(lambda a: func.linearize(_loss(f), a)[1](W)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_each_sample_alone(name, transform):
    function = TRANSFORMS[transform](FUNCTIONS[name])
    for samples in (A, A[:1]):
        found = func.vmap(function)(samples)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, [function(a) for a in samples], rtol=1e-9, atol=1e-9)


def test_what_is_not_determined_is_refused_when_the_tangent_comes():
    _, jvp_fn = func.linearize(lambda a: np.linalg.eigh(a)[1], np.eye(2))
    with pytest.raises(LinAlgError, match="are equal"):
        jvp_fn(W + W.T)
    with pytest.raises(LinAlgError, match="are equal"):
        func.vmap(lambda a: func.linearize(lambda a: np.linalg.eigh(a)[1], a)[1](W + W.T))(np.stack([A[0], np.eye(2)]))


def test_checks_of_arrays_of_two_batches():
    """The values are of one batch, what makes the vectors undetermined of the other."""
    values = np.stack([np.diag([1.0, 2.0]), np.eye(2)])

    def f(a, v):
        return func.jvp(lambda a: np.linalg.eigh(a)[1] ** 2, (a,), (v,))[1]

    both = func.vmap(lambda a: func.vmap(lambda v: f(a, v))(np.stack([W + W.T, UNITS[0]])))
    np.testing.assert_allclose(both(values[:1]), [[f(values[0], W + W.T), f(values[0], UNITS[0])]], atol=1e-12)
    with pytest.raises(LinAlgError, match="are equal"):
        both(values)


@pytest.mark.parametrize("name", ["inv", "solve", "slogdet", "tensorsolve"])
def test_the_slope_by_a_direction_that_is_zero(name):
    """The derivative is linear in the direction, and so is what pulls a cotangent back."""
    f, zero = FUNCTIONS[name], np.zeros((2, 2))

    def pushed(v):
        return func.vmap(lambda a: func.jvp(f, (a,), (v,))[1])(A)

    want = np.stack([func.jvp(f, (a,), (W,))[1] for a in A])
    for jacobian in (func.jacrev(pushed)(zero), func.jacfwd(pushed)(zero)):
        np.testing.assert_allclose((jacobian * W).sum((-2, -1)), want)

    def pulled(s):
        return func.vmap(func.grad(lambda a: (s * f(a)).sum()))(A)

    want = np.stack([func.grad(lambda a: f(a).sum())(a) for a in A])
    for jacobian in (func.jacrev(pulled)(np.array(0.0)), func.jacfwd(pulled)(np.array(0.0))):
        np.testing.assert_allclose(jacobian, want)


def test_a_singular_matrix_changes_no_slope_of_the_others():
    stack = np.stack([A[0], np.zeros((2, 2))])

    def pushed(v):
        return func.jvp(lambda a: linalg.inv_ex(a).inverse, (stack,), (np.stack([v, np.zeros((2, 2))]),))[1][0]

    want = func.jvp(np.linalg.inv, (A[0],), (W,))[1]
    np.testing.assert_allclose((func.jacrev(pushed)(np.zeros((2, 2))) * W).sum((-2, -1)), want)
