"""scipy.stats' functions of samples: what depends on ranks alone, ties and kinks, what is refused."""

import numpy as np
import pytest
from scipy import stats

import pullback as pb
from pullback.interop.adopt.scipy.ways import WITHOUT_GRADIENT
from pullback.scipy import stats as ours

X = np.array([0.31, 1.7, 2.4, 0.93, 3.3, 1.21, 0.55, 2.9])
Y = np.array([1.35, 0.4, 2.0, 1.6, 2.7, 0.2, 1.9, 3.4])
Z = np.array([2.1, 1.4, 0.7, 3.6, 1.3, 2.2, 0.9, 1.5])
RANKS = {
    **{
        name: lambda s, x, name=name: getattr(s, name)(x, Y)
        for name in (
            "ansari", "brunnermunzel", "chatterjeexi", "cramervonmises_2samp", "fligner", "kendalltau",
            "kruskal", "ks_2samp", "mannwhitneyu", "mood", "ranksums", "somersd", "spearmanr", "weightedtau",
            "wilcoxon",
        )
    },
    "friedmanchisquare": lambda s, x: s.friedmanchisquare(x, Y, Z),
    "median_test": lambda s, x: s.median_test(x, Y),
    "page_trend_test": lambda s, x: s.page_trend_test(np.reshape(x, (2, 4))),
    "percentileofscore": lambda s, x: s.percentileofscore(x, 1.0),
    "rankdata": lambda s, x: s.rankdata(x),
    "tiecorrect": lambda s, x: s.tiecorrect(x),
}  # fmt: skip


def numbers(result):
    """The statistic and the p-value, if it has them."""
    found = [getattr(result, field) for field in ("statistic", "pvalue") if hasattr(result, field)]
    return np.concatenate([np.ravel(x) for x in found or [result]])


@pytest.fixture(scope="module")
def adopting():
    with pb.adopt():
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RANKS)
def test_what_depends_on_ranks_does_not_move_with_the_samples(name, adopting):
    """Entered as without gradient: so it must be constant near every sample without ties."""
    assert ours.norm  # which loads the rules
    assert f"scipy.stats.{name}" in WITHOUT_GRADIENT
    plain, moved = numbers(RANKS[name](stats, X)), numbers(RANKS[name](stats, X + 1e-3 * np.cos(np.arange(8.0))))
    np.testing.assert_allclose(plain, moved, rtol=1e-12)
    seen = []

    def f(x):
        seen.append(numbers(RANKS[name](stats, x)))
        return np.sum(x) + np.sum(seen[-1])

    np.testing.assert_array_equal(pb.func.grad(f)(X), np.ones(8))
    np.testing.assert_array_equal(seen[0], plain)


def test_distances_agree_with_scipys_at_ties_and_refuse_what_it_refuses(adopting):
    tied = np.array([1.0, 1.0, 2.0, 2.0, 0.5])
    for f in (stats.wasserstein_distance, stats.energy_distance):
        expected = f(tied, Y, None, X)
        value, gradient = pb.func.value_and_grad(lambda x, f=f: f(x, Y, None, X))(tied)
        assert value == pytest.approx(expected, rel=1e-12)
        assert np.all(np.isfinite(gradient))
    for weights, words in ((-X, "non-negative"), (X[:3], "same size"), (0 * X, "positive and finite")):
        with pytest.raises(ValueError, match=words):
            pb.func.grad(lambda w: stats.wasserstein_distance(X, Y, w))(weights)


def test_a_density_estimate_meets_tensors_late_and_nested(adopting):
    kde = stats.gaussian_kde(X)
    assert isinstance(kde, stats.gaussian_kde)
    slope = (kde(1.0 + 1e-5) - kde(1.0 - 1e-5)) / 2e-5
    assert pb.func.grad(lambda x: np.sum(kde(x)))(np.array([1.0]))[0] == pytest.approx(slope[0], rel=1e-8)
    rows = pb.func.jacrev(lambda x: stats.gaussian_kde(x).logpdf(np.array([0.5, 1.5])))(X)
    again = pb.func.jacfwd(lambda x: stats.gaussian_kde(x).logpdf(np.array([0.5, 1.5])))(X)
    np.testing.assert_allclose(rows, again, rtol=1e-11, atol=1e-14)
    with pytest.raises(ValueError, match="dimension"):
        pb.func.grad(lambda x: np.sum(stats.gaussian_kde(np.stack([x, Y]))(np.ones((3, 2)))))(X)


def test_an_expectile_in_each_argument(adopting):
    weights = np.linspace(1.0, 2.0, 8)

    def f(p):
        return stats.expectile(p[:8], p[8], weights=p[9:])

    point = np.concatenate([X, [0.3], weights])
    value, gradient = pb.func.value_and_grad(f)(point)
    assert value == pytest.approx(f(point), rel=1e-9)
    steps = 1e-4 * np.eye(17)
    np.testing.assert_allclose(gradient, [(f(point + h) - f(point - h)) / 2e-4 for h in steps], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="alpha"):
        pb.func.grad(lambda a: stats.expectile(X, a))(1.5)


REFUSED = {
    "shapiro": lambda s, x: s.shapiro(x).statistic,
    "siegelslopes": lambda s, x: s.siegelslopes(x, Y)[0],
    "tukey_hsd": lambda s, x: np.sum(s.tukey_hsd(x, Y).statistic),
    "cumfreq": lambda s, x: np.sum(s.cumfreq(x)[0]),
    "ppcc_max": lambda s, x: s.ppcc_max(x),
    "boxcox_normmax": lambda s, x: s.boxcox_normmax(x),
    "bootstrap": lambda s, x: s.bootstrap((x,), np.mean, rng=1).standard_error,
    "ecdf": lambda s, x: np.sum(s.ecdf(x).cdf.quantiles),
    "Binomial": lambda s, x: s.Binomial(n=10, p=x[0] / 9).logpmf(3),
    "kstest": lambda s, x: s.kstest(x, "norm").statistic,
    "mode": lambda s, x: s.mode(x).mode,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused(name, adopting):
    with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as caught:
        pb.func.grad(lambda x: REFUSED[name](stats, x))(X)
    assert type(caught.value).__module__.startswith("pullback.")


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("end", ["low", "high"])
def test_the_confidence_interval_of_a_correlation(end, alternative, adopting):
    def f(x):
        return getattr(stats.pearsonr(x, Y, alternative=alternative).confidence_interval(0.9), end) + 0 * x[0]

    found = pb.func.grad(f)(X)
    np.testing.assert_allclose(found, [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(8)], atol=1e-8)


def test_the_bootstrapped_confidence_interval_of_a_correlation(adopting):
    def f(x):
        method = stats.BootstrapMethod(n_resamples=99, method="percentile", rng=np.random.default_rng(1))
        return stats.pearsonr(x, Y).confidence_interval(method=method).low

    found = pb.func.grad(f)(X)
    np.testing.assert_allclose(found, [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(8)], atol=1e-7)
