"""SciPy's functions under `adopt()`: rules against finite differences, plain values bit for bit, refusals."""

import importlib

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
from scipy import integrate, linalg, special, stats
from scipy.spatial import distance

import pullback as pb
from pullback.core.errors import UnsupportedError
from pullback.interop.adoption import RULES, SCIPY_AS_IT_STANDS, SCIPY_BY_RULE, scipy_rule

x = np.array([1.37, 0.71, 2.2, 0.5])
v = np.array([0.3, 0.8, 1.5, 2.0])


def M(x):
    return np.reshape(x, (2, 2)) + 3 * np.eye(2)


def B(x):
    return np.stack([M(x), M(x) ** 2])


CALLS = {
    "scipy.integrate.cumulative_trapezoid": [
        lambda x: integrate.cumulative_trapezoid(x**2, v, initial=0),
        lambda x: integrate.cumulative_trapezoid(v, x),
    ],
    "scipy.integrate.simpson": [lambda x: integrate.simpson(x**2, x=v), lambda x: integrate.simpson(x[:3], dx=x[3])],
    "scipy.integrate.trapezoid": [lambda x: integrate.trapezoid(x**2, v), lambda x: integrate.trapezoid(v, x)],
    "scipy.linalg.block_diag": [lambda x: linalg.block_diag(M(x), x[0], M(x) ** 2)],
    "scipy.optimize.rosen": [lambda x: scipy.optimize.rosen(x)],
    "scipy.spatial.distance.cityblock": [lambda x: distance.cityblock(x, v)],
    "scipy.spatial.distance.correlation": [lambda x: distance.correlation(x, v)],
    "scipy.spatial.distance.cosine": [lambda x: distance.cosine(x, v), lambda x: distance.cosine(x, v, w=x)],
    "scipy.spatial.distance.euclidean": [lambda x: distance.euclidean(x, v), lambda x: distance.euclidean(v, x, w=v)],
    "scipy.spatial.distance.mahalanobis": [lambda x: distance.mahalanobis(x[:2], v[:2], M(x))],
    "scipy.spatial.distance.minkowski": [lambda x: distance.minkowski(x, v, 3)],
    "scipy.spatial.distance.sqeuclidean": [lambda x: distance.sqeuclidean(x, v)],
    "scipy.special.log_softmax": [lambda x: special.log_softmax(x), lambda x: special.log_softmax(M(x), axis=0)],
    "scipy.special.logsumexp": [
        lambda x: special.logsumexp(x),
        lambda x: special.logsumexp(M(x), axis=1, b=M(x)),
        lambda x: special.logsumexp([x[0], x[1]], keepdims=True),
    ],
    "scipy.special.softmax": [lambda x: special.softmax(x), lambda x: special.softmax(M(x), axis=1)],
    "scipy.stats.gmean": [lambda x: stats.gmean(x), lambda x: stats.gmean(M(x), axis=1)],
    "scipy.stats.hmean": [lambda x: stats.hmean(x)],
    "scipy.stats.sem": [lambda x: stats.sem(x), lambda x: stats.sem(M(x), axis=1, ddof=0)],
    "scipy.stats.variation": [lambda x: stats.variation(x)],
    "scipy.stats.zscore": [lambda x: stats.zscore(x), lambda x: stats.zscore(M(x), axis=1)],
    "scipy.linalg.circulant": [lambda x: linalg.circulant(x)],
    "scipy.linalg.det": [lambda x: linalg.det(M(x)), lambda x: linalg.det(B(x))],
    "scipy.linalg.expm": [lambda x: linalg.expm(M(x) / 4), lambda x: linalg.expm([[x[0], 0.3], [x[1], x[2]]])],
    "scipy.linalg.inv": [
        lambda x: linalg.inv(M(x)),
        lambda x: linalg.inv(B(x)),
        lambda x: linalg.inv(M(x), assume_a="sym"),
        lambda x: linalg.inv(M(x), assume_a="pos", lower=True),
    ],
    "scipy.linalg.norm": [
        lambda x: linalg.norm(x),
        lambda x: linalg.norm(x, 1),
        lambda x: linalg.norm(M(x), "fro"),
        lambda x: linalg.norm(M(x), axis=1),
    ],
    "scipy.linalg.solve": [
        lambda x: linalg.solve(M(x), x[:2]),
        lambda x: linalg.solve(M(v), x[:2], transposed=True),
        lambda x: linalg.solve(M(x), v[:2], assume_a="pos"),
        lambda x: linalg.solve(M(x), M(v), assume_a="upper triangular"),
        lambda x: linalg.solve(M(x), v[:2], assume_a="diagonal"),
        lambda x: linalg.solve(M(x), v[:2], assume_a="sym", lower=True),
    ],
    "scipy.linalg.cholesky": [lambda x: linalg.cholesky(M(x) @ M(x).T), lambda x: linalg.cholesky(M(x) @ M(x).T, True)],
    "scipy.linalg.cho_factor": [lambda x: linalg.cho_factor(M(x) @ M(x).T + np.eye(2))[0].diagonal()],
    "scipy.linalg.cho_solve": [
        lambda x: linalg.cho_solve(linalg.cho_factor(M(x) @ M(x).T), x[:2]),
        lambda x: linalg.cho_solve(linalg.cho_factor(M(x) @ M(x).T, lower=True), M(v)),
    ],
    "scipy.linalg.solve_triangular": [
        lambda x: linalg.solve_triangular(M(x), x[:2]),
        lambda x: linalg.solve_triangular(M(x), M(v), lower=True, trans="T"),
        lambda x: linalg.solve_triangular(M(x), v[:2], trans=2, unit_diagonal=True),
    ],
    "scipy.linalg.toeplitz": [lambda x: linalg.toeplitz(x), lambda x: linalg.toeplitz(x[:2], x[1:])],
}
CASES = [pytest.param(call, id=f"{name}-{i}") for name, calls in CALLS.items() for i, call in enumerate(calls)]


def weighed(call):
    """The result of `call` as a number in which every element counts."""

    def f(x):
        y = np.asarray(call(x))
        return np.sum(y * np.sqrt(1.0 + np.arange(y.size)).reshape(y.shape))

    return f


def differences(f, x, step=1e-6):
    slopes = np.empty_like(x)
    for i in range(len(x)):
        shift = np.zeros_like(x)
        shift[i] = step
        slopes[i] = (f(x + shift) - f(x - shift)) / (2 * step)
    return slopes


def check(f, x):
    expected, plain = differences(f, x), f(x)
    with pb.adopt():
        value, gradient = pb.func.value_and_grad(f)(x)
        slope = pb.func.jvp(f, (x,), (v,))[1]
        assert f(x) == plain
    assert value == pytest.approx(plain, rel=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=2e-6, atol=1e-8)
    assert slope == pytest.approx(gradient @ v, rel=1e-10)


@pytest.mark.parametrize("call", CASES)
def test_gradient_equals_differences(call):
    check(weighed(call), x)


def test_every_function_with_a_rule_is_tried():
    ours = {name for name, rule in RULES.items() if (rule.__module__ or "").partition(".")[0] in ("pullback", "scipy")}
    assert set(CALLS) == ours == {*SCIPY_AS_IT_STANDS, *SCIPY_BY_RULE}


def test_a_rule_of_ones_own(monkeypatch):
    @scipy_rule("scipy.linalg.logm")
    def logm(A, disp=True):
        w, v = np.linalg.eigh(A)
        return (v * np.log(w)) @ v.T

    monkeypatch.delitem(RULES, "scipy.linalg.logm")
    monkeypatch.setitem(RULES, "scipy.linalg.logm", logm)
    with pb.adopt():
        slopes = pb.func.grad(lambda x: linalg.logm(np.diag(x)).sum())(x)
    np.testing.assert_allclose(slopes, 1 / x)
    for name in ("expm", "linalg.expm", "scipy.expm", 3):
        with pytest.raises(ValueError, match="named with its module"):
            scipy_rule(name)


# Arguments of the distributions' shapes, each of which moves with x.
SHAPES = {
    "norm": (), "expon": (), "uniform": (), "laplace": (), "logistic": (), "cauchy": (), "rayleigh": (), "gumbel_r": (),
    "halfnorm": (), "maxwell": (), "hypsecant": (), "gamma": (2.0,), "beta": (2.0, 3.0), "t": (3.0,), "chi2": (3.0,),
    "lognorm": (0.9,), "weibull_min": (1.5,), "pareto": (2.0,), "invgamma": (2.5,),
}  # fmt: skip
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
# SciPy computes these by a ufunc that may have no derivative here (stdtr, betaln, poch), or by quadrature.
MAY_BE_REFUSED = {
    *(f"{name}.{method}" for name in ("t", "beta") for method in METHODS),
    *(f"{name}.{method}" for name in ("gamma", "invgamma", "chi2") for method in METHODS[2:]),
}


def probability(name):
    distribution, method = name.split(".")

    def f(x):
        shapes = [s + 0.1 * x[1] for s in SHAPES[distribution]]
        places = (
            0.2 * x if distribution in ("beta", "uniform") else 0.3 * x + (1.6 if distribution == "pareto" else 0.6)
        )
        values = getattr(getattr(stats, distribution), method)(places, *shapes, loc=0.0, scale=1 + 0.1 * x[0])
        return np.sum(values * v)

    return f


@pytest.mark.parametrize("name", [f"{name}.{method}" for name in SHAPES for method in METHODS])
def test_distributions_are_right_or_refused(name):
    try:
        check(probability(name), x)
    except (UnsupportedError, pb.extend.DerivativeNotImplementedError):
        assert name in MAY_BE_REFUSED


def test_frozen_distributions_and_their_points_out_of_reach():
    check(lambda x: np.sum(stats.norm(x[0], x[1]).logpdf([0.3, x[2], 1.0])), x)
    check(lambda x: np.sum(stats.expon(scale=x[0]).pdf(np.array([-1.0, x[1], 2.0]))), x)
    check(lambda x: stats.norm.logpdf(x[0]) * stats.norm.cdf(0.3, x[1]), x)


def test_a_shape_parameter_of_zero_is_refused_where_scipy_takes_another_formula():
    for h, k in ((0.0, 0.5), (0.5, 0.0)):
        with pb.adopt(), pytest.raises(UnsupportedError, match=r"scipy\.stats\.kappa4\.logpdf: .* exactly\s0"):
            pb.func.grad(lambda h, k: stats.kappa4.logpdf(0.3, h, k), argnums=(0, 1))(h, k)
    with pb.adopt():
        pb.func.grad(lambda x: stats.kappa4.logpdf(x, 0.0, 0.0))(0.3)
        with pytest.raises(UnsupportedError, match=r"exactly\s0"):
            pb.func.grad(lambda c: stats.genextreme(c=c).logpdf(0.3))(0.0)


def test_what_has_no_rule_is_refused_with_its_line():
    for call, name in (
        (lambda x: linalg.schur(M(x))[0].sum(), "scipy.linalg.schur"),
        (lambda x: scipy.signal.lfilter([1.0, x[0]], [1.0], v).sum(), "scipy.signal.lfilter"),
        (
            lambda x: scipy.optimize.minimize(lambda p, t: (p - t) ** 2, 0.0, args=(x[0],)).fun,
            "scipy.optimize.minimize",
        ),
        (
            lambda x: scipy.optimize.minimize(lambda p: p**2, x0=x[:1], method="Nelder-Mead").fun,
            "scipy.optimize.minimize",
        ),
        (lambda x: scipy.interpolate.CubicSpline(v, x)(0.5), "scipy.interpolate.CubicSpline"),
    ):
        with pb.adopt(), pytest.raises(RuntimeError) as caught:
            pb.func.grad(call)(x)
        assert name in str(caught.value)
        assert f'File "{__file__}", line {call.__code__.co_firstlineno}' in str(caught.value)
        assert "adopt()" not in str(caught.value)


def test_arrays_without_gradient_go_on_as_plain_arrays():
    def f(x):
        A = np.eye(3)
        A[0, 1] = 0.5
        lu, pivots = scipy.linalg.lu_factor(A, overwrite_a=True)
        assert type(lu) is type(pivots) is GENUINE
        y = scipy.signal.lfilter([1.0], [1.0, 0.5], [A[0, 1], 2.0])
        with pb.no_grad():
            assert type(scipy.linalg.schur(np.diag(x))[0]) is GENUINE
        return x @ np.ones(4) * y.sum()

    with pb.adopt():
        np.testing.assert_allclose(pb.func.grad(f)(x), np.full(4, 0.5 + 1.75))


GENUINE = np.ndarray


def test_every_name_is_a_function_of_scipy():
    for name in (*SCIPY_AS_IT_STANDS, *SCIPY_BY_RULE):
        home, _, function = name.rpartition(".")
        assert callable(getattr(importlib.import_module(home), function))
