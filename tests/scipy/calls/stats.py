"""Calls of scipy.stats; the distributions are in test_distributions.py."""

import numpy as np
from scipy import stats

from tests.scipy.calls import M, at

x6 = np.array([1.37, 0.71, 2.2, 0.5, 1.9, 0.93])
v = np.array([0.3, 0.8, 1.5, 2.0, 0.9, 1.1])
w = np.array([1.8, 0.4, 0.6, 1.2, 2.3, 0.75])

CALLS = {
    "scipy.stats.expectile": [lambda x: stats.expectile(x, 0.3), lambda x: stats.expectile(x, x[0] / 3, weights=x**2)],
    "scipy.stats.Normal": [at(x6, lambda x: stats.Normal(mu=x[0], sigma=x[1]).logpdf(x[2]))],
    "scipy.stats.Uniform": [at(x6, lambda x: stats.Uniform(a=-x[0], b=x[1]).cdf(x[3]))],
    "scipy.stats.Logistic": [at(x6, lambda x: (stats.Logistic() * x[0] + x[1]).logpdf(x[2]))],
    "scipy.stats.Mixture": [
        at(x6, lambda x: stats.Mixture([stats.Normal(mu=x[0]), stats.Normal(sigma=x[1])], weights=[0.3, 0.7]).pdf(x[2]))
    ],
    "scipy.stats.gmean": [lambda x: stats.gmean(x), lambda x: stats.gmean(M(x), axis=1)],
    "scipy.stats.hmean": [lambda x: stats.hmean(x)],
    "scipy.stats.sem": [lambda x: stats.sem(x), lambda x: stats.sem(M(x), axis=1, ddof=0)],
    "scipy.stats.variation": [lambda x: stats.variation(x)],
    "scipy.stats.zscore": [lambda x: stats.zscore(x), lambda x: stats.zscore(M(x), axis=1)],
    "scipy.stats.moment": [at(x6, lambda x: stats.moment(x, 3))],
    "scipy.stats.skew": [at(x6, lambda x: stats.skew(x)), at(x6, lambda x: stats.skew(x, bias=False))],
    "scipy.stats.kurtosis": [at(x6, lambda x: stats.kurtosis(x)), at(x6, lambda x: stats.kurtosis(x, bias=False))],
    "scipy.stats.kstat": [at(x6, lambda x: stats.kstat(x, 3))],
    "scipy.stats.kstatvar": [at(x6, lambda x: stats.kstatvar(x))],
    "scipy.stats.tmean": [at(x6, lambda x: stats.tmean(x)), at(x6, lambda x: stats.tmean(x, (0.6, 2.0)))],
    "scipy.stats.tvar": [at(x6, lambda x: stats.tvar(x))],
    "scipy.stats.tstd": [at(x6, lambda x: stats.tstd(x))],
    "scipy.stats.tsem": [at(x6, lambda x: stats.tsem(x))],
    "scipy.stats.trim_mean": [at(x6, lambda x: stats.trim_mean(x, 0.2))],
    "scipy.stats.zmap": [at(x6, lambda x: stats.zmap(x, v)), at(x6, lambda x: stats.zmap(v, x))],
    "scipy.stats.gzscore": [at(x6, lambda x: stats.gzscore(x))],
    "scipy.stats.gstd": [at(x6, lambda x: stats.gstd(x))],
    "scipy.stats.pmean": [at(x6, lambda x: stats.pmean(x, 2.5))],
    "scipy.stats.circmean": [at(x6, lambda x: stats.circmean(x))],
    "scipy.stats.circvar": [at(x6, lambda x: stats.circvar(x))],
    "scipy.stats.circstd": [at(x6, lambda x: stats.circstd(x))],
    "scipy.stats.directional_stats": [at(x6, lambda x: stats.directional_stats(np.reshape(x, (3, 2))).mean_direction)],
    "scipy.stats.linregress": [
        at(x6, lambda x: [*stats.linregress(v, x)][:2]),
        at(x6, lambda x: stats.linregress(x, v).slope),
    ],
    "scipy.stats.ttest_1samp": [
        at(x6, lambda x: stats.ttest_1samp(x, 0.5).statistic),
        at(x6, lambda x: stats.ttest_1samp(x, 0.5).pvalue),
    ],
    "scipy.stats.ttest_ind": [
        at(x6, lambda x: stats.ttest_ind(x, v).statistic),
        at(x6, lambda x: stats.ttest_ind(x, v).pvalue),
    ],
    "scipy.stats.ttest_rel": [at(x6, lambda x: stats.ttest_rel(x, v).statistic)],
    "scipy.stats.ttest_ind_from_stats": [
        at(x6, lambda x: stats.ttest_ind_from_stats(x[0], x[1], 10, x[2], x[3], 12).statistic)
    ],
    "scipy.stats.entropy": [at(x6, lambda x: stats.entropy(x)), at(x6, lambda x: stats.entropy(x, v))],
    "scipy.stats.lmoment": [at(x6, lambda x: stats.lmoment(x))],
    "scipy.stats.describe": [at(x6, lambda x: [stats.describe(x).mean, stats.describe(x).variance])],
    "scipy.stats.boxcox_llf": [at(x6, lambda x: stats.boxcox_llf(x[0], x))],
    "scipy.stats.yeojohnson_llf": [at(x6, lambda x: stats.yeojohnson_llf(x[0], x))],
    "scipy.stats.boxcox": [at(x6, lambda x: stats.boxcox(x, 0.3))],
    "scipy.stats.yeojohnson": [at(x6, lambda x: stats.yeojohnson(x, 0.3))],
    "scipy.stats.differential_entropy": [at(x6, lambda x: stats.differential_entropy(x))],
    "scipy.stats.bartlett": [
        at(x6, lambda x: stats.bartlett(x, v).statistic),
        at(x6, lambda x: stats.bartlett(x, v).pvalue),
    ],
    "scipy.stats.levene": [at(x6, lambda x: stats.levene(x, v).statistic)],
    "scipy.stats.iqr": [at(x6, lambda x: stats.iqr(x))],
    "scipy.stats.quantile": [at(x6, lambda x: stats.quantile(x, 0.3))],
    "scipy.stats.median_abs_deviation": [at(x6, lambda x: stats.median_abs_deviation(x))],
    "scipy.stats.scoreatpercentile": [at(x6, lambda x: stats.scoreatpercentile(x, 30))],
    "scipy.stats.tmin": [at(x6, lambda x: stats.tmin(x))],
    "scipy.stats.tmax": [at(x6, lambda x: stats.tmax(x))],
    "scipy.stats.sigmaclip": [at(x6, lambda x: stats.sigmaclip(x)[0])],
    "scipy.stats.trimboth": [at(x6, lambda x: stats.trimboth(x, 0.2))],
    "scipy.stats.trim1": [at(x6, lambda x: stats.trim1(x, 0.2))],
    "scipy.stats.chisquare": [at(x6, lambda x: stats.chisquare(x * np.sum(v) / np.sum(x), v).statistic)],
    "scipy.stats.power_divergence": [at(x6, lambda x: stats.power_divergence(x).statistic)],
    "scipy.stats.combine_pvalues": [at(x6, lambda x: stats.combine_pvalues(x / 3).statistic)],
    "scipy.stats.jarque_bera": [
        at(x6, lambda x: stats.jarque_bera(x).statistic),
        at(x6, lambda x: stats.jarque_bera(x).pvalue),
    ],
    "scipy.stats.skewtest": [at(x6, lambda x: stats.skewtest(np.concatenate([x, v])).statistic)],
    "scipy.stats.kurtosistest": [at(x6, lambda x: stats.kurtosistest(np.concatenate([x, v, x * v])).statistic)],
    "scipy.stats.normaltest": [
        at(x6, lambda x: stats.normaltest(np.concatenate([x, v, x * v])).statistic),
        at(x6, lambda x: stats.normaltest(np.concatenate([x, v, x * v])).pvalue),
    ],
    "scipy.stats.alexandergovern": [at(x6, lambda x: stats.alexandergovern(x, v).statistic)],
    "scipy.stats.obrientransform": [at(x6, lambda x: stats.obrientransform(x, v)[0])],
    "scipy.stats.theilslopes": [at(x6, lambda x: stats.theilslopes(x, v)[0])],
    "scipy.stats.pearsonr": [
        at(x6, lambda x: [*stats.pearsonr(x, v)]),
        at(x6, lambda x: stats.pearsonr(v, x).statistic),
        at(x6, lambda x: stats.pearsonr(np.reshape(x, (2, 3)), np.reshape(v, (2, 3)), axis=1).statistic),
    ],
    "scipy.stats.pointbiserialr": [at(x6, lambda x: [*stats.pointbiserialr([0, 1, 1, 0, 0, 1], x)])],
    "scipy.stats.f_oneway": [
        at(x6, lambda x: [*stats.f_oneway(x, v, w)]),
        at(x6, lambda x: [*stats.f_oneway(v, x, w, equal_var=False)]),
    ],
    "scipy.stats.anderson": [at(x6, lambda x: stats.anderson(x, method="interpolate").statistic)],
    "scipy.stats.cramervonmises": [at(x6, lambda x: stats.cramervonmises(x, "norm").statistic)],
    "scipy.stats.chi2_contingency": [
        at(x6, lambda x: [*stats.chi2_contingency(np.reshape(x + 3, (2, 3)))][:2]),
        at(x6, lambda x: stats.chi2_contingency(np.reshape(x + 3, (2, 3)), lambda_="log-likelihood").expected_freq),
    ],
    "scipy.stats.false_discovery_control": [at(x6, lambda x: stats.false_discovery_control(x / 9))],
    "scipy.stats.probplot": [at(x6, lambda x: stats.probplot(x)[0][1]), at(x6, lambda x: [*stats.probplot(x)[1]])],
    "scipy.stats.binned_statistic": [
        at(x6, lambda x, s=s: stats.binned_statistic(w, x, s, 2).statistic) for s in ("mean", "sum", "std", "median")
    ],
    "scipy.stats.binned_statistic_2d": [at(x6, lambda x: stats.binned_statistic_2d(v, w, x, "sum", 2).statistic)],
    "scipy.stats.binned_statistic_dd": [at(x6, lambda x: stats.binned_statistic_dd([v, w], x, "sum", 2).statistic)],
    "scipy.stats.wasserstein_distance": [
        at(x6, lambda x: stats.wasserstein_distance(x, v)),
        at(x6, lambda x: stats.wasserstein_distance(v[:4], x, x[2:], w)),
    ],
    "scipy.stats.energy_distance": [
        at(x6, lambda x: stats.energy_distance(x, v)),
        at(x6, lambda x: stats.energy_distance(v[:4], x, x[2:], w)),
    ],
    "scipy.stats.gaussian_kde": [
        at(x6, lambda x: stats.gaussian_kde(x)([0.5, 1.5])),
        at(x6, lambda x: stats.gaussian_kde(np.reshape(x, (2, 3))).logpdf(np.array([[0.5, 1.0], [0.3, 0.2]]))),
        at(x6, lambda x: stats.gaussian_kde(v, "silverman", weights=x).pdf(w)),
        at(x6, lambda x: stats.gaussian_kde(v, bw_method=x[0]).evaluate(x)),
        at(x6, lambda x: stats.gaussian_kde(x).integrate_box_1d(-1.0, 0.7)),
    ],
}
CALLS["scipy.stats.expectile"] = [lambda x: stats.expectile(x, 0.3, weights=[1.0, 2.0, 0.5, 1.5])]
