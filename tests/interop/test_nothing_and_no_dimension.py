"""NumPy's functions of Arrays that have no element, or no dimension: NumPy's results, warnings and errors."""

import warnings

import numpy as np
import pytest

import pullback as pb

SUMMARIES = ("mean", "std", "var", "median", "average", "sum", "prod", "max", "min", "ptp", "argmax", "cumsum", "any",
             "all", "nanmean", "nanmedian", "nanstd", "nanvar", "nansum", "nanprod", "nanmax", "nanargmax")  # fmt: skip
QUANTILES = ("quantile", "percentile", "nanquantile", "nanpercentile")
METHODS = ("mean", "std", "var", "sum", "prod", "max", "min", "cumsum", "argmax", "any", "all")


def outcome(function, x, inside):
    """(result or error, warnings): plain."""
    found = []

    def total(x):
        found.append(function(x))
        return np.sum(x) * 1.0

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            if inside:
                pb.func.grad(total)(x)
            else:
                found.append(function(x))
        except Exception as error:  # noqa: BLE001 - compared
            return (type(error), str(error)), []
    result = found[0].detach().numpy() if isinstance(found[0], pb.Tensor) else found[0]
    return (str(result), np.shape(result), np.asarray(result).dtype), sorted({str(w.message) for w in said})


def check(function, x):
    assert outcome(function, x, inside=True) == outcome(function, x, inside=False)


@pytest.mark.parametrize("x", [np.empty(0), np.empty((0, 3)), np.empty((2, 0), np.float32)], ids=str)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", SUMMARIES + QUANTILES)
def test_of_no_element(name, axis, x):
    if axis == (0, 1) and name in ("argmax", "cumsum", "nanargmax"):
        return  # which take one axis
    extra = (0.5,) if name in QUANTILES else ()
    check(lambda x: getattr(np, name)(x, *extra, axis=axis), x)


@pytest.mark.parametrize("x", [np.empty(0), np.empty((0, 3))], ids=str)
@pytest.mark.parametrize("name", METHODS)
def test_methods_of_no_element(name, x):
    check(lambda x: getattr(x, name)(), x)
    check(lambda x: getattr(x, name)(axis=0), x)


@pytest.mark.parametrize("axis", [None, 0, -1, 1])
@pytest.mark.parametrize("name", [*SUMMARIES, "sort", "argsort", "flip", "nanmin"])
def test_of_no_dimension(name, axis):
    for x in (np.array(2.5), np.float64(2.5)):
        check(lambda x: getattr(np, name)(x, axis=axis), x)


x32 = np.arange(1, 5, dtype=np.float32)
DTYPES = {
    "linspace": lambda x: np.linspace(x[0], 3.0, 5),
    "linspace of ints": lambda x: np.linspace(1, x[2], 3),
    "linspace of arrays": lambda x: np.linspace(x, 2 * x, 3),
    "linspace in double": lambda x: np.linspace(x[0], x[1], 3, dtype=np.float64),
    "linspace beside double": lambda x: np.linspace(x[0], np.float64(3.0), 5),
    "logspace": lambda x: np.logspace(x[0], 3.0, 5),
    "geomspace": lambda x: np.geomspace(x[0], 3.0, 5),
    "ediff1d": lambda x: np.ediff1d(x, to_begin=1.5),
    "ediff1d of doubles": lambda x: np.ediff1d(x, to_end=np.array([1.0, 2.0])),
    "ediff1d of ints": lambda x: np.ediff1d(x, to_begin=1, to_end=[2, 3]),
}


@pytest.mark.parametrize("function", DTYPES.values(), ids=DTYPES)
def test_single_precision_stays(function):
    found = []
    slope = pb.func.grad(lambda x: (found.append(function(x)), np.sum(found[0]))[1])(x32)
    assert found[0].dtype == function(x32).dtype
    np.testing.assert_allclose(found[0].detach(), function(x32), rtol=1e-6)
    assert slope.dtype == np.float32


def test_what_cannot_be_written_or_indexed_has_numpys_error():
    check(lambda x: x.__setitem__(slice(0, 2), x), x32)
    check(lambda x: np.copy(x).__setitem__(0, x[:2]), x32)
    with pytest.raises(RuntimeError, match=r"np.ix_ uses it as indices.*\n.*line"):
        pb.func.grad(lambda x: np.ix_(x, [0])[0].sum())(x32)
