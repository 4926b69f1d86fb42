"""scipy.stats' distributions of vectors and matrices: in each argument, to second order, against differences."""

import contextlib
import copy

import numpy as np
import pytest
from scipy import stats

import pullback as pb
from pullback.scipy import stats as ours
from tests.scipy.test_calls import along, differences, directions, weighed

POINTS = np.array([[0.1, 0.4, -0.3], [1.0, 0.2, 0.7]])
MEAN = np.array([0.3, -0.2, 0.5])
NINE = np.cos(np.arange(9.0)) * 0.7
ALPHA = np.array([1.3, 2.1, 0.7, 3.0])
SHARES = np.array([0.2, 0.3, 0.4, 0.1])
COUNTS = [1, 2, 0, 3]
EYE = np.eye(2)


def spd(v):
    """A symmetric positive definite matrix of a vector."""
    n = int(np.sqrt(len(v)))
    return v.reshape(n, n) @ v.reshape(n, n).T + np.eye(n)


def unit(v):
    return v / np.sqrt(np.sum(v**2))


W, E = spd(np.sin(np.arange(9.0))), unit(np.ones(3))
# name -> (point, call of the module `s`, scipy.stats or ours)
CASES = {
    "normal, points": (POINTS.ravel(), lambda s, x: s.multivariate_normal.logpdf(x.reshape(2, 3), MEAN, W)),
    "normal, mean": (MEAN, lambda s, x: s.multivariate_normal.logpdf(POINTS, x, W)),
    "normal, covariance": (NINE, lambda s, x: s.multivariate_normal.logpdf(POINTS, MEAN, spd(x))),
    "normal, equal eigenvalues": (np.ones(3), lambda s, x: s.multivariate_normal.logpdf(POINTS, MEAN, np.diag(x))),
    "normal, a variance": (np.ones(1), lambda s, x: s.multivariate_normal.logpdf(POINTS, MEAN, x[0])),
    "normal, variances": (np.ones(3), lambda s, x: s.multivariate_normal.logpdf(POINTS, MEAN, x)),
    "normal, one variable": (MEAN, lambda s, x: s.multivariate_normal.logpdf(x[0], x[1], x[2])),
    "normal, the triangle of the covariance that is read": (
        NINE,
        lambda s, x: s.multivariate_normal.logpdf(POINTS, MEAN, W + x.reshape(3, 3) / 9),
    ),
    "inverse wishart, the triangle that is read": (
        NINE,
        lambda s, x: s.invwishart.logpdf(W + x.reshape(3, 3) / 9, 5.5, W),
    ),
    "normal, density": (NINE, lambda s, x: s.multivariate_normal.pdf(POINTS, MEAN, spd(x))),
    "normal, entropy": (NINE, lambda s, x: s.multivariate_normal.entropy(MEAN, spd(x))),
    "normal, frozen": (NINE, lambda s, x: s.multivariate_normal(MEAN + x[0], spd(x)).logpdf(POINTS)),
    "normal, frozen entropy": (NINE, lambda s, x: s.multivariate_normal(MEAN, spd(x)).entropy()),
    "normal, frozen of numbers": (MEAN, lambda s, x: s.multivariate_normal(MEAN + 1, W).logpdf(x)),
    "normal, its covariance": (NINE, lambda s, x: s.multivariate_normal(MEAN, spd(x)).cov),
    "normal, a Covariance": (
        MEAN,
        lambda s, x: s.multivariate_normal.logpdf(POINTS, x, stats.Covariance.from_diagonal([1.0, 2.0, 3.0])),
    ),
    "normal, singular": (
        np.ones(1),
        lambda s, x: s.multivariate_normal.logpdf(x[0] * np.ones(3), cov=np.ones((3, 3)), allow_singular=True),
    ),
    "t, points": (POINTS.ravel(), lambda s, x: s.multivariate_t.logpdf(x.reshape(2, 3), MEAN, W, 4.5)),
    "t, location": (MEAN, lambda s, x: s.multivariate_t.logpdf(POINTS, x, W, 4.5)),
    "t, shape": (NINE, lambda s, x: s.multivariate_t.logpdf(POINTS, MEAN, spd(x), 4.5)),
    "t, degrees": (np.array([4.5]), lambda s, x: s.multivariate_t.logpdf(POINTS, MEAN, W, x[0])),
    "t, frozen": (NINE, lambda s, x: s.multivariate_t(MEAN, spd(x), x[0] + 3).pdf(POINTS)),
    "t, entropy": (NINE, lambda s, x: s.multivariate_t.entropy(MEAN, spd(x), 4 + x[0])),
    "dirichlet, points": (SHARES[:3], lambda s, x: s.dirichlet.logpdf(x, ALPHA)),
    "dirichlet, alpha": (ALPHA, lambda s, x: s.dirichlet.logpdf(SHARES, x)),
    "dirichlet, density": (ALPHA, lambda s, x: s.dirichlet(x).pdf(SHARES)),
    "dirichlet, entropy": (ALPHA, lambda s, x: s.dirichlet.entropy(x)),
    "dirichlet, moments": (
        ALPHA,
        lambda s, x: (s.dirichlet.mean(x), s.dirichlet.var(x), s.dirichlet.cov(x), s.dirichlet(x).mean()),
    ),
    "wishart, points": (NINE, lambda s, x: s.wishart.logpdf(spd(x), 5.5, W)),
    "wishart, degrees": (np.array([5.5]), lambda s, x: s.wishart.logpdf(W, x[0], W)),
    "wishart, scale": (NINE, lambda s, x: s.wishart.logpdf(W, 5.5, spd(x))),
    "wishart, frozen": (NINE, lambda s, x: 1e3 * s.wishart(5.5, spd(x)).pdf(W)),
    "wishart, entropy": (NINE, lambda s, x: s.wishart.entropy(5.5 + x[0], spd(x))),
    "wishart, moments": (NINE, lambda s, x: (s.wishart.mean(5.5, spd(x)), s.wishart.var(5.5, spd(x)))),
    "inverse wishart, points": (NINE, lambda s, x: s.invwishart.logpdf(spd(x), 5.5, W)),
    "inverse wishart, several": (
        NINE,
        lambda s, x: s.invwishart.logpdf(np.stack([spd(x), W], -1), 5.5, W),
    ),
    "inverse wishart, one variable": (MEAN[:1], lambda s, x: s.invwishart.logpdf(x[0], 3.0, 2.0)),
    "inverse wishart, degrees": (np.array([5.5]), lambda s, x: s.invwishart.logpdf(W, x[0], W)),
    "inverse wishart, scale": (NINE, lambda s, x: s.invwishart.logpdf(W, 5.5, spd(x))),
    "inverse wishart, moments": (
        NINE,
        lambda s, x: (s.invwishart.mean(5.5, spd(x)), s.invwishart.entropy(5.5, spd(x))),
    ),
    "matrix normal, points": (POINTS.ravel(), lambda s, x: s.matrix_normal.logpdf(x.reshape(2, 3), POINTS / 3, EYE, W)),
    "matrix normal, mean": (POINTS.ravel(), lambda s, x: s.matrix_normal.logpdf(POINTS / 3, x.reshape(2, 3), EYE, W)),
    "matrix normal, rows": (NINE[:4], lambda s, x: s.matrix_normal.logpdf(POINTS / 3, POINTS, spd(x), W)),
    "matrix normal, columns": (NINE, lambda s, x: s.matrix_normal(POINTS, EYE, spd(x)).logpdf(POINTS / 3)),
    "matrix t, columns": (NINE, lambda s, x: s.matrix_t.logpdf(POINTS / 3, POINTS, EYE, spd(x), 4.0)),
    "matrix t, degrees": (np.array([4.0]), lambda s, x: s.matrix_t.logpdf(POINTS / 3, POINTS, EYE, W, x[0])),
    "multinomial, shares": (ALPHA, lambda s, x: s.multinomial.logpmf(COUNTS, 6, x / np.sum(x))),
    "multinomial, mass": (ALPHA, lambda s, x: s.multinomial(6, x / np.sum(x)).pmf(COUNTS)),
    "multinomial, moments": (
        ALPHA,
        lambda s, x: (s.multinomial.entropy(6, x / np.sum(x)), s.multinomial.cov(6, x / np.sum(x))),
    ),
    "von Mises-Fisher, points": (MEAN, lambda s, x: s.vonmises_fisher.logpdf(unit(x), E, 2.0)),
    "von Mises-Fisher, direction": (MEAN, lambda s, x: s.vonmises_fisher.logpdf(E, unit(x), 2.0)),
    "von Mises-Fisher, concentration": (np.array([2.0]), lambda s, x: s.vonmises_fisher.logpdf(E, unit(MEAN), x[0])),
    "von Mises-Fisher, frozen": (np.array([2.0]), lambda s, x: s.vonmises_fisher(E, x[0]).pdf(unit(MEAN))),
    "von Mises-Fisher, entropy": (np.array([2.0]), lambda s, x: s.vonmises_fisher.entropy(E, x[0])),
    "Dirichlet multinomial": (ALPHA, lambda s, x: s.dirichlet_multinomial.logpmf(COUNTS, x, 6)),
    "Dirichlet multinomial, moments": (
        ALPHA,
        lambda s, x: (s.dirichlet_multinomial.var(x, 6), s.dirichlet_multinomial.cov(x, 6)),
    ),
    "normal inverse gamma": (
        np.array([0.3, 1.2, 0.1, 1.5, 2.2, 0.8]),
        lambda s, x: s.normal_inverse_gamma.logpdf(x[0], x[1], x[2], x[3], x[4], x[5]),
    ),
}


@pytest.fixture(scope="module")
def adopting():
    with pb.adopt():
        yield


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name, adopting):
    x, call = CASES[name]
    f, v = weighed(lambda x: call(stats, x)), directions(x)
    value, gradient = pb.func.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-11)
    expected = differences(f, x)
    scale = max(1.0, np.abs(expected).max())
    assert np.any(np.abs(expected) > 1e-3)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7 * scale)
    assert pb.func.jvp(f, (x,), (v,))[1] == pytest.approx(gradient @ v, rel=1e-9, abs=1e-11 * scale)
    second = pb.func.grad(lambda x: pb.func.grad(f)(x) @ v)(x)
    curves = along(pb.func.grad(f), x, v)
    np.testing.assert_allclose(second, curves, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(curves).max()))


@pytest.mark.parametrize("name", CASES)
def test_the_same_by_import(name):
    x, call = CASES[name]
    with pb.adopt():
        expected = pb.func.grad(weighed(lambda x: call(stats, x)))(x)
    found = pb.func.grad(weighed(lambda x: call(ours, x)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(weighed(lambda x: call(ours, x))(x), weighed(lambda x: call(stats, x))(x))


REFUSED = {
    "singular": lambda s, x: s.multivariate_normal.logpdf(POINTS, MEAN, np.outer(x, x), allow_singular=True),
    "distribution function": lambda s, x: s.multivariate_normal.cdf(POINTS, x, W),
    "a Covariance of tensors": lambda s, x: s.multivariate_normal.logpdf(POINTS, MEAN, s.Covariance.from_diagonal(x)),
    "sampling": lambda s, x: s.multivariate_normal.rvs(x, W, random_state=1),
    "fit": lambda s, x: s.multivariate_normal.fit(np.stack([x, MEAN, 2 * MEAN, E]))[0],
    "counts": lambda s, x: s.multinomial.logpmf(x, 6, [0.2, 0.3, 0.5]),
    "group": lambda s, x: s.special_ortho_group.rvs(x[0]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["adopted", "imported"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused(name, way):
    s, adopted = (stats, pb.adopt()) if way == "adopted" else (ours, contextlib.nullcontext())
    with adopted, pytest.raises((RuntimeError, TypeError)) as caught:
        pb.func.grad(lambda x: np.sum(REFUSED[name](s, x)))(np.array([1.0, 2.0, 3.0]))
    assert type(caught.value).__module__.startswith("pullback.")


def test_errors_of_arguments_are_scipys(adopting):
    def of(cov):
        return pb.func.grad(lambda x: np.sum(stats.multivariate_normal.logpdf(POINTS, MEAN, x)))(cov)

    with pytest.raises(ValueError, match="positive semidefinite"):
        of(np.diag([1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match="square"):
        of(np.ones((3, 2)))
    with pytest.raises(ValueError, match="unit vector"):
        pb.func.grad(lambda k: stats.vonmises_fisher.logpdf(E, np.ones(3), k))(2.0)
    with pytest.raises(ValueError, match="positive scalar"):
        pb.func.grad(lambda k: stats.vonmises_fisher.logpdf(E, E, k))(-2.0)


def test_plain_programs_see_scipys_objects_while_adopting(adopting):
    frozen = stats.multivariate_normal(MEAN, W)
    assert type(frozen).__module__ == "scipy.stats._multivariate"
    np.testing.assert_array_equal(frozen.cov, W)
    np.testing.assert_array_equal(frozen.mean, MEAN)


def test_a_distribution_by_import_is_one_of_scipys():
    assert isinstance(ours.norm, stats.rv_continuous)
    assert isinstance(ours.multivariate_normal, type(stats.multivariate_normal))
    for made in (copy.copy(ours.norm), copy.deepcopy(ours.norm)):
        assert pb.func.grad(lambda x, made=made: made.logpdf(x))(1.3) == pytest.approx(-1.3, rel=1e-15)
    assert pb.func.grad(lambda m: ours.norm(m, 1.0).logpdf(0.3))(1.3) == pytest.approx(-1.0, rel=1e-15)
    assert type(stats.norm(0.0).dist) is type(stats.norm)
    assert ours.norm(0.1, 2.0).cdf(0.3) == stats.norm(0.1, 2.0).cdf(0.3)
    assert type(stats.multivariate_normal(MEAN)) is type(stats.multivariate_normal(MEAN, W))
