"""Programs as users write them, compiled with their gradients: filters, likelihoods, fits of equations."""

import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.spatial
import scipy.special

import pullback as pb

RNG = np.random.default_rng(0)
OBSERVED, PLACES, VALUES = RNG.normal(size=(6, 1)), RNG.normal(size=(8, 2)), RNG.normal(size=8)
TIMES = np.linspace(0, 2, 6)
POINTS = [np.array(p) for p in ([0.5, 1.0, 0.3], [0.7, 0.8, 0.2], [1.0, 1.2, 0.5], [0.4, 0.9, 0.6], [0.55, 1.1, 0.25])]


def kalman_filter(p):
    F, H = np.array([[1.0, 1.0], [0.0, 1.0]]) * np.exp(-p[0] * 0.1), np.array([[1.0, 0.0]])
    Q, R = np.eye(2) * p[1], np.eye(1) * p[2]
    m, C, likelihood = np.zeros(2), np.eye(2), 0.0
    for y in OBSERVED:
        m, C = F @ m, F @ C @ F.T + Q
        S, v = H @ C @ H.T + R, y - H @ m
        K = np.linalg.solve(S.T, H @ C.T).T
        m, C = m + K @ v, C - K @ S @ K.T
        likelihood = likelihood - 0.5 * (np.linalg.slogdet(S)[1] + v @ np.linalg.solve(S, v))
    return likelihood


def gaussian_process(p):
    K = p[1] ** 2 * np.exp(-(scipy.spatial.distance.cdist(PLACES, PLACES) ** 2) / (2 * p[0] ** 2)) + p[2] * np.eye(8)
    factor = scipy.linalg.cho_factor(K, lower=True)
    return 0.5 * VALUES @ scipy.linalg.cho_solve(factor, VALUES) + np.log(np.diag(factor[0])).sum()


def fitted_equation(p):
    def slope(t, y):
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + 0.3 * y[0] * y[1]])

    return ((scipy.integrate.solve_ivp(slope, (0, 2), np.array([1.0, 0.5]), t_eval=TIMES).y - 1) ** 2).sum()


def roots(p):
    a = scipy.optimize.newton(lambda x: x**3 - p[0] * x - p[1], 2.0)
    b = scipy.optimize.root_scalar(lambda x: np.exp(x) - p[1], bracket=[-2, 2]).root
    return a + b + scipy.optimize.fsolve(lambda x: np.array([x[0] ** 3 - p[2], x[1] - x[0]]), [1.0, 1.0])[1]


def laplace_approximation(p):
    def objective(x, p):
        return np.sum((x - p) ** 2) + np.sum(np.cosh(x))

    x = scipy.optimize.minimize(objective, np.zeros(3), args=(p,), tol=1e-10).x
    return objective(x, p) + 0.5 * np.linalg.slogdet(pb.func.hessian(objective)(x, p))[1]


def functions_of_matrices(p):
    A = np.outer(p, p) + np.eye(3)
    lyapunov = scipy.linalg.solve_continuous_lyapunov(A, np.eye(3))
    return scipy.linalg.expm(A * 0.1).sum() + scipy.linalg.sqrtm(A).sum() + np.linalg.eigh(A)[0][0] + lyapunov.sum()


def special_functions(p):
    return scipy.special.gammaln(p).sum() + scipy.special.betainc(p[0], p[1], 0.3) + scipy.special.jv(1, p).sum()


def newtons_iteration(p):
    x = p[0]
    while abs(x * x - p[1]) > 1e-10:
        x = (x + p[1] / x) / 2
    return x


PROGRAMS = [
    kalman_filter, gaussian_process, fitted_equation, roots, laplace_approximation, functions_of_matrices,
    special_functions, newtons_iteration,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_and_its_gradient(f):
    f = pb.func.value_and_grad(f)
    made = pb.compile(f)
    with pb.adopt(), warnings.catch_warnings():
        warnings.simplefilter("error", pb.compiler.CompileWarning)
        for p in [*POINTS, *POINTS]:
            for a, b in zip(made(p), f(p), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    (variants,) = made._by_signature.values()
    assert variants.programs
