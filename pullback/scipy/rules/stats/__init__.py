"""scipy.stats."""

from pullback.interop.adopt.scipy.ways import (
    classes_run_as_they_stand,
    gives_no_gradient,
    leaves_out,
    runs_as_it_stands,
)
from pullback.scipy.rules.stats import densities as _densities  # noqa: F401 - which enters its rules
from pullback.scipy.rules.stats import distributions as _distributions  # noqa: F401 - which enters its rules
from pullback.scipy.rules.stats import edges as _edges  # noqa: F401
from pullback.scipy.rules.stats import multivariate as _multivariate  # noqa: F401
from pullback.scipy.rules.stats import samples as _samples  # noqa: F401
from pullback.scipy.rules.stats import smooth as _smooth  # noqa: F401

runs_as_it_stands(
    "scipy.stats.alexandergovern",
    "scipy.stats.anderson",
    "scipy.stats.bartlett",
    "scipy.stats.binned_statistic",
    "scipy.stats.binned_statistic_2d",
    "scipy.stats.binned_statistic_dd",
    "scipy.stats.chi2_contingency",
    "scipy.stats.chisquare",
    "scipy.stats.circmean",
    "scipy.stats.circstd",
    "scipy.stats.circvar",
    "scipy.stats.combine_pvalues",
    "scipy.stats.cramervonmises",
    "scipy.stats.describe",
    "scipy.stats.differential_entropy",
    "scipy.stats.directional_stats",
    "scipy.stats.energy_distance",
    "scipy.stats.entropy",
    "scipy.stats.f_oneway",
    "scipy.stats.false_discovery_control",
    "scipy.stats.gmean",
    "scipy.stats.gstd",
    "scipy.stats.gzscore",
    "scipy.stats.hmean",
    "scipy.stats.jarque_bera",
    "scipy.stats.kstat",
    "scipy.stats.kstatvar",
    "scipy.stats.kurtosis",
    "scipy.stats.kurtosistest",
    "scipy.stats.levene",
    "scipy.stats.linregress",
    "scipy.stats.lmoment",
    "scipy.stats.median_abs_deviation",
    "scipy.stats.moment",
    "scipy.stats.normaltest",
    "scipy.stats.obrientransform",
    "scipy.stats.pearsonr",
    "scipy.stats.pointbiserialr",
    "scipy.stats.power_divergence",
    "scipy.stats.probplot",
    "scipy.stats.quantile",
    "scipy.stats.scoreatpercentile",
    "scipy.stats.sem",
    "scipy.stats.sigmaclip",
    "scipy.stats.skew",
    "scipy.stats.skewtest",
    "scipy.stats.theilslopes",
    "scipy.stats.tmax",
    "scipy.stats.tmean",
    "scipy.stats.tmin",
    "scipy.stats.trim1",
    "scipy.stats.trim_mean",
    "scipy.stats.trimboth",
    "scipy.stats.tsem",
    "scipy.stats.tstd",
    "scipy.stats.ttest_1samp",
    "scipy.stats.ttest_ind",
    "scipy.stats.ttest_ind_from_stats",
    "scipy.stats.ttest_rel",
    "scipy.stats.tvar",
    "scipy.stats.variation",
    "scipy.stats.wasserstein_distance",
    "scipy.stats.zmap",
    "scipy.stats.zscore",
)
# Random variables, of formulas and of what is computed with them.
classes_run_as_they_stand(
    "scipy.stats._new_distributions", "scipy.stats.Logistic", "scipy.stats.Normal", "scipy.stats.Uniform"
)
classes_run_as_they_stand("scipy.stats._distribution_infrastructure", "scipy.stats.Mixture")
# Of ranks and counts.
gives_no_gradient(
    *(
        f"scipy.stats.{name}"
        for name in (
            "ansari",
            "brunnermunzel",
            "chatterjeexi",
            "cramervonmises_2samp",
            "fligner",
            "friedmanchisquare",
            "kendalltau",
            "kruskal",
            "ks_2samp",
            "mannwhitneyu",
            "median_test",
            "mood",
            "page_trend_test",
            "percentileofscore",
            "rankdata",
            "ranksums",
            "somersd",
            "spearmanr",
            "spearmanrho",
            "tiecorrect",
            "weightedtau",
            "wilcoxon",
        )
    )
)
leaves_out("scipy.stats.iqr", "scale", 1.0)
leaves_out("scipy.stats.boxcox", "lmbda", 0.0)
leaves_out("scipy.stats.boxcox_llf", "lmb", 0.0)
leaves_out("scipy.stats.pmean", "p", 0.0)
leaves_out("scipy.stats.yeojohnson", "lmbda", 0.0, 2.0)
leaves_out("scipy.stats.yeojohnson_llf", "lmb", 0.0, 2.0)
