"""SciPy's private ufuncs of distributions, which scipy.stats calls: values by SciPy, derivatives by closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array, frozen
from pullback.scipy.rules.special import operators as special
from pullback.scipy.rules.special.powers import power_at_zero, where_not


def _rule(name: str, loses_digits: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated expression is the rule of the ufunc; of its derivatives alone where it loses digits in a tail."""

    def enter(expression: Callable[..., Any]) -> Callable[..., Any]:
        genuine = getattr(sp._ufuncs, name, None)

        def corrected(*args: object) -> AnyArray:
            found = expression(*args)
            missing = genuine(*[frozen(x, name) for x in args]) - frozen(found, name)  # type: ignore[misc]
            return found + missing

        if genuine is not None:  # the installed SciPy has it
            scipy_rule(f"scipy.special.{name}")(corrected if loses_digits else expression)
        return expression

    return enter


@_rule("_beta_pdf")
def beta_density(x: AnyArray, a: AnyArray, b: AnyArray) -> AnyArray:
    """x^(a-1) (1-x)^(b-1) / B(a, b)."""
    first, at_first = power_at_zero(x, a - 1)
    last, at_last = power_at_zero(1 - x, b - 1)
    logs = sp.xlogy(a - 1, where_not(first, x, 1.0)) + sp.xlog1py(b - 1, -where_not(last, x, 0.0))
    return at_first * at_last * np.exp(logs - sp.betaln(a, b))


@_rule("_ncx2_pdf")
def noncentral_chi_square_density(x: AnyArray, k: AnyArray, nc: AnyArray) -> AnyArray:
    """exp(-(sqrt(x) - sqrt(nc))^2 / 2) (x / nc)^(k/4 - 1/2) ive(k/2 - 1, sqrt(nc x)) / 2.

    Where x is 0, x^(k/2 - 1) exp(-(x + nc) / 2) 0F1(k/2; nc x / 4) / (2^(k/2) Gamma(k/2)), without roots.
    """
    zero, power = power_at_zero(x, k / 2 - 1)
    outer = where_not(zero, x, 1.0)
    apart = np.sqrt(outer) - np.sqrt(nc)
    found = np.exp(-(apart**2) / 2) * (outer / nc) ** (k / 4 - 0.5) * sp.ive(k / 2 - 1, np.sqrt(nc * outer)) / 2
    if zero is False:
        return found
    inner = np.where(zero, x, 0.0)
    series = np.exp(-(inner + nc) / 2) * sp.hyp0f1(k / 2, nc * inner / 4)
    return np.where(zero, power * series / (2 ** (k / 2) * sp.gamma(k / 2)), found)


@_rule("_ncx2_sf", loses_digits=True)
def noncentral_chi_square_survival(x: AnyArray, k: AnyArray, nc: AnyArray) -> AnyArray:
    """1 minus the distribution function."""
    return 1 - sp.chndtr(x, k, nc)


@_rule("_ncf_sf", loses_digits=True)
def noncentral_f_survival(x: AnyArray, d1: AnyArray, d2: AnyArray, nc: AnyArray) -> AnyArray:
    """1 minus the distribution function."""
    return 1 - sp.ncfdtr(d1, d2, nc, x)


@_rule("_nct_sf", loses_digits=True)
def noncentral_t_survival(x: AnyArray, df: AnyArray, nc: AnyArray) -> AnyArray:
    """1 minus the distribution function."""
    return 1 - sp.nctdtr(df, nc, x)


@_rule("_ncf_pdf", loses_digits=True)
def noncentral_f_density(x: AnyArray, d1: AnyArray, d2: AnyArray, nc: AnyArray) -> AnyArray:
    """The central density times exp(-nc/2) 1F1((d1+d2)/2; d1/2; w nc/2), with w = d1 x / (d1 x + d2)."""
    over = d1 / (d1 * x + d2)
    w = x * over
    a, b = d1 / 2, d2 / 2
    zero, power = power_at_zero(x, a - 1)
    central = sp.xlogy(a - 1, where_not(zero, x, 1.0)) + a * np.log(over) + sp.xlog1py(b, -w) - sp.betaln(a, b)
    return power * np.exp(central - nc / 2) * sp.hyp1f1(a + b, a, nc / 2 * w)


@_rule("_nct_pdf", loses_digits=True)
def noncentral_t_density(x: AnyArray, df: AnyArray, nc: AnyArray) -> AnyArray:
    """The slope of the distribution function."""
    return special.nctdtr_derivative(array(df), array(nc), array(x), 0, 0, 1)


@_rule("_kolmogp", loses_digits=True)
def kolmogorov_slope(x: AnyArray) -> AnyArray:
    """The slope of the survival function."""
    return special.kolmogorov_derivative(array(x), 1)


@_rule("_smirnovp")
def smirnov_slope(n: AnyArray, x: AnyArray) -> AnyArray:
    """The slope of smirnov, of which there is none here."""
    return special.smirnov_slope(n, array(x))


@_rule("_smirnovc", loses_digits=True)
def smirnov_distribution(n: AnyArray, x: AnyArray) -> AnyArray:
    """1 minus the survival function."""
    return 1 - sp.smirnov(n, x)


@_rule("_skewnorm_cdf")
def skew_normal(x: AnyArray, loc: AnyArray | float, scale: AnyArray | float, a: AnyArray) -> AnyArray:
    """Phi(z) - 2 T(z, a), with Owen's function T."""
    z = (x - loc) / scale
    return sp.ndtr(z) - 2 * sp.owens_t(z, a)


@_rule("_landau_pdf")
def landau_density(x: AnyArray, loc: ArrayLike, scale: AnyArray | float) -> AnyArray:
    """The standard one's, of which the slope has no rule."""
    return special.landau_pdf((array(x) - loc) / scale) / scale


@_rule("_landau_cdf")
def landau_distribution(x: AnyArray, loc: ArrayLike, scale: AnyArray | float) -> AnyArray:
    """The standard one's."""
    return special.landau_cdf((array(x) - loc) / scale)


@_rule("_landau_sf")
def landau_survival(x: AnyArray, loc: ArrayLike, scale: AnyArray | float) -> AnyArray:
    """The standard one's."""
    return special.landau_sf((array(x) - loc) / scale)


@_rule("_scaled_exp1")
def scaled_exponential_integral(x: AnyArray) -> AnyArray:
    """x exp(x) E1(x)."""
    return special.scaled_exp1(array(x))


@_rule("_cosine_cdf")
def cosine(x: AnyArray) -> AnyArray:
    """(pi + x + sin(x)) / (2 pi) between -pi and pi, whose terms cancel in the tail."""
    return special.cosine_cdf(array(x))


@_rule("_kolmogc", loses_digits=True)
def kolmogorov_distribution(x: AnyArray) -> AnyArray:
    """1 minus the survival function."""
    return 1 - sp.kolmogorov(x)


@_rule("_log1mexp")
def log_of_one_minus_exp(x: AnyArray) -> AnyArray:
    """log(1 - exp(x))."""
    return np.log(-np.expm1(x))


@_rule("_binom_pmf")
def binomial_mass(k: AnyArray, n: AnyArray | float, p: AnyArray) -> AnyArray:
    """(n over k) p^k (1-p)^(n-k)."""
    sure, power = power_at_zero(1 - p, n - k)
    return power * np.exp(_log_binomial(n, k) + sp.xlogy(k, p) + sp.xlog1py(n - k, -where_not(sure, p, 0.0)))


@_rule("_binom_cdf")
def binomial_distribution(k: AnyArray, n: AnyArray, p: AnyArray) -> AnyArray:
    """I_{1-p}(n - k, k + 1); 1 from n on."""
    ended = frozen(k >= n, "_binom_cdf")
    k = np.where(ended, 0, k)
    return np.where(ended, 1.0, sp.betainc(n - k, k + 1, 1 - p))


@_rule("_binom_sf")
def binomial_survival(k: AnyArray, n: AnyArray, p: AnyArray) -> AnyArray:
    """I_p(k + 1, n - k); 0 from n on."""
    ended = frozen(k >= n, "_binom_sf")
    k = np.where(ended, 0, k)
    return np.where(ended, 0.0, sp.betainc(k + 1, n - k, p))


@_rule("_nbinom_pmf")
def negative_binomial_mass(k: AnyArray, n: AnyArray, p: AnyArray) -> AnyArray:
    """(k + n - 1 over k) p^n (1-p)^k."""
    sure, power = power_at_zero(1 - p, k)
    return power * np.exp(_log_binomial(k + n - 1, k) + n * np.log(p) + sp.xlog1py(k, -where_not(sure, p, 0.0)))


@_rule("_nbinom_cdf")
def negative_binomial_distribution(k: AnyArray, n: AnyArray, p: AnyArray) -> AnyArray:
    """I_p(n, k + 1)."""
    return sp.betainc(n, k + 1, p)


@_rule("_nbinom_sf")
def negative_binomial_survival(k: AnyArray, n: AnyArray, p: AnyArray) -> AnyArray:
    """I_{1-p}(k + 1, n)."""
    return sp.betainc(k + 1, n, 1 - p)


@_rule("_nbinom_mean")
def negative_binomial_mean(n: AnyArray, p: AnyArray) -> AnyArray:
    """n (1-p) / p."""
    return n * (1 - p) / p


@_rule("_nbinom_variance")
def negative_binomial_variance(n: AnyArray, p: AnyArray) -> AnyArray:
    """n (1-p) / p^2."""
    return n * (1 - p) / p**2


@_rule("_nbinom_skewness")
def negative_binomial_skewness(n: AnyArray, p: AnyArray) -> AnyArray:
    """(2 - p) / sqrt(n (1-p))."""
    return (2 - p) / np.sqrt(n * (1 - p))


@_rule("_nbinom_kurtosis_excess")
def negative_binomial_kurtosis(n: AnyArray, p: AnyArray) -> AnyArray:
    """(p^2 - 6 p + 6) / (n (1-p))."""
    return (p**2 - 6 * p + 6) / (n * (1 - p))


@_rule("_ncf_mean", loses_digits=True)
def noncentral_f_mean(d1: AnyArray, d2: AnyArray, nc: AnyArray) -> AnyArray:
    """d2 (d1 + nc) / (d1 (d2 - 2))."""
    return d2 * (d1 + nc) / (d1 * (d2 - 2))


@_rule("_ncf_variance", loses_digits=True)
def noncentral_f_variance(d1: AnyArray, d2: AnyArray, nc: AnyArray) -> AnyArray:
    """2 (d2/d1)^2 ((d1+nc)^2 + (d1 + 2 nc) (d2-2)) / ((d2-2)^2 (d2-4))."""
    return 2 * (d2 / d1) ** 2 * ((d1 + nc) ** 2 + (d1 + 2 * nc) * (d2 - 2)) / ((d2 - 2) ** 2 * (d2 - 4))


@_rule("_nct_mean", loses_digits=True)
def noncentral_t_mean(df: AnyArray, nc: AnyArray) -> AnyArray:
    """nc sqrt(df/2) Gamma((df-1)/2) / Gamma(df/2)."""
    return nc * np.sqrt(df / 2) * np.exp(sp.gammaln((df - 1) / 2) - sp.gammaln(df / 2))


@_rule("_nct_variance", loses_digits=True)
def noncentral_t_variance(df: AnyArray, nc: AnyArray) -> AnyArray:
    """df (1 + nc^2) / (df - 2) minus the square of the mean."""
    return df * (1 + nc**2) / (df - 2) - noncentral_t_mean(df, nc) ** 2


def _log_binomial(n: AnyArray | float, k: AnyArray) -> AnyArray:
    return sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1)
