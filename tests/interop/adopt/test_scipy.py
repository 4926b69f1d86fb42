"""SciPy's functions under `adopt()`: rules against finite differences, plain values bit for bit, refusals."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
from scipy import linalg, stats

import pullback as pb
from pullback.core.errors import UnsupportedError
from pullback.interop.adopt.rules import RULES, scipy_rule

x = np.array([1.37, 0.71, 2.2, 0.5])
v = np.array([0.3, 0.8, 1.5, 2.0])


def M(x):
    return np.reshape(x, (2, 2)) + 3 * np.eye(2)


def B(x):
    return np.stack([M(x), M(x) ** 2])


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


def test_a_rule_of_ones_own(monkeypatch):
    monkeypatch.setitem(RULES, "scipy.linalg.logm", RULES["scipy.linalg.logm"])  # which stands there again afterwards

    @scipy_rule("scipy.linalg.logm")
    def logm(A, disp=True):
        w, v = np.linalg.eigh(A)
        return (v * np.log(w)) @ v.T

    assert RULES["scipy.linalg.logm"] is logm
    with pb.adopt():
        slopes = pb.func.grad(lambda x: linalg.logm(np.diag(x)).sum())(x)
    np.testing.assert_allclose(slopes, 1 / x)
    for name in ("expm", "linalg.expm", "scipy.expm", 3):
        with pytest.raises(ValueError, match="name a function with its module"):
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
        (lambda x: linalg.hessenberg(M(x)).sum(), "scipy.linalg.hessenberg"),
        (lambda x: scipy.signal.place_poles(M(x), M(x), [-1.0, -2.0]).gain_matrix.sum(), "scipy.signal.place_poles"),
        (lambda x: scipy.optimize.linprog(x, bounds=(0, 1)).fun, "scipy.optimize.linprog"),
        (
            lambda x: scipy.optimize.fmin_slsqp(lambda p, t: (p - t) ** 2, 0.0, args=(x[0],)),
            "scipy.optimize.fmin_slsqp",
        ),
        (lambda x: scipy.interpolate.make_splrep(v, x, s=1.0)(0.5), "scipy.interpolate.make_splrep"),
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
