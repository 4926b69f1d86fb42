"""scipy.stats' distributions: each method in each argument against differences, or refused; nothing else."""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.stats._distr_params import distcont, distdiscrete

import pullback as pb

SHAPES = {name: tuple(map(float, shapes)) for name, shapes in reversed(distcont) if isinstance(name, str)}
SHAPES = {name: SHAPES[name] for name in sorted(SHAPES) if name not in ("levy_stable", "studentized_range")}
WHOLE = {name: shapes for name, shapes in reversed(distdiscrete) if isinstance(name, str)}
# Of which every method named below is differentiable in every argument.
COMPLETE = (
    "norm", "expon", "uniform", "laplace", "logistic", "cauchy", "gumbel_r", "gamma", "beta", "t", "chi2", "f",
    "lognorm", "weibull_min", "pareto", "invgamma", "rayleigh", "halfnorm", "skewnorm", "genextreme", "invgauss",
    "betaprime", "fisk", "burr", "nakagami", "rice", "exponnorm", "truncexpon", "triang", "pearson3",
)  # fmt: skip
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
QUANTILES = ("ppf", "isf")


@pytest.fixture(scope="module", autouse=True)
def adopting():
    distributions = {name: getattr(stats, name) for name in (*SHAPES, *WHOLE)}
    pb.adopt()
    yield distributions
    pb.release()  # a test may have done so and adopted again


def slope(f, x, step):
    """By differences, extrapolated: of a number by a number, or by each element of a vector."""
    if np.ndim(x):
        return np.array([slope(lambda s, e=e: f(x + s * e), 0.0, step) for e in np.eye(len(x))])
    far, near = ((f(x + h) - f(x - h)) / (2 * h) for h in (step, step / 2))
    return (4 * near - far) / 3


def agrees(f, x):
    """Whether the gradient is that of differences; False if it is refused."""
    with np.errstate(all="ignore"):
        expected = slope(f, x, 1e-4 * max(1e-2, np.min(np.abs(x)) if np.any(x) else 1.0))
        try:
            found = pb.func.grad(f)(x)
        except Exception as error:
            if type(error).__module__.startswith("pullback."):  # refused, by an error of ours
                return False
            raise
    if not np.all(np.isfinite(expected)):
        return True
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * max(1.0, np.abs(expected).max()))
    return True


def cases(names, methods):
    return [pytest.param(name, method, id=f"{name}.{method}") for name in names for method in methods]


BY_INTEGRALS = ("gausshyper", "genhyperbolic", "geninvgauss")  # slow; the logarithms of these functions are of theirs
FUNCTIONS = cases([name for name in SHAPES if name not in BY_INTEGRALS], METHODS) + cases(BY_INTEGRALS, METHODS[:3])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "method"), FUNCTIONS)
def test_functions_of_points(name, method, adopting):
    distribution, shapes = adopting[name], SHAPES[name]
    args = [distribution.ppf(np.array([0.3, 0.62]), *shapes), *shapes, 0.1, 1.2]
    args[0] = args[0] * 1.2 + 0.1
    right = []
    for place in range(len(args)):

        def f(x, place=place):
            return np.sum(getattr(distribution, method)(*args[:place], x, *args[place + 1 :]) * np.array([1.0, 2.0]))

        right.append(agrees(f, np.asarray(args[place], float)[()]))
    if name in COMPLETE:
        assert all(right)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "method"), cases(COMPLETE, QUANTILES))
def test_quantiles(name, method, adopting):
    distribution, shapes = adopting[name], SHAPES[name]
    args = [np.array([0.3, 0.62]), *shapes, 0.1, 1.2]
    for place in range(len(args)):

        def f(x, place=place):
            return np.sum(getattr(distribution, method)(*args[:place], x, *args[place + 1 :]) * np.array([1.0, 2.0]))

        assert agrees(f, np.asarray(args[place], float)[()])


def test_second_derivatives_of_a_quantile(adopting):
    def f(a):
        return adopting["gamma"].ppf(0.7, a)

    assert pb.func.grad(pb.func.grad(f))(2.5) == pytest.approx(slope(pb.func.grad(f), 2.5, 1e-3), rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "lognorm", "weibull_min", "expon", "t", "pareto"])
@pytest.mark.parametrize("method", ["mean", "var", "std", "entropy"])
def test_numbers_of_a_distribution(name, method, adopting):
    distribution, args = adopting[name], [*SHAPES[name], 0.1, 1.2]
    for place in range(len(args)):

        def f(x, place=place):
            return getattr(distribution, method)(*args[:place], x, *args[place + 1 :]) + 0 * x

        assert agrees(f, args[place])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["alpha", "exponpow", "gompertz", "ncx2", "norminvgauss", "pearson3", "rice"])
def test_entropies_whose_densities_are_too_small_for_a_number_in_the_tails(name, adopting):
    distribution, shapes = adopting[name], SHAPES[name]
    for place in range(len(shapes)):

        def f(x, place=place):
            return distribution.entropy(*shapes[:place], x, *shapes[place + 1 :])

        assert agrees(f, shapes[place])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "method"),
    [
        *cases(("geninvgauss", "genhyperbolic"), ("logpdf",)),
        *cases(("geninvgauss",), ("sf",)),
        pytest.param("genhyperbolic", "sf", marks=pytest.mark.slow, id="genhyperbolic.sf"),
    ],
)
def test_densities_in_compiled_code(name, method, adopting):
    distribution, args = adopting[name], [0.7, *SHAPES[name], 0.1, 1.2]
    genuine = getattr(distribution, method)(*args)
    for place in range(len(args)):

        def f(x, place=place):
            return getattr(distribution, method)(*args[:place], x, *args[place + 1 :])

        assert pb.func.value_and_grad(f)(args[place])[0] == pytest.approx(genuine, rel=1e-11)
        assert agrees(f, args[place])


def test_the_landau_distribution_has_a_slope_and_its_density_none(adopting):
    for x in (-1.5, 0.3, 20.0):
        assert pb.func.grad(adopting["landau"].cdf)(x) == pytest.approx(stats.landau.pdf(x), rel=1e-14)
        assert pb.func.grad(adopting["landau"].logsf)(x) < 0
    with pytest.raises(NotImplementedError, match="landau_pdf"):
        pb.func.grad(adopting["landau"].pdf)(0.3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "method"), cases(WHOLE, ("pmf", "logpmf", "cdf", "sf")))
def test_whole_numbers_in_their_parameters(name, method, adopting):
    distribution, shapes = adopting[name], WHOLE[name]
    k = distribution.ppf(np.array([0.3, 0.62]), *shapes)
    right = []
    for place, shape in enumerate(shapes):
        if isinstance(shape, float) and shape != int(shape):

            def f(x, place=place):
                found = getattr(distribution, method)(k, *shapes[:place], x, *shapes[place + 1 :])
                return np.sum(found * np.array([1.0, 2.0]))

            right.append(agrees(f, shape))
    if name in ("poisson", "binom", "geom", "bernoulli", "nbinom"):
        assert all(right)


def test_frozen_distributions_and_imports(adopting):
    def f(p):
        frozen = adopting["norm"](p[0], p[1])
        return np.sum(frozen.logpdf(np.array([0.3, 1.0]))) + frozen.cdf(0.2) + frozen.ppf(0.7)

    assert agrees(f, np.array([0.4, 1.3]))


NUMBERS = {
    "moment": lambda d, a: d.moment(2, *a),
    "moments": lambda d, a: np.stack(d.stats(*a, moments="mv")),
    "support": lambda d, a: sum(end for end in d.support(*a) if np.isfinite(end)),
    "likelihood": lambda d, a: d.nnlf(a, np.array([1.3, 1.1])),
    "median": lambda d, a: d.median(*a),
    "interval": lambda d, a: np.stack(d.interval(0.7, *a)),
    "frozen": lambda d, a: d(*a).moment(2) + d(*a).var() + d(*a).interval(0.5)[0],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", NUMBERS)
@pytest.mark.parametrize(
    "name", ["norm", "gamma", "beta", "lognorm", "weibull_min", "expon", "t", "genpareto", "genextreme", "truncnorm"]
)
def test_more_numbers_of_a_distribution(name, what, adopting):
    distribution, args = adopting[name], np.array([*SHAPES[name], 0.1, 1.9])

    def f(a):
        return np.sum(NUMBERS[what](distribution, tuple(a[i] for i in range(len(args)))))

    assert agrees(f, args)


@pytest.mark.parametrize("name", ["norm", "gamma", "t", "beta"])
def test_samples_move_with_location_and_scale(name, adopting):
    distribution, shapes = adopting[name], SHAPES[name]

    def f(p):
        return np.sum(distribution.rvs(*shapes, p[0], p[1], size=3, random_state=3) * np.array([1.0, 2.0, 3.0]))

    assert agrees(f, np.array([0.4, 1.3]))


def test_samples_and_fits_are_refused_where_they_are_found_by_an_algorithm(adopting):
    points = np.array([0.3, 1.2, 2.2])
    for f in (
        lambda x: adopting["gamma"].rvs(x[0], random_state=1),
        lambda x: adopting["gamma"].fit(x, floc=0)[0],
        lambda x: adopting["norm"].expect(lambda y: y * x[0]),
        lambda x: adopting["poisson"].ppf(0.3, x[0]),
    ):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            pb.func.grad(f)(points)
        assert type(caught.value).__module__.startswith("pullback.")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(WHOLE))
def test_the_whole_number_itself_has_no_derivative(name, adopting):
    distribution, shapes = adopting[name], WHOLE[name]
    k = float(distribution.ppf(0.4, *shapes))
    for method in ("pmf", "logpmf"):
        for f in (
            lambda k, m=method: getattr(distribution, m)(k, *shapes),
            lambda k, m=method: getattr(distribution(*shapes), m)(k),
        ):
            with pytest.raises(RuntimeError, match="whole numbers"):
                pb.func.grad(f)(k)
    for method in ("cdf", "sf", "logcdf", "logsf"):
        assert pb.func.grad(lambda k, m=method: getattr(distribution, m)(k, *shapes) + 0 * k)(k) == 0


COUNTS = {
    "ksone.sf": lambda d, n: d.sf(0.3, n), "ksone.cdf": lambda d, n: d.cdf(0.3, n),
    "kstwo.sf": lambda d, n: d.sf(0.3, n),
    "kstwo.support": lambda d, n: d.support(n)[0], "irwinhall.stats": lambda d, n: d.stats(n)[0],
    "irwinhall.pdf": lambda d, n: d.pdf(0.3, n=n), "binom.pmf": lambda d, n: d.pmf(2, n, 0.3),
    "binom.mean": lambda d, n: d.mean(n, 0.3), "binom.support": lambda d, n: d.support(n, 0.3)[1],
    "betabinom.logpmf": lambda d, n: d(n, 2.0, 3.0).logpmf(2), "hypergeom.cdf": lambda d, n: d.cdf(2, 20, n, 7),
    "poisson.pmf": lambda d, n: d.pmf(7, 2.0, n), "poisson.logpmf": lambda d, n: d.logpmf(7, 2.0, loc=n),
    "gamma.moment": lambda d, n: d.moment(n, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_what_must_be_a_whole_number_is_refused(name, adopting):
    distribution = getattr(stats, name.partition(".")[0])
    with pytest.raises(RuntimeError, match="whole numbers"):
        pb.func.grad(lambda n: COUNTS[name](distribution, n) + n)(5.0)


def test_counts_that_may_be_fractions_have_a_derivative(adopting):
    def f(n):
        return stats.nbinom.logpmf(3, n, 0.4) + stats.nbinom.mean(n, 0.4) + stats.nbinom.var(n, 0.4)

    assert agrees(f, 5.0)


def test_a_shape_parameter_by_a_name_that_others_have_for_a_point(adopting):
    with pytest.raises(RuntimeError, match="exactly 0"):
        pb.func.grad(lambda k: stats.kappa4.pdf(0.3, h=0.1, k=k))(0.0)


@pytest.mark.parametrize("shapes", [(0.2, 0.3), (0.2, -0.3), (-0.2, -0.1), (-0.2, 0.1), (2.0, -0.3)])
def test_the_entropy_of_kappa4_whose_support_moves(shapes, adopting):
    def f(h, k):
        return stats.kappa4.entropy(h, k)

    found, value = pb.func.grad_and_value(f, argnums=(0, 1))(*shapes)
    assert value == pytest.approx(stats.kappa4.entropy(*shapes), abs=1e-8)
    ends = [[f(*(x + s * 1e-4 * (i == j) for j, x in enumerate(shapes))) for s in (1, -1)] for i in (0, 1)]
    np.testing.assert_allclose(found, [(up - down) / 2e-4 for up, down in ends], rtol=1e-4)


def test_the_entropy_of_kappa4_at_the_limit(adopting):
    found = pb.func.grad(lambda k: stats.kappa4.entropy(0.0, k))(0.3)
    assert found == pytest.approx(-np.euler_gamma)


def test_moments_where_the_location_is_zero(adopting):
    for name, args in (("norm", [0.0, 1.2]), ("gamma", [2.5, 0.0, 1.2]), ("poisson", [2.5, 0.0])):
        for order in (1, 2, 3) if name == "poisson" else (1, 2, 3, 5):
            assert agrees(
                lambda a, d=adopting[name], n=order: d.moment(n, *(a[i] for i in range(len(a)))), np.array(args)
            )


@pytest.mark.parametrize(
    ("name", "args"), [("nct", [6.5, 0.7]), ("ncf", [5.5, 7.5, 0.7]), ("kstwobign", []), ("ncx2", [3.5, 1.2])]
)
def test_second_derivatives_of_densities_in_compiled_code(name, args, adopting):
    f = pb.func.grad(lambda p: getattr(stats, name).logpdf(p[0], *(p[i + 1] for i in range(len(args)))))
    point = np.array([0.9, *args])
    for axis in range(len(point)):
        assert agrees(lambda p, axis=axis: f(p)[axis], point)


def test_the_same_by_import_without_adopt():
    from pullback.scipy import stats as ours

    pb.release()
    norm, frozen = ours.norm, ours.gamma(2.0)
    assert norm.logpdf(0.3) == stats.norm.logpdf(0.3)
    assert frozen.mean() == 2.0
    assert pb.func.grad(norm.logpdf)(0.3) == pytest.approx(-0.3)
    expected = slope(lambda s: stats.norm.logpdf(0.3, 0, s), 1.2, 1e-3)
    assert pb.func.grad(lambda s: norm(0.0, s).logpdf(0.3))(1.2) == pytest.approx(expected)
    assert pb.func.grad(frozen.ppf)(0.4) == pytest.approx(1 / stats.gamma.pdf(stats.gamma.ppf(0.4, 2.0), 2.0))
    assert isinstance(norm, type(stats.norm))
    pb.adopt()


@pytest.mark.parametrize("x", [-3.1405, 0.3, 3.1405])
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_the_cosine_distribution_has_scipys_values_in_its_tails(method, x):
    value, slope = pb.func.value_and_grad(lambda x: getattr(stats.cosine, method)(x))(x)
    assert value == getattr(stats.cosine, method)(x)
    with mp.workdps(40):
        side = -1 if method.endswith("sf") else 1
        below = (mp.pi + side * x + mp.sin(side * x)) / (2 * mp.pi)
        wanted = side * (1 + mp.cos(x)) / (2 * mp.pi) / (below if method.startswith("log") else 1)
    np.testing.assert_allclose(slope, float(wanted), rtol=1e-13)


@pytest.mark.parametrize("name", ["alpha", "cauchy", "burr", "rice"])
@pytest.mark.parametrize("q", [1e-13, 0.3, 1 - 1e-13])
def test_quantiles_have_scipys_values_where_rounding_moves_them_far(name, q):
    for method in ("ppf", "isf"):
        quantile = getattr(getattr(stats, name), method)
        found, _ = pb.func.value_and_grad(lambda q, quantile=quantile: quantile(q, *SHAPES[name]))(q)
        assert found == quantile(q, *SHAPES[name])


@pytest.mark.parametrize("name", ["gamma", "dpareto_lognorm"])
def test_entropies_of_tensors_without_adopt(name):
    pb.release()
    distribution = getattr(pb.scipy.stats, name)
    args = [*{"gamma": (2.5,), "dpareto_lognorm": (3.0, 1.2, 2.5, 2.0)}[name], 0.1, 1.5]
    given = [pb.tensor(x, requires_grad=True) for x in args]
    found = distribution.entropy(*given)
    assert found.item() == pytest.approx(getattr(stats, name).entropy(*args))
    found.backward()
    for place, x in enumerate(given):

        def f(y, place=place):
            return getattr(stats, name).entropy(*args[:place], y, *args[place + 1 :])

        assert (
            x.grad is None
            if place == len(args) - 2
            else x.grad.item() == pytest.approx(slope(f, args[place], 1e-3), rel=1e-6)
        )
    pb.adopt()


# The place in the arguments, where SciPy vectorises a method, calls a ufunc with a list, or makes a spline.
WITHOUT_ADOPT = {
    "gompertz.mean": (0, (0.947,)), "crystalball.entropy": (1, (2.0, 3.0)), "exponweib.var": (1, (2.9, 1.95)),
    "gennorm.std": (0, (1.3,)), "skewnorm.entropy": (0, (4.0,)), "genhyperbolic.ppf": (0, (0.4, 0.5, 1.5, -0.5)),
    "geninvgauss.cdf": (0, (0.8, 2.3, 1.5)), "irwinhall.cdf": (0, (4.0, 10)), "landau.ppf": (0, (0.3,)),
    "ksone.ppf": (0, (0.3, 20)), "genexpon.mean": (1, (9.13, 16.2, 3.28)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", WITHOUT_ADOPT)
def test_methods_that_scipy_computes_by_element_or_by_quadrature_without_adopt(case):
    name, _, method = case.partition(".")
    place, args = WITHOUT_ADOPT[case]

    def f(stats, x):
        return getattr(getattr(stats, name), method)(*args[:place], x, *args[place + 1 :])

    pb.release()
    value, found = pb.func.value_and_grad(lambda x: f(pb.scipy.stats, x))(args[place])
    pb.adopt()
    assert value == pytest.approx(f(stats, args[place]), rel=1e-12)
    assert found == pytest.approx(slope(lambda x: f(stats, x), args[place], 1e-3 * args[place]), rel=1e-6)


def test_a_method_without_derivative_is_named(adopting):
    with pytest.raises(RuntimeError, match="cdf"):
        pb.func.grad(lambda x: adopting["kstwo"].cdf(x, 20))(0.3)


def test_third_derivatives_of_a_quantile(adopting):
    second = pb.func.grad(pb.func.grad(lambda q: adopting["gamma"].ppf(q, 2.5)))
    assert pb.func.grad(second)(0.3) == pytest.approx(slope(second, 0.3, 1e-3), rel=1e-6)


@pytest.mark.parametrize("kappa", [0.01, 49.0, 60.0])
@pytest.mark.parametrize("x", [-1.0, 0.01, 5.0])
def test_the_circular_normal_distribution_moves_with_its_concentration(kappa, x):
    def reference(k):
        end = mp.mpf(x) - 2 * mp.pi * round(x / (2 * np.pi))
        points = [abs(end), *(abs(end) + mp.mpf(10) ** -m for m in (3, 2, 1)), mp.pi]
        tail = mp.quad(lambda t: mp.exp(k * (mp.cos(t) - 1)), points) / (2 * mp.pi * mp.exp(-k) * mp.besseli(0, k))
        return tail if end < 0 else -tail

    found = pb.func.grad(lambda k: pb.scipy.stats.vonmises.cdf(x, k))(kappa)
    with mp.workdps(30):
        np.testing.assert_allclose(float(found), float(mp.diff(reference, kappa)), rtol=1e-10, atol=1e-300)
    slope = pb.func.grad(lambda x: pb.scipy.stats.vonmises.cdf(x, kappa))(x)
    np.testing.assert_allclose(float(slope), stats.vonmises.pdf(x, kappa), rtol=1e-9)
