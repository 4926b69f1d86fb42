"""Calls of scipy.optimize."""

import numpy as np
from scipy import optimize

from tests.scipy.calls import M, at, v, x


def cubic(z, a, b):
    return z**3 + a * z - b


def system(z, x):
    return [z[0] ** 3 + x[0] * z[1] - x[1], z[1] ** 3 + x[2] * z[1] - x[3] * z[0]]


def bowl(z, x):
    return np.sum(np.cosh(z - x) + 0.3 * x * z**2)


def slope(z, x):
    return np.sinh(z - x) + 0.6 * x * z


def bowl_and_slope(z, x):
    return bowl(z, x), slope(z, x)


def well(z, a, b):
    return np.cosh(z - a) + 0.3 * b * z**2


def residuals(z, x):
    return np.stack([z[0] - x[0], z[1] * z[0] - x[1], z[1] - x[2], np.exp(z[0]) - x[3]])


def _solution(found):
    return {"x": found["x"], "fun": found["fun"]}


Z = np.zeros(4)

T = np.linspace(0, 3, 8)
Y = 2 * np.exp(-0.7 * T) + 0.2 * np.cos(7 * T)


def decay(t, a, k):
    return a * np.exp(-k * t)


def decay_slopes(t, a, k):
    return np.stack([np.exp(-k * t), -a * t * np.exp(-k * t)], -1)


CALLS = {
    "scipy.optimize.rosen": [lambda x: optimize.rosen(x)],
    "scipy.optimize.rosen_der": [lambda x: optimize.rosen_der(x)],
    "scipy.optimize.rosen_hess": [lambda x: optimize.rosen_hess(x)],
    "scipy.optimize.rosen_hess_prod": [
        lambda x: optimize.rosen_hess_prod(x, v),
        lambda x: optimize.rosen_hess_prod(v, x),
    ],
    "scipy.optimize.brentq": [
        lambda x: optimize.brentq(cubic, -3, 5, (x[0], x[1])),
        lambda x: optimize.brentq(cubic, -3, 5, args=(1.0, x[1]), full_output=True)[0],
    ],
    "scipy.optimize.brenth": [lambda x: optimize.brenth(cubic, -3, 5, (x[0], x[1]))],
    "scipy.optimize.bisect": [lambda x: optimize.bisect(cubic, -3, 5, (x[0], x[1]))],
    "scipy.optimize.ridder": [lambda x: optimize.ridder(cubic, -3, 5, (x[0], x[1]))],
    "scipy.optimize.toms748": [lambda x: optimize.toms748(cubic, -3, 5, (x[0], x[1]))],
    "scipy.optimize.newton": [
        lambda x: optimize.newton(cubic, 1.0, args=(x[0], x[1]), tol=1e-13),
        lambda x: optimize.newton(cubic, np.ones(4), args=(x, x**2), tol=1e-13),
    ],
    "scipy.optimize.root_scalar": [
        lambda x: optimize.root_scalar(cubic, args=(x[0], x[1]), bracket=(-3, 5)).root,
        lambda x: optimize.root_scalar(lambda z, a: (z**2 - a, 2 * z), (x[0],), "newton", fprime=True, x0=1.0).root,
    ],
    "scipy.optimize.root": [
        lambda x: _solution(optimize.root(system, np.ones(2), (x,), tol=1e-13)),
        lambda x: optimize.root(system, np.ones(2), x, tol=1e-13, method="lm").x,
    ],
    "scipy.optimize.fsolve": [
        lambda x: optimize.fsolve(system, np.ones(2), (x,), xtol=1e-13),
        lambda x: optimize.fsolve(cubic, 1.0, (x[0], x[1]), full_output=True)[0],
    ],
    "scipy.optimize.fixed_point": [
        lambda x: optimize.fixed_point(lambda z, x: np.cos(z) * x / 3, np.ones(4), (x,), xtol=1e-13)
    ],
    "scipy.optimize.minimize": [
        lambda x: _solution(optimize.minimize(bowl, Z, (x,), jac=slope, tol=1e-12, method="L-BFGS-B")),
        at(x, lambda x: optimize.minimize(bowl_and_slope, Z, x, jac=True, tol=1e-10, method="BFGS").x, 1e-5),
        at(x, lambda x: optimize.minimize(bowl, Z, x, jac=slope, bounds=[(None, 0.5)] * 4, tol=1e-12).x, 1e-5),
    ],
    "scipy.optimize.minimize_scalar": [
        at(x, lambda x: _solution(optimize.minimize_scalar(well, args=(x[0], x[1]), tol=1e-12)), 1e-3),
        at(
            x,
            lambda x: optimize.minimize_scalar(well, bounds=(-2, 3), args=(x[0], x[1]), options={"xatol": 1e-9}).x,
            1e-3,
        ),
    ],
    "scipy.optimize.brent": [at(x, lambda x: optimize.brent(well, (x[0], x[1]), tol=1e-12), 1e-3)],
    "scipy.optimize.golden": [at(x, lambda x: optimize.golden(well, (x[0], x[1]), tol=1e-12), 1e-3)],
    "scipy.optimize.fminbound": [at(x, lambda x: optimize.fminbound(well, -2, 3, (x[0], x[1]), xtol=1e-9), 1e-3)],
    "scipy.optimize.fmin": [at(x, lambda x: optimize.fmin(bowl, Z, (x,), 1e-9, 1e-15, disp=0), 1e-2)],
    "scipy.optimize.fmin_powell": [at(x, lambda x: optimize.fmin_powell(bowl, Z, (x,), 1e-9, 1e-15, disp=0), 1e-2)],
    "scipy.optimize.fmin_bfgs": [at(x, lambda x: optimize.fmin_bfgs(bowl, Z, slope, (x,), 1e-9, disp=0), 1e-4)],
    "scipy.optimize.fmin_cg": [at(x, lambda x: optimize.fmin_cg(bowl, Z, slope, (x,), 1e-9, disp=0), 1e-3)],
    "scipy.optimize.fmin_ncg": [
        at(x, lambda x: optimize.fmin_ncg(bowl, Z, slope, args=(x,), avextol=1e-10, disp=0), 1e-4)
    ],
    "scipy.optimize.fmin_l_bfgs_b": [
        at(x, lambda x: optimize.fmin_l_bfgs_b(bowl, Z, slope, (x,), pgtol=1e-11, factr=0.1), 1e-4),
        at(x, lambda x: optimize.fmin_l_bfgs_b(bowl_and_slope, Z, args=(x,), pgtol=1e-11, factr=0.1)[:2], 1e-4),
    ],
    "scipy.optimize.fmin_tnc": [
        at(x, lambda x: optimize.fmin_tnc(bowl, Z, slope, (x,), messages=0, pgtol=1e-11, ftol=0, xtol=0)[0], 1e-3)
    ],
    "scipy.optimize.least_squares": [
        at(
            x, lambda x: optimize.least_squares(residuals, v[:2], args=(x,), xtol=1e-15, ftol=1e-15, gtol=1e-14).x, 1e-3
        ),
        at(
            x,
            lambda x: (
                optimize.least_squares(
                    residuals, v[:2], args=(x,), xtol=1e-15, ftol=1e-15, gtol=1e-14, loss="soft_l1", f_scale=0.5
                ).x
            ),
            1e-3,
        ),
    ],
    "scipy.optimize.leastsq": [
        at(x, lambda x: optimize.leastsq(residuals, v[:2], (x,), xtol=1e-15, ftol=1e-15)[0], 1e-5)
    ],
    "scipy.optimize.lsq_linear": [
        at(x, lambda x: optimize.lsq_linear(np.concatenate([M(x), M(x) ** 2]), x).x, 1e-5),
        at(x, lambda x: optimize.lsq_linear(np.concatenate([M(x), M(x) ** 2]), x, (-1, 0.02), "bvls").x, 1e-5),
    ],
    "scipy.optimize.curve_fit": [
        at(x, lambda x: optimize.curve_fit(decay, T, Y + 0.1 * np.concatenate([x, x]), jac=decay_slopes)[0], 1e-4),
        at(
            x,
            lambda x: optimize.curve_fit(decay, T + 0.1 * np.concatenate([x, x]), Y, sigma=1 + T, jac=decay_slopes)[0],
            1e-4,
        ),
        at(x, lambda x: optimize.curve_fit(decay, T, Y, sigma=np.concatenate([x, x]), jac=decay_slopes)[0], 1e-4),
    ],
    "scipy.optimize.isotonic_regression": [
        lambda x: {"x": optimize.isotonic_regression(x).x},
        lambda x: {"x": optimize.isotonic_regression(x**2, weights=x, increasing=False).x},
    ],
    "scipy.optimize.nnls": [
        lambda x: optimize.nnls(np.concatenate([M(x), M(x) ** 2]), x),
        lambda x: optimize.nnls(M(x), x * np.array([1, -1, 0, 0]) @ np.eye(4)[:, :2]),
    ],
}
