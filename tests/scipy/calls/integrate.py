"""Calls of scipy.integrate."""

import numpy as np
from scipy import integrate

from tests.scipy.calls import at, v

CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def spring(t, y, k, c):
    return [y[1], -k * y[0] - c * y[1]]


def low(t, y, k, c):
    return y[0] - 1 - c


def solution(x, **options):
    return integrate.solve_ivp(spring, (0.1, 2.0), [1.0, x[2]], args=(x[0], x[3]), **CLOSE, **options)


def by_odeint(x):
    t = 0.3 * x[:2] + np.array([0.0, 1.0])
    return integrate.odeint(lambda y, t: spring(t, y, x[0], x[3]), [1.0, x[2]], t, rtol=1e-10, atol=1e-12)


def held(x):
    """A boundary value problem: u'' = -x[0] exp(u)."""
    return integrate.solve_bvp(
        lambda s, u: np.vstack([u[1], -0.3 * x[0] * np.exp(u[0])]),
        lambda a, b: np.stack([a[0] - 0.1 * x[1], b[0]]),
        np.linspace(0, 1, 11), np.zeros((2, 11)), tol=1e-4,
    )  # fmt: skip


def gauss(s, a, b):
    return np.exp(-a * s**2) * np.cos(b * s)


CALLS = {
    "scipy.integrate.cumulative_trapezoid": [
        lambda x: integrate.cumulative_trapezoid(x**2, v, initial=0),
        lambda x: integrate.cumulative_trapezoid(v, x),
    ],
    "scipy.integrate.simpson": [
        lambda x: integrate.simpson(x**2, x=v), lambda x: integrate.simpson(x[:3], dx=x[3]),
        lambda x: integrate.simpson(v, x=np.cumsum(x)), lambda x: integrate.simpson(np.outer(x, v), x=x, axis=0),
        lambda x: integrate.simpson(np.outer(v, x), x=np.outer(v, np.cumsum(x))),
        lambda x: integrate.simpson(v[:3], x=x[:3]),
    ],
    "scipy.integrate.trapezoid": [lambda x: integrate.trapezoid(x**2, v), lambda x: integrate.trapezoid(v, x)],
    "scipy.integrate.romb": [at(np.arange(1.0, 6.0) ** 0.7, lambda x: integrate.romb(x, dx=0.3))],
    "scipy.integrate.cumulative_simpson": [
        lambda x: integrate.cumulative_simpson(x, dx=0.3),
        lambda x: integrate.cumulative_simpson(v, x=np.cumsum(x)),
    ],
    "scipy.integrate.fixed_quad": [lambda x: integrate.fixed_quad(gauss, x[0], x[1], args=(x[2], x[3]), n=7)[0]],
    "scipy.integrate.quad": [
        lambda x: integrate.quad(gauss, x[0], x[1], args=(x[2], x[3]))[0],
        lambda x: integrate.quad(lambda s: gauss(s, x[2], x[3]) * x[0], x[1], np.inf)[0],
        lambda x: integrate.quad(lambda s, a: gauss(s, *a), -np.inf, np.inf, (x[2:],))[0] * x[0] * x[1],
        lambda x: integrate.quad(gauss, x[3], x[2], (x[0], x[1]), weight="cos", wvar=3.0)[0],
        lambda x: integrate.quad(gauss, x[3], 2.0, (x[2], x[1]), weight="sin", wvar=x[0])[0],
        lambda x: integrate.quad(gauss, x[3], np.inf, (x[2], x[1]), weight="sin", wvar=2.0)[0] * x[0],
        lambda x: integrate.quad(gauss, x[3], x[2], (x[0], x[1]), weight="alg", wvar=(-0.5, 0.3))[0],
        lambda x: integrate.quad(gauss, 0.0, 1.0, (x[0], x[1]), weight="alg-loga", wvar=(0.5, 0.3))[0] * np.sum(x),
        lambda x: integrate.quad(gauss, x[3], x[2], (x[1], 0.3), weight="cauchy", wvar=x[0])[0],
        lambda x: integrate.quad(
            lambda s: np.where(s < x[1], x[0] * s, s**2 * x[2]), 0, x[0], points=[x[1], 9])[0] * x[3],
        lambda x: integrate.quad(lambda s: np.exp(1j * x[0] * s) * x[1], x[3], x[2], complex_func=True)[0],
    ],
    "scipy.integrate.quad_vec": [
        lambda x: integrate.quad_vec(lambda s: np.stack([np.exp(-x * s), x * s]), x[3], x[0])[0],
        lambda x: integrate.quad_vec(lambda s, a: np.exp(-a * s**2 + 1j * s), -np.inf, np.inf, args=(x,))[0],
    ],
    "scipy.integrate.dblquad": [
        at(np.array([0.7, 1.2]), lambda x: integrate.dblquad(
            lambda s, t, a: np.exp(-a * s * t), 0, x[1], lambda t: x[1] * t, 1.5, args=(x[0],))[0]),
    ],
    "scipy.integrate.tplquad": [
        at(np.array([0.7]), lambda x: integrate.tplquad(
            lambda r, s, t: np.exp(-x[0] * r) * s * t, 0, 1, 0, lambda t: t, 0, lambda t, s: s + x[0], (),
            1e-6, 1e-6)[0], second=False),
    ],
    "scipy.integrate.nquad": [
        at(np.array([0.7, 1.2]), lambda x: integrate.nquad(
            lambda s, t, a: np.exp(-a * s * t) * x[1], [lambda t, a: (t * a, 2), [0, x[1]]], args=(x[0],))[0]),
    ],
    "scipy.integrate.cubature": [
        lambda x: integrate.cubature(lambda s, a: np.exp(-a * s[:, :1] * s[:, 1:]), [0, 0], [1, 2], args=(x,)).estimate,
        at(np.array([0.7, 1.2]), lambda x: integrate.cubature(
            lambda s: np.exp(-x * s[:, :1] * s[:, 1:]), [0, x[0]], [x[1], 2]).estimate),
    ],
    "scipy.integrate.qmc_quad": [
        lambda x: integrate.qmc_quad(lambda s: np.exp(-x[1] * s[0] * s[1]), [2, x[3]], [x[0], x[2]], n_points=16,
                                     qrng=scramble()),
    ],
    "scipy.integrate.tanhsinh": [
        lambda x: integrate.tanhsinh(lambda s, a: np.exp(-a * s**2), x[3], x[:2], args=(x[2],)).integral,
        at(np.array([1.37, 0.71]), lambda x: integrate.tanhsinh(
            lambda s: np.exp(-x[0] * s), x[1], np.inf).integral, second=False),
    ],
    "scipy.integrate.solve_ivp": [
        lambda x: solution(x).y[:, -1],
        lambda x: solution(x, method="DOP853", t_eval=np.array([0.1, 0.7, 2.0])).y,
        at(np.array([1.37, 0.71, 2.2, 0.5]), lambda x: solution(x, events=low).t_events[0]),
    ],
    "scipy.integrate.odeint": [at(np.array([1.37, 0.71, 2.2, 0.5]), by_odeint)],
    "scipy.integrate.solve_bvp": [at(np.array([1.37, 0.71]), lambda x: held(x).y[:, [0, -1]], rtol=3e-5)],
}  # fmt: skip


def scramble():
    """The same points each time."""
    from scipy.stats import qmc

    return qmc.Halton(2, seed=1)
