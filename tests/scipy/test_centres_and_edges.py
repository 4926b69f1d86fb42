"""scipy.stats' densities and distribution functions at x == loc and at the ends of the support."""

import math

import numpy as np
import pytest
from scipy import stats

import pullback as pb

grad = pb.func.grad


@pytest.fixture(scope="module", autouse=True)
def adopting():
    pb.adopt()
    yield
    pb.release()


def one_sided(f, x, h):
    """The first two derivatives at `x` by differences to one side, that of the sign of `h`."""
    v = np.array([f(x + k * h) for k in range(6)])
    return v @ [-137 / 60, 5, -5, 10 / 3, -5 / 4, 1 / 5] / h, v @ [
        15 / 4,
        -77 / 6,
        107 / 6,
        -13,
        61 / 12,
        -5 / 6,
    ] / h**2


SMOOTH = [
    (name, shapes, method)
    for name, shapes in (
        ("logistic", ()),
        ("genlogistic", (4.0,)),
        ("genlogistic", (0.4,)),
        ("cauchy", ()),
        ("gennorm", (2.0,)),
        ("gennorm", (4.0,)),
    )
    for method in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")
]
SMOOTH += [("dgamma", (3.0,), "pdf"), ("dgamma", (5.0,), "cdf")]
SMOOTH += [("dweibull", (3.0,), "pdf"), ("dweibull", (3.0,), "sf")]


@pytest.mark.parametrize(("name", "shapes", "method"), SMOOTH)
def test_a_smooth_function_has_both_derivatives_at_its_centre(name, shapes, method):
    plain, scale = getattr(getattr(stats, name), method), 1.3

    def f(x):
        return plain(x, *shapes, 0.5, scale)

    first, second = np.mean([one_sided(f, 0.5, h) for h in (0.01, -0.01)], 0)
    assert grad(f)(0.5) == pytest.approx(first, abs=1e-7)
    assert grad(grad(f))(0.5) == pytest.approx(second, abs=1e-4)
    assert grad(lambda loc: plain(0.5, *shapes, loc, scale))(0.5) == pytest.approx(-first, abs=1e-7)
    for x in (-300.0, -3.0, -1e-3, 0.0, 1e-5, 0.7, 1.0, 300.0):
        value = pb.func.value_and_grad(lambda x: plain(x, *shapes))(x)[0]
        np.testing.assert_allclose(value, plain(x, *shapes), rtol=1e-15, atol=1e-300)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.3, 2.0, 3.0, 4.0])
def test_the_slope_of_a_generalized_normal_distribution_at_its_centre_is_its_density(beta, sign):
    method = stats.gennorm.cdf if sign > 0 else stats.gennorm.sf
    for x in (0.0, 1e-120, -1e-9):
        assert grad(lambda x: method(x, beta))(x) == pytest.approx(sign * stats.gennorm.pdf(x, beta), rel=1e-13)
    assert grad(lambda b: method(0.0, b))(beta) == grad(grad(lambda b: method(0.0, b)))(beta) == 0
    assert grad(lambda q: stats.gennorm.ppf(q, beta))(0.5) == pytest.approx(2 * math.gamma(1 + 1 / beta), rel=1e-13)


@pytest.mark.parametrize(("name", "shape"), [("gennorm", 1.0), ("dgamma", 1.0), ("dgamma", 2.0), ("dweibull", 2.0)])
def test_a_kink_has_the_slope_0(name, shape):
    assert grad(lambda x: getattr(stats, name).pdf(x, shape))(0.0) == 0


@pytest.mark.parametrize("shape", [1.0, 1.5])
def test_the_slope_of_a_double_weibull_distribution_at_its_centre_is_its_density(shape):
    assert grad(lambda x: stats.dweibull.cdf(x, shape))(0.0) == stats.dweibull.pdf(0.0, shape)
    assert grad(lambda x: stats.dweibull.sf(x, shape))(0.0) == -stats.dweibull.pdf(0.0, shape)


@pytest.mark.skipif(not hasattr(stats, "Logistic"), reason="not in this version of SciPy")
def test_the_random_variable_too_has_both_derivatives_at_its_centre():
    assert grad(grad(lambda x: pb.scipy.stats.Logistic().logpdf(x)))(0.0) == pytest.approx(-0.5)
