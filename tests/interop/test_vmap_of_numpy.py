"""Every NumPy function that has a rule, under vmap, against a loop; what vmap refuses is refused by name."""

import warnings

import numpy as np
import pytest
import scipy.stats

import pullback as pb
from pullback.core.errors import UnsupportedError
from pullback.func import grad, vmap
from tests.interop.numpy_calls import CONSTANT, SMOOTH, few, leaves, m

X = np.stack([m, m[::-1] * 0.9 + 0.05, m[:, ::-1] * 1.1])
# What the result's shape, dtype or a single truth value depends on the numbers of: an error names it.
SHAPES = {
    "argwhere", "flatnonzero", "intersect1d", "ix_", "nonzero", "poly1d", "polyval", "roots", "setdiff1d", "setxor1d",
    "trim_zeros", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
}  # fmt: skip
POLY1D = {"polyadd", "polyder", "polymul"}  # some of their calls make a np.poly1d, which trims zeros
ONE_ANSWER = {"allclose", "array_equal", "array_equiv", "may_share_memory", "shares_memory", "real_if_close"}
TEXTS = {"array2string", "array_repr", "array_str", "min_scalar_type"}
NO_RULE = {
    "histogram2d", "histogram_bin_edges", "histogramdd", "nanquantile", "packbits", "quantile", "reshape",
    "unpackbits",
}  # fmt: skip
REFUSED = SHAPES | POLY1D | ONE_ANSWER | TEXTS | NO_RULE
NO_ARRAYS = {"common_type", "einsum_path", "result_type"}  # results that no vmap returns
CALLS = [
    pytest.param(name, f, id=f"{name}-{i}")
    for group in (SMOOTH, CONSTANT)
    for name, functions in group.items()
    for i, f in enumerate(functions)
    if name not in NO_ARRAYS
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "f"), CALLS)
def test_against_a_loop(name, f):
    try:
        expected = [leaves(f(x.copy())) for x in X]
    except ValueError:  # a quantile that is no number between 0 and 1
        expected = [leaves(f(np.abs(x) / 4)) for x in X]
        batch = np.abs(X) / 4
    else:
        batch = X.copy()
    try:
        found = leaves(vmap(f)(batch))
    except RuntimeError as error:  # UnsupportedError and ReadError
        if name not in REFUSED or ("np." not in str(error) and name not in str(error)):
            raise
        return
    assert len(found) == len(expected[0])
    for x, each in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(x, np.stack([np.asarray(a) for a in each]), rtol=1e-8, atol=1e-10)


def test_each_that_is_named_as_refused_is_refused():
    refused = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in REFUSED:
            for f in (*SMOOTH.get(name, ()), *CONSTANT.get(name, ())):
                try:
                    vmap(f)(X)
                except Exception:  # noqa: BLE001 - judged above
                    refused.add(name)
    assert refused == REFUSED


GRADIENTS = {
    "nanmean": lambda x: np.nanmean(np.where(x > 1.5, np.nan, x)),
    "nanmedian": lambda x: np.nanmedian(np.where(x > 1.5, np.nan, x)),
    "interp": lambda x: np.sum(np.interp(x, np.sort(few), few * few)),
    "interp in the places": lambda x: np.sum(np.interp([0.1, 0.3], np.sort(x[0]), x[1])),
    "quantile": lambda x: np.quantile(x[0], np.abs(x[1, :2]) / 4),
    "pinv": lambda x: np.sum(np.linalg.pinv(x) ** 2),
    "lstsq": lambda x: np.sum(np.linalg.lstsq(x.T, few[[0, 1, 2, 0]], None)[0] ** 2),
    "polyfit": lambda x: np.sum(np.polyfit(x[0], x[1], 1)),
    "eigvals": lambda x: np.sum(np.abs(np.linalg.eigvals(x[:, :3]))),
    "roots": lambda x: np.sum(np.abs(np.roots(x[0]))),
    "masked ufunc": lambda x: np.sum(np.sqrt(x, where=x > 0, out=np.zeros_like(x))),
    "masked sum": lambda x: np.sum(x**2, where=x > 0),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_against_a_loop(name):
    f = GRADIENTS[name] if name != "quantile" else lambda x: np.sum(GRADIENTS["quantile"](x))
    np.testing.assert_allclose(vmap(grad(f))(X), np.stack([grad(f)(x) for x in X]), rtol=1e-7, atol=1e-9)


def test_add_at_with_indices_of_each_sample():
    def added(x, i):
        y = x.copy()
        np.add.at(y, i, np.array([1.0, 2.0]))
        np.subtract.at(y, i[:1], 0.5)
        return y

    index = np.array([[0, 1], [1, 1], [2, -1]])
    expected = np.stack([added(x, i) for x, i in zip(X[:, 0], index, strict=True)])
    np.testing.assert_array_equal(vmap(added)(X[:, 0], index), expected)
    with pytest.raises(UnsupportedError, match=r"np\.multiply\.at: under vmap"):
        vmap(lambda x, i: np.multiply.at(x, i, 2.0))(X[:, 0], index)


def test_batched_masks_and_places_to_write():
    def written(x):
        y, z, w = x.copy(), x.copy(), x.copy()
        np.copyto(y, 9.0, where=x > 0)
        np.putmask(z, x < 0, [1.0, 2.0, 3.0, 4.0])
        np.put_along_axis(w, np.argmax(x, 1)[:, None], 7.0, 1)
        return y + 2 * z + 3 * w

    np.testing.assert_allclose(vmap(written)(X), np.stack([written(x) for x in X]))


def test_results_have_memory_of_their_own():
    first, second, row = vmap(lambda x: (x, x, x[0]))(X)
    first[...] = 0.0
    np.testing.assert_array_equal(second, X)
    np.testing.assert_array_equal(row, X[:, 0])


@pytest.mark.parametrize("dim", [(), []])
@pytest.mark.parametrize(
    "name", ["amin", "amax", "sum", "mean", "var", "std", "logsumexp", "nansum", "all", "any", "count_nonzero"]
)
def test_no_dimension_in_a_tuple_is_what_it_is_alone(name, dim):
    f = getattr(pb, name)
    expected = np.stack([f(pb.tensor(x), dim=dim).numpy() for x in X])
    np.testing.assert_allclose(vmap(lambda x: f(x, dim=dim))(pb.tensor(X)).numpy(), expected)


DATA, WEIGHTS = np.sin(np.arange(60.0)).reshape(3, 20) * 2, np.cos(np.arange(60.0)).reshape(3, 20) + 2
PLACES = (np.arange(60) * 7 % 11 % 5).reshape(3, 20)
EDGES = np.sort(WEIGHTS[:, :5] - 2, 1)
HISTOGRAMS = {
    "bins": (lambda x: np.histogram(x, 5), DATA),
    "range": (lambda x: np.histogram(x, 5, (-1, 1)), DATA),
    "density": (lambda x: np.histogram(x, [-1, 0, 0.5, 1], density=True), DATA),
    "weights": (lambda x, w: np.histogram(x, 4, weights=w), DATA, WEIGHTS),
    "weights alone": (lambda w: np.histogram(DATA[0], 4, weights=w), WEIGHTS),
    "edges of each": (np.histogram, DATA, EDGES),
    "list of edges": (lambda x: np.histogram(x.reshape(4, 5), [-1, 0, 1]), DATA),
    "whole numbers": (lambda x: np.histogram(x, 4), PLACES),
    "bincount": (lambda i: np.bincount(i, minlength=5), PLACES),
    "bincount of weights": (lambda i, w: np.bincount(i, w, 7), PLACES, WEIGHTS),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms(name):
    f, *given = HISTOGRAMS[name]
    looped = zip(*[leaves(f(*x)) for x in zip(*given, strict=True)], strict=True)
    for x, each in zip(leaves(vmap(f)(*given)), looped, strict=True):
        np.testing.assert_allclose(x, np.stack(each), rtol=1e-12)
        assert x.dtype == each[0].dtype


def test_bincount_of_numbers_that_say_how_many_there_are_is_refused():
    with pytest.raises(UnsupportedError, match="minlength"):
        vmap(lambda i: np.bincount(i, minlength=4))(PLACES)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda a: scipy.stats.iqr(a), "scipy.stats.iqr, in whose code there is bool"),
        (lambda a: scipy.stats.ks_2samp(a, a + 1).statistic, "scipy.stats.ks_2samp looks"),
    ],
)
def test_a_function_of_scipy_that_decides_by_numbers_is_named_as_it_was_written(call, named):
    with pb.adopt(), pytest.raises(UnsupportedError, match=named) as caught:
        pb.func.vmap(call)(np.random.default_rng(0).random((4, 3)))
    assert "outside of vmap" in str(caught.value)
    assert "np.where" not in str(caught.value)
