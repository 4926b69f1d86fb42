"""SciPy's random variables, `stats.Normal` and its kin: each method against differences, without `adopt()`."""

import numpy as np
import pytest
from scipy import stats

import pullback as pb
from pullback.core.errors import UnsupportedError

pytestmark = pytest.mark.skipif(not hasattr(stats, "Mixture"), reason="SciPy has random variables from 1.15 on")

AT = np.array([0.45, 0.8])
VARIABLES = {
    "Normal": lambda stats, p: stats.Normal(mu=p[0], sigma=p[1]),
    "Uniform": lambda stats, p: stats.Uniform(a=p[0] - 1, b=p[1] + 1),
    "shifted": lambda stats, p: stats.Normal(mu=p[0], sigma=1.2) * p[1] + 0.3,
    "Mixture": lambda stats, p: stats.Mixture(
        [stats.Normal(mu=p[0], sigma=1.0), stats.Normal(mu=2.0, sigma=p[1])], weights=[0.3, 0.7]
    ),
}
OF_POINTS = ("pdf", "logpdf", "cdf", "logcdf", "ccdf", "logccdf")
QUANTILES = ("icdf", "iccdf")
NUMBERS = ("mean", "entropy")
CASES = [(name, method) for name in VARIABLES for method in (*OF_POINTS, *NUMBERS)]
CASES += [(name, method) for name in VARIABLES if name != "Mixture" for method in (*QUANTILES, "variance", "skewness")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_method_of_a_random_variable_in_its_parameters_and_at_its_point(name, method):
    given = () if method in NUMBERS or method in ("variance", "skewness") else (0.4,)

    def f(stats, p, *x):
        return getattr(VARIABLES[name](stats, p), method)(*x)

    value, (by_parameters, *by_point) = pb.func.value_and_grad(
        lambda *args: f(pb.scipy.stats, *args), tuple(range(1 + len(given)))
    )(AT, *given)
    assert value == pytest.approx(f(stats, AT, *given), rel=1e-12)
    steps = 1e-5 * np.eye(2)
    np.testing.assert_allclose(
        by_parameters, [(f(stats, AT + h, *given) - f(stats, AT - h, *given)) / 2e-5 for h in steps], 1e-6, 1e-8
    )
    for slope in by_point:
        np.testing.assert_allclose(slope, (f(stats, AT, 0.4 + 1e-5) - f(stats, AT, 0.4 - 1e-5)) / 2e-5, 1e-6)


def test_what_a_random_variable_integrates_depends_on_its_parameters():
    def f(mu):
        return pb.scipy.stats.Normal(mu=mu, sigma=1.2).cdf(0.4, method="quadrature")

    assert pb.func.grad(f)(0.1) == pytest.approx(-stats.norm.pdf(0.4, 0.1, 1.2), rel=1e-9)


@pytest.mark.parametrize("method", ["icdf", "mode"])
def test_what_a_random_variable_searches_has_no_derivative(method):
    mixture = VARIABLES["Mixture"]
    with pytest.raises(UnsupportedError, match="no formula for this quantile or mode"):
        pb.func.grad(lambda p: getattr(mixture(pb.scipy.stats, p), method)(*[0.4][: method == "icdf"]))(AT)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["truncate", "exp", "abs", "order_statistic", "make_distribution"])
def test_other_random_variables_refuse_a_gradient(form):
    def variable(stats, m):
        if form == "make_distribution":
            return stats.make_distribution(stats.gamma)(a=m)
        more = {"truncate": {"lb": 0.0}, "order_statistic": {"n": 3, "r": 2}}.get(form, {})
        return getattr(stats, form)(stats.Normal(mu=m, sigma=1.0), **more)

    for where in (lambda m: variable(pb.scipy.stats, m).pdf(0.4), lambda m: variable(stats, m).pdf(0.4)):
        with pb.adopt(), pytest.raises((RuntimeError, TypeError)) as caught:
            pb.func.grad(where)(0.3)
        assert type(caught.value).__module__.startswith("pullback.")
