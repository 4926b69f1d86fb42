"""OpInfo records of order statistics, quantiles, calculus on samples, and histograms."""

import math

import numpy as np

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, on

__all__ = ["OPINFOS"]

NAN = math.nan
ALONG = (on((3,), 0), on((2, 3), 1, True), on((2, 4, 2), dim=-2), on((), 0))
EMPTY = np.ones((2, 0))


# -- references, slice by slice --------------------------------------------------------------------------------------
def along(choose, dim=-1, keepdim=False):
    """(the chosen elements, their positions) of every slice of x along dim; `choose` gives a position."""

    def reference(x):
        lanes = x if x.ndim else x.reshape(1)
        places = np.apply_along_axis(choose, dim, lanes)
        values = np.take_along_axis(lanes, np.expand_dims(places, dim), dim)
        if keepdim and x.ndim:
            return values, np.expand_dims(places, dim)
        return (np.squeeze(values, dim), places) if x.ndim else (x, places.reshape(()))

    return reference


def kthvalue(x, k, dim=-1, keepdim=False):
    """By sorting."""
    return along(lambda lane: np.argsort(lane)[k - 1], dim, keepdim)(x)


def median(x, dim=None, keepdim=False):
    """By sorting; the lower of two."""
    if dim is None:
        return np.sort(x, None)[(x.size - 1) // 2]
    return along(lambda lane: np.argsort(lane)[(len(lane) - 1) // 2], dim, keepdim)(x)


def most_frequent(lane):
    """The last position of the most frequent element, the smallest among equals."""
    values, counts = np.unique(lane, return_counts=True)
    return np.flatnonzero(lane == values[np.argmax(counts)])[-1]


def mode(x, dim=-1, keepdim=False):
    """By counting."""
    return along(most_frequent, dim, keepdim)(x)


def quantiles(function):
    """np.quantile or np.nanquantile with PyTorch's arguments."""

    def reference(x, q, dim=None, keepdim=False, *, interpolation="linear"):
        result = function(x, q, axis=dim if x.ndim else None, keepdims=keepdim, method=interpolation)
        return np.asarray(result, x.dtype)

    return reference


def trapezoid(y, x=None, *, dx=1, dim=-1):
    """np.trapezoid."""
    return np.trapezoid(y, x, dx=dx, axis=dim)


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """np.trapezoid of the beginnings."""
    parts = range(2, y.shape[dim] + 1)
    xs = x if x is None or x.ndim > 1 else np.expand_dims(x, [d for d in range(y.ndim) if d != dim % y.ndim])
    some = [
        np.trapezoid(np.take(y, range(n), dim), xs if xs is None else np.take(xs, range(n), dim), dx=dx, axis=dim)
        for n in parts
    ]
    return np.stack(some, dim)


def diff(x, n=1, dim=-1, prepend=None, append=None):
    """np.diff."""
    ends = {k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
    return np.diff(x, n, dim, **ends)


def gradient(x, *, spacing=None, dim=None, edge_order=1):
    """np.gradient."""
    dims = tuple(range(x.ndim)) if dim is None else dim
    steps = [] if spacing is None else spacing if isinstance(spacing, list) else [spacing]
    result = np.gradient(x, *steps, axis=dims, edge_order=edge_order)
    return tuple(result) if isinstance(result, (list, tuple)) else (result,)


def histc(x, bins=100, min=0, max=0):
    """np.histogram."""
    return np.histogram(x, bins, (min, max) if (min, max) != (0, 0) else None)[0].astype(x.dtype)


def histogram(x, bins, *, range=None, weight=None, density=False):
    """np.histogram."""
    counts, edges = np.histogram(x, bins, range, weights=weight, density=density)
    return counts.astype(x.dtype), edges.astype(x.dtype)


def histogramdd(x, bins, range=None, weight=None, density=False):
    """np.histogramdd."""
    pairs = None if range is None else [range[i : i + 2] for i in np.arange(0, len(range), 2)]
    counts, edges = np.histogramdd(x, bins, pairs, density, weight)
    return counts.astype(x.dtype), tuple(edge.astype(x.dtype) for edge in edges)


def hash_tensor(x, dim=(), *, keepdim=False, mode=0):
    """The bits of doubles or long integers."""
    bits = x.astype(np.float64 if x.dtype.kind == "f" else np.int64).copy().view(np.uint64)
    return np.bitwise_xor.reduce(bits, axis=dim if dim != () else None, keepdims=keepdim)


# -- samples ---------------------------------------------------------------------------------------------------------
def with_weights(make):
    """Numbers that repeat, and weights."""
    yield Sample(np.array([0, 2, 2, 5]))
    yield Sample(np.array([0, 2, 2, 5]), make((4,)), 8)
    yield Sample(np.array([], int), minlength=2)


QUANTILES = cases(
    on((), 0.5), on((5,), 0.3), on((2, 3), np.array([0.0, 0.25, 1.0])), on((2, 3), 0.7, 1, True),
    on((2, 3, 2), 0.5, -2, interpolation="midpoint"), on((4,), 0.4, 0, interpolation="lower"),
    on((4,), 0.4, interpolation="higher"), on((4,), 0.4, interpolation="nearest"), distinct=True,
)  # fmt: skip
X = np.array([1.0, 2.0, 4.0, 7.0])
INTEGRALS = cases(on((4,)), on((2, 3), dim=0, dx=0.5), on((2, 4), X), on((2, 3), T((2, 3))), on((2, 3), T((3,))))
OUT_OF_RANGE = Raises(RuntimeError, ("q", "[0, 1]", "1.5"), (np.ones(3), 1.5))


def quantile(name, function, **how):
    """A record of quantile or nanquantile, in double precision, as q is."""
    whole = Raises(RuntimeError, (name, "int64"), (np.arange(3), 0.5))
    return OpInfo(name, quantiles(function), QUANTILES, dtypes=(np.float64,), errors=[OUT_OF_RANGE, whole], **how)


OPINFOS = [
    OpInfo("kthvalue", kthvalue,
           cases(on((5,), 2), on((2, 3), 3, 1, True), on((3, 2), 1, dim=0), on((), 1), distinct=True),
           errors=[Raises(RuntimeError, ("kthvalue", "k", "4"), (np.ones((2, 3)), 4))]),
    OpInfo("median", median, cases(on((5,)), on((2, 2)), *ALONG, distinct=True, noncontiguous=True),
           limits=[Limit(at=([1.0, 2.0, 2.0, 3.0],), value=2.0, grad=(0.0, 0.5, 0.5, 0.0),
                         because="elements that tie share the gradient"),
                   Limit(at=([1.0, NAN, 3.0],), value=NAN, grad=(0.0, 1.0, 0.0), because="NaN is the median")],
           errors=[Raises(IndexError, ("median", "(2, 0)"), (EMPTY, 1))]),
    OpInfo("nanmedian", median, cases(on((5,)), on((2, 2)), *ALONG, distinct=True),
           limits=[Limit(at=([1.0, NAN, 3.0],), value=1.0, grad=(1.0, 0.0, 0.0), because="NaN is not counted")]),
    OpInfo("mode", mode, cases(on((5,)), *ALONG, distinct=True),
           limits=[Limit(at=([2.0, 1.0, 1.0, 2.0, 3.0],), grad=(0.0, 0.0, 1.0, 0.0, 0.0),
                         because="1 and 2 occur twice: the smaller, where it is last")],
           errors=[Raises(IndexError, ("mode", "(2, 0)"), (EMPTY, 1))]),
    quantile("quantile", np.quantile,
             limits=[Limit(at=([1.0, NAN],), kwargs={"q": 0.0}, value=NAN, because="NaN spreads")]),
    quantile("nanquantile", np.nanquantile,
             limits=[Limit(at=([1.0, NAN, 3.0],), kwargs={"q": 0.5}, value=2.0, grad=(0.5, 0.0, 0.5),
                           because="NaN is not counted")]),
    OpInfo("trapezoid", trapezoid, INTEGRALS, dtypes=FLOATS, complex=True, check_dtype=False),
    OpInfo("cumulative_trapezoid", cumulative_trapezoid, INTEGRALS, dtypes=FLOATS, complex=True, check_dtype=False),
    OpInfo("diff", diff,
           cases(on((4,)), on((2, 3), 2), on((2, 3), 1, 0, T((1, 3)), T((2, 3))), on((2, 3), 0), on((2, 0))),
           complex=True, errors=[Raises(RuntimeError, ("diff", "n", "-1"), (np.ones(3), -1))]),
    OpInfo("gradient", gradient,
           cases(on((4,)), on((3, 3), spacing=2.0), on((3, 4), spacing=[0.5, X], edge_order=2), on((3, 4), dim=(1,))),
           dtypes=(np.float64,), complex=True, gradcheck={"atol": 1e-4},
           errors=[Raises(RuntimeError, ("gradient", "edge_order", "3"), (np.ones(4),), {"edge_order": 3})]),
    OpInfo("gradient", gradient, cases(on((4,), spacing=[T((4,), low=1, high=9, distinct=True)])),
           dtypes=(np.float64,), gradcheck={"atol": 1e-4}, variant="places"),
    OpInfo("bincount", lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength), with_weights,
           dtypes=(np.float64,), errors=[Raises(RuntimeError, ("bincount", "(2, 2)"), (np.ones((2, 2), int),))]),
    OpInfo("histc", histc, cases(on((7,), 3), on((2, 4), 4, -1, 2)), dtypes=FLOATS, order=0,
           errors=[Raises(RuntimeError, ("histc", "bins", "0"), (np.ones(3), 0))]),
    OpInfo("histogram", histogram,
           cases(on((7,), 3), on((2, 4), 4, range=(-1.0, 2.0), density=True), on((5,), X),
                 on((5,), 3, weight=np.arange(5.0)),
                 on((6,), X, weight=np.arange(6.0), density=True)),
           dtypes=(np.float64,), order=0,
           errors=[Raises(RuntimeError, ("histogram", "range"), (np.ones(3), 3), {"range": (2.0, 1.0)})]),
    OpInfo("histogramdd", histogramdd,
           cases(on((7, 2), [3, 2]), on((6, 2), [2, 2], range=[-3.0, 3.0, -2.0, 2.0], density=True),
                 on((5, 2), [X, X], weight=np.arange(5.0))),
           dtypes=(np.float64,), order=0,
           errors=[Raises(RuntimeError, ("histogramdd", "bins"), (np.ones((3, 2)), [1, 1, 1]))]),
    OpInfo("hash_tensor", hash_tensor, cases(on((4,)), on((2, 3), 1, keepdim=True), on(())), order=0,
           errors=[Raises(RuntimeError, ("hash_tensor", "dim"), (np.ones(0),))]),
]  # fmt: skip
