"""Functions of NumPy, SciPy and math that are handed to other functions under `adopt()`: results are as without it."""

import functools
import inspect
import math
import pickle
import types
import weakref

import numpy as np
import pytest
import scipy.spatial.distance as distance
from scipy import integrate, linalg, ndimage, optimize, signal, special, stats
from scipy.optimize import rosen, rosen_der, rosen_hess, rosen_hess_prod
from scipy.sparse.linalg import LinearOperator

import pullback as pb

START = [1.3, 0.7, 0.8]
A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
_FIRST = ("Nelder-Mead", "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "COBYLA")
_SECOND = ("Newton-CG", "dogleg", "trust-exact", "trust-constr")


def minimum(method, **options):
    limit = {"maxfun" if method == "TNC" else "maxiter": 9}
    return lambda: optimize.minimize(rosen, START, method=method, options=limit, **derivatives(options)).x


def derivatives(given):
    return {name: globals()[function] for name, function in given.items()}  # as this module sees it then


WAYS = {
    **{f"minimize {method}": minimum(method) for method in _FIRST},
    **{f"minimize {method} with jac": minimum(method, jac="rosen_der") for method in _FIRST[1:6]},
    **{f"minimize {method} with hess": minimum(method, jac="rosen_der", hess="rosen_hess") for method in _SECOND},
    "minimize with hessp": minimum("Newton-CG", jac="rosen_der", hessp="rosen_hess_prod"),
    "fmin_l_bfgs_b": lambda: optimize.fmin_l_bfgs_b(rosen, START, fprime=rosen_der, maxiter=2)[0],
    "basinhopping": lambda: optimize.basinhopping(rosen, START, niter=1, rng=1, minimizer_kwargs={"jac": rosen_der}).x,
    "brute": lambda: optimize.brute(rosen, [(0, 2)] * 2, Ns=3, finish=None),
    "a constraint": lambda: (
        optimize.minimize(
            rosen, START, method="SLSQP", constraints=[{"type": "ineq", "fun": rosen, "jac": rosen_der}]
        ).x
    ),
    "root": lambda: optimize.root(rosen_der, START, jac=rosen_hess).x,
    "least_squares": lambda: optimize.least_squares(rosen_der, START, jac=rosen_hess, max_nfev=5).x,
    "leastsq": lambda: optimize.leastsq(rosen_der, START)[0],
    "brentq": lambda: optimize.brentq(math.cos, 1, 2),
    "minimize_scalar": lambda: optimize.minimize_scalar(math.cos).x,
    "approx_fprime": lambda: optimize.approx_fprime(np.array(START), rosen),
    "check_grad": lambda: optimize.check_grad(rosen, rosen_der, np.array(START)),
    "quad": lambda: integrate.quad(special.multigammaln, 2, 3, args=(1,)),
    "quad_vec": lambda: integrate.quad_vec(math.exp, 0, 1)[0],
    "dblquad": lambda: integrate.dblquad(math.hypot, 0, 1, math.sin, math.cos)[0],
    "ode": lambda: integrate.ode(special.comb).set_initial_value([1.0], 0.5).integrate(1.0),
    "solve_ivp": lambda: integrate.solve_ivp(special.comb, (0, 1), [1.0]).y,
    "vectorize": lambda: np.vectorize(linalg.expm, signature="(n,n)->(n,n)")(np.stack([A, A])),
    "frompyfunc": lambda: np.frompyfunc(math.hypot, 2, 1)([3.0], 4.0).astype(float),
    "apply_along_axis": lambda: np.apply_along_axis(stats.skew, 0, A),
    "piecewise": lambda: np.piecewise(np.arange(4.0), [np.arange(4) < 2], [special.logsumexp, np.sum]),
    "cdist": lambda: distance.cdist(A, A, metric=distance.cosine),
    "generic_filter": lambda: ndimage.generic_filter(A, np.mean, 3),
    "generic_laplace": lambda: ndimage.generic_laplace(A, ndimage.sobel),
    "bootstrap": lambda: stats.bootstrap((np.arange(9.0) ** 2,), stats.skew, n_resamples=9, rng=1).standard_error,
    "fit by a solver": lambda: stats.norm.fit(np.arange(5.0), optimizer=optimize.fmin),
    "welch": lambda: signal.welch(np.arange(64.0), nperseg=16, detrend=signal.detrend)[1],
    "LinearOperator": lambda: LinearOperator((3, 3), matvec=special.softmax, matmat=special.softmax) @ np.eye(3),
    "partial": lambda: functools.partial(special.multigammaln, d=1)(3.0),
    "wraps": lambda: functools.wraps(rosen)(lambda x: rosen(x))(START),
    "FunctionType": lambda: types.FunctionType(
        rosen_hess.__code__, rosen_hess.__globals__, "f", rosen_hess.__defaults__, rosen_hess.__closure__
    )(np.array(START)),
    "code": lambda: [rosen.__code__.co_argcount, rosen.__defaults__ is None, rosen.__kwdefaults__ is None],
    "getclosurevars": lambda: sorted(inspect.getclosurevars(rosen).unbound) == [],
    "bound": lambda: types.MethodType(rosen_hess_prod, np.array(START))(np.ones(3)),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_result_is_as_without_adopt(name):
    expected, found = WAYS[name](), []

    def inside(x):
        found.append(WAYS[name]())
        return x**2

    with pb.adopt():
        found.append(WAYS[name]())
        pb.func.grad(inside)(1.0)
    for result in found:
        assert np.array_equal(np.asarray(result), np.asarray(expected))


def test_solvers_with_workers_run_inside_of_a_transform():
    def workers(function, items):
        return map(pickle.loads(pickle.dumps(function)), items)

    def solve():
        return optimize.brute(cubic, [(0, 2)], Ns=5, finish=None, workers=workers)

    expected, found = solve(), []
    with pb.adopt():
        pb.func.grad(lambda x: (found.append(solve()), x**2)[1])(1.0)
        with pytest.raises(RuntimeError, match=r"scipy\.optimize\.brute"):
            pb.func.grad(lambda x: optimize.brute(lambda y: (x * y**2)[0], [(0, 2)], Ns=5, finish=None))(1.0)
    assert found[0] == expected


def cubic(x):
    return (x - 0.9) ** 2 + x**3


def test_a_dispatcher_can_be_referred_to_weakly_as_the_function_can(adopted):
    for function in (np.zeros, np.sum, np.array, np.zeros_like, np.full, math.exp, rosen, linalg.expm):
        try:
            expected = weakref.ref(function.genuine)
        except TypeError:
            with pytest.raises(TypeError, match="weak reference"):
                weakref.ref(function)
        else:
            assert weakref.ref(function) == expected
            assert hash(weakref.ref(function)) == hash(expected)


def test_numba_compiles_what_calls_numpy_and_math(adopted):
    numba = pytest.importorskip("numba", reason="numba is not installed")

    @numba.njit
    def f(x):
        y = np.zeros_like(x) + np.full(3, math.exp(1.0))
        y[1:] = np.maximum(np.sqrt(np.arange(2.0)), 0.5)
        return np.max(x) + np.sum(y) + np.linalg.norm(x)

    x = np.array([1.0, 2.0, 3.0])
    assert f(x) == pytest.approx(f.py_func(x), rel=1e-15)
