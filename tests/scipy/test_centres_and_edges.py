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


# Where the density is a power of the distance from the end: 0, 1, 2 and more.
ENDS = [
    *(("gamma", (a,), 0.0) for a in (1.0, 2.0, 3.0, 7.0)),
    *(("chi2", (k,), 0.0) for k in (2.0, 4.0, 6.0, 55.0)),
    *(("chi", (k,), 0.0) for k in (1.0, 2.0, 3.0, 78.0)),
    *(("nakagami", (nu,), 0.0) for nu in (0.5, 1.0, 1.5, 4.9)),
    *(("rice", (b,), 0.0) for b in (0.775, 3.0)),
    *(("f", (m, 18.0), 0.0) for m in (2.0, 4.0, 29.0)),
    *(("ncf", (m, 18.0, 0.4), 0.0) for m in (4.0, 27.0)),
    *(("ncx2", (k, 1.1), 0.0) for k in (4.0, 6.0, 21.0)),
    *(("beta", (a, 3.0), 0.0) for a in (1.0, 2.0, 3.0)),
    *(("beta", (3.0, b), 1.0) for b in (1.0, 2.0, 3.0)),
    *(("rdist", (c,), end) for c in (4.0, 6.0, 8.0) for end in (-1.0, 1.0)),
    *(("genpareto", (c,), -1 / c) for c in (-0.5, -0.25)),
    ("argus", (1.0,), 0.0),
    ("burr", (2.0, 1.0), 0.0),
    ("burr", (3.0, 1.0), 0.0),
    ("burr12", (2.0, 4.0), 0.0),
    ("burr12", (10.0, 4.0), 0.0),
    ("erlang", (10.0,), 0.0),
    ("exponpow", (2.0,), 0.0),
    ("exponpow", (3.0,), 0.0),
    ("exponweib", (1.0, 2.0), 0.0),
    ("exponweib", (3.0, 1.0), 0.0),
    ("exponweib", (2.9, 1.95), 0.0),
    ("fisk", (1.0,), 0.0),
    ("gengamma", (2.0, 1.0), 0.0),
    ("gengamma", (4.4, 3.1), 0.0),
    ("gengamma", (5.0, 0.7), 0.0),
]


@pytest.mark.parametrize(("name", "shapes", "end"), ENDS)
def test_a_density_has_the_derivatives_from_within_at_the_end_of_its_support(name, shapes, end):
    plain = getattr(stats, name).pdf

    def f(x):
        return plain(x, *shapes)

    h = 3e-3 if end <= 0 else -3e-3
    if name == "fisk":  # SciPy's density is not that at 0
        assert (grad(f)(0.0), grad(grad(f))(0.0)) == (-2.0, 6.0)
        return
    first, second = one_sided(f, end, h)
    assert grad(f)(end) == pytest.approx(first, abs=1e-4, rel=1e-4)
    assert grad(grad(f))(end) == pytest.approx(second, abs=0.02, rel=0.02)
    points = np.array([end, end + h, end + 100 * h])
    values, pull = pb.func.vjp(lambda x: plain(x, *shapes), points)
    np.testing.assert_allclose(values, plain(points, *shapes), rtol=2e-13)
    np.testing.assert_allclose(pull(np.ones(3))[0], [grad(f)(x) for x in points], rtol=1e-13)


def test_a_density_that_is_no_power_at_the_end_is_left_to_scipy():
    value, slope = pb.func.value_and_grad(lambda x: stats.gengamma.pdf(x, 2.0, -1.0))(0.5)
    assert (value, slope) == pytest.approx((8 * np.exp(-2), 8 * np.exp(-2) * (4 - 6)))
    assert pb.func.vjp(lambda x: stats.gengamma.pdf(x, 2.0, -1.0), 0.0)[0] == 0


def test_a_density_that_vanishes_at_an_end_has_the_slope_0_in_its_shape():
    assert grad(lambda a: stats.gamma.pdf(0.0, a))(3.0) == 0
    assert grad(lambda a: stats.beta.pdf(1.0, 2.0, a))(3.0) == 0


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_a_success_that_is_sure_has_slopes(k):
    def slopes(f):
        return grad(f)(1.0), grad(grad(f))(1.0)

    of_masses = {0: (0, 0), 1: (0, 6), 2: (-3, -12), 3: (3, 6)}  # of (3 over k) p^k (1 - p)^(3 - k)
    assert slopes(lambda p: stats.binom.pmf(k, 3, p)) == pytest.approx(of_masses[k])
    of_failures = {0: (2, 2), 1: (-2, -8), 2: (0, 6), 3: (0, 0)}  # of (k + 1) p^2 (1 - p)^k
    assert slopes(lambda p: stats.nbinom.pmf(k, 2.0, p)) == pytest.approx(of_failures[k])
    if k:
        of_tails = {1: (-1, 0), 2: (0, 2), 3: (0, 0)}  # of (1 - p)^k
        assert slopes(lambda p: stats.geom.sf(k, p)) == of_tails[k]
        assert slopes(lambda p: stats.geom.cdf(k, p)) == tuple(-slope for slope in of_tails[k])
    if k < 2:
        assert grad(lambda p: stats.bernoulli.pmf(k, p))(1.0) == 2 * k - 1
