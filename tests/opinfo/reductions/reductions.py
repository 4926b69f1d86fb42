"""OpInfo records of the operators of the area reductions."""

import numpy as np
from scipy.special import logsumexp, softmax

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample, by_axis
from pullback.testing.opinfo.samples import T, cases, on, reductions

INF, NAN = float("inf"), float("nan")


# -- references ------------------------------------------------------------------------------------------------------
def mean(x, axis=None, keepdims=False):
    """np.mean, which unlike np.sum has no axis 0 for a 0-d array."""
    return np.mean(x, axis=axis if x.ndim else None, keepdims=keepdims)


def spread(function):
    """np.var or np.std with PyTorch's arguments."""

    def reference(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        return function(x, axis=dim, ddof=correction, keepdims=keepdim)

    return reference


def logsumexp_slope(x, dim):
    """The slope as logsumexp's own formula calls it."""
    return TENSOR.logsumexp_slope(x, TENSOR.logsumexp(x, dim, True).detach(), dim)


def with_mean(function):
    """(that, the mean)."""
    first = spread(function)

    def reference(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
        axis = None if isinstance(dim, bool) else dim
        return first(x, dim, unbiased, keepdim, correction=correction), np.mean(x, axis=axis, keepdims=keepdim)

    return reference


def extremes(function, position):
    """The three call forms of max and min."""

    def reference(x, dim=None, keepdim=False):
        if dim is None:
            return function(x)
        return function(x, axis=dim, keepdims=keepdim), position(x, axis=dim, keepdims=keepdim)

    return reference


def running(function, compare):
    """(values, the last position where each was met) along dim, element by element."""

    def reference(x, dim):
        values = function.accumulate(x, axis=dim)
        indices = np.zeros(x.shape, np.int64)
        for lane in np.ndindex(*(n for i, n in enumerate(x.shape) if i != dim % x.ndim)):
            index = list(lane)
            index.insert(dim % x.ndim, slice(None))
            last = 0
            for i, value in enumerate(x[tuple(index)]):
                last = i if compare(value, x[tuple(index)][last]) else last
                indices[tuple(index)][i] = last
        return values, indices

    return reference


def selected(grad, dim, indices, sizes, keepdim):
    """Zeros with grad at the indices."""
    out = np.zeros(sizes, grad.dtype)
    if not keepdim:
        grad, indices = np.expand_dims(grad, dim), np.expand_dims(indices, dim)
    np.put_along_axis(out, indices, grad, dim)
    return out


def recurrence(x, c, dim, reverse=False):
    """One step after the other."""
    x, c, out = np.moveaxis(x, dim, 0), np.moveaxis(c, dim, 0), np.moveaxis(np.zeros(x.shape, x.dtype), dim, 0)
    for k in range(len(x)):
        i, before = (len(x) - 1 - k, len(x) - k) if reverse else (k, k - 1)
        out[i] = x[i] + (c[before if reverse else i] * out[before] if k else 0)
    return np.moveaxis(out, 0, dim)


# -- samples ---------------------------------------------------------------------------------------------------------
def spread_samples(make):
    """Every form of var and its like; no slice of one element, where the divisor is 0."""
    yield Sample(make((2, 3)))
    yield Sample(make((2, 3), noncontiguous=True), 1)
    yield Sample(make((3, 2)).T, dim=(0, 1), keepdim=True)
    yield Sample(make((3,)), True)
    yield Sample(make((3,)), False)
    yield Sample(make((2, 3)), -1, False, True)
    yield Sample(make((2, 3, 2)), dim=1, unbiased=True)
    yield Sample(make((2, 3)), dim=1, correction=0)
    yield Sample(make((2, 3)), correction=1.5, keepdim=True)
    yield Sample(make((0, 3)), dim=1)


EXTREME = cases(
    on(()), on((2, 3)), on((3,), 0), on((2, 3), 1, True), on((2, 3, 2), dim=-2), on((), 0), on((0, 2), 1),
    noncontiguous=True, distinct=True,
)  # fmt: skip
ALONG = cases(on((3,), 0), on((2, 3), 1), on((2, 3), -2), on((0, 2), 0), on((70, 1), 0), noncontiguous=True)
ALONG_SHORT = cases(on((3,), 0), on((2, 3), 1), on((2, 3), -2), on((0, 2), 0), noncontiguous=True, distinct=True)


def selecting_samples(make):
    """The backward of max.dim, kept dimension or not."""
    yield Sample(make((2,)), 1, make.index((2,), 3), (2, 3), False)
    yield Sample(make((1, 3)), -2, make.index((1, 3), 2), (2, 3), True)
    yield Sample(make((0,)), 1, make.index((0,), 3), (0, 3), False)


def recurrence_samples(make):
    """Both directions; one long enough for the algorithm by doubling, with coefficients that keep it bounded."""
    for reverse in (False, True):
        yield Sample(make((3,)), make((3,)), 0, reverse)
        yield Sample(make((2, 3)), make((2, 3), noncontiguous=True), 1, reverse)
        yield Sample(make((3, 2)), make((3, 2)), -2, reverse)
        yield Sample(make((0, 2)), make((0, 2)), 0, reverse)
        yield Sample(make((70,)), make((70,), low=-1, high=1), 0, reverse)


# -- records ---------------------------------------------------------------------------------------------------------
KINK = "a constant input is a kink of the root: 0 by convention, as in PyTorch"
ZEROS = (0.0, 0.0, 0.0)
TIES = "elements that tie share the gradient equally"
BEYOND = Raises(IndexError, naming=("dim", "2"), args=(np.ones((2, 3)), 2))
EMPTY = Raises(IndexError, naming=("empty", "(2, 0)"), args=(np.ones((2, 0)), 1))

OPINFOS = [
    OpInfo("sum", by_axis(np.sum), reductions(), complex=True),
    OpInfo("nansum", by_axis(np.nansum), reductions(),
           limits=[Limit(at=([1.0, NAN, 3.0],), value=4.0, grad=(1.0, 0.0, 1.0), because="NaN is not counted")],
           errors=[Raises(RuntimeError, naming=("nansum", "complex"), args=(np.ones(2) * 1j,))]),
    OpInfo("mean", by_axis(mean), reductions(empty=False), dtypes=FLOATS, complex=True,
           errors=[Raises(RuntimeError, naming=("mean", "int64", "dtype="), args=(np.arange(3),))]),
    OpInfo("nanmean", by_axis(np.nanmean), reductions(empty=False), dtypes=FLOATS,
           limits=[Limit(at=([1.0, NAN, 3.0],), value=2.0, grad=(0.5, 0.0, 0.5), because="NaN is not counted")]),
    OpInfo("prod", by_axis(np.prod), reductions(), complex=True,
           limits=[Limit(at=([2.0, 0.0, 3.0],), grad=(0.0, 6.0, 0.0), second=(3.0, 5.0, 2.0),
                         because="the product of the others, which a division by zero would lose"),
                   Limit(at=([0.0, 0.0, 3.0],), grad=(0.0, 0.0, 0.0), second=(3.0, 3.0, 0.0),
                         because="two zeros: the gradient vanishes, its derivative does not")]),
    OpInfo("var", spread(np.var), spread_samples, dtypes=FLOATS, complex=True,
           errors=[Raises(RuntimeError, naming=("var", "int64"), args=(np.arange(3),))]),
    OpInfo("std", spread(np.std), spread_samples, dtypes=FLOATS, complex=True,
           limits=[Limit(at=([2.0, 2.0, 2.0],), value=0.0, grad=ZEROS, second=ZEROS, because=KINK),
                   Limit(at=([1e200, -1e200],), value=2**0.5 * 1e200, grad=(0.5**0.5, -(0.5**0.5)),
                         because="squares overflow, the answer does not"),
                   Limit(at=([1e-200, -1e-200],), value=2**0.5 * 1e-200, grad=(0.5**0.5, -(0.5**0.5)),
                         because="squares vanish, the answer does not")]),
    OpInfo("var_mean", with_mean(np.var), spread_samples, dtypes=FLOATS, complex=True),
    OpInfo("std_mean", with_mean(np.std), spread_samples, dtypes=FLOATS, complex=True),
    OpInfo("amax", by_axis(np.amax), reductions(distinct=True, empty=False), errors=[EMPTY],
           limits=[Limit(at=([1.0, 3.0, 3.0],), grad=(0.0, 0.5, 0.5), because=TIES)]),
    OpInfo("amin", by_axis(np.amin), reductions(distinct=True, empty=False), errors=[EMPTY],
           limits=[Limit(at=([1.0, 1.0, 3.0],), grad=(0.5, 0.5, 0.0), because=TIES)]),
    OpInfo("aminmax", by_axis(lambda x, **kw: (np.amin(x, **kw), np.amax(x, **kw))),
           reductions(distinct=True, many_dims=False, empty=False)),
    OpInfo("max", extremes(np.max, np.argmax), EXTREME, errors=[EMPTY, BEYOND],
           limits=[Limit(at=([1.0, 3.0, 3.0],), value=3.0, grad=(0.0, 0.5, 0.5), because=TIES),
                   Limit(at=([1.0, NAN, 3.0],), value=NAN, grad=(0.0, 1.0, 0.0), because="NaN is the extreme")]),
    OpInfo("max", np.maximum, cases(on((2, 3), T((3,)))), variant="other"),
    OpInfo("min", extremes(np.min, np.argmin), EXTREME, errors=[EMPTY, BEYOND],
           limits=[Limit(at=([1.0, 1.0, 3.0],), value=1.0, grad=(0.5, 0.5, 0.0), because=TIES)]),
    OpInfo("min", np.minimum, cases(on((2, 3), T((3,)))), variant="other"),
    OpInfo("value_selecting_reduction_backward", selected, selecting_samples),
    OpInfo("argmax", by_axis(np.argmax), reductions(distinct=True, many_dims=False, empty=False), order=0),
    OpInfo("argmin", by_axis(np.argmin), reductions(distinct=True, many_dims=False, empty=False), order=0),
    OpInfo("all", by_axis(np.all), reductions(), dtypes=(np.float64, np.int64, np.bool_), complex=True, order=0),
    OpInfo("any", by_axis(np.any), reductions(), dtypes=(np.float64, np.int64, np.bool_), complex=True, order=0),
    OpInfo("count_nonzero", lambda x, dim=None: np.asarray(np.count_nonzero(x, axis=dim)),
           cases(on((2, 3)), on((2, 3), 1), on((2, 3), dim=(0, 1)), on((0, 2), 0)), complex=True, order=0),
    OpInfo("logsumexp", lambda x, dim, keepdim=False: logsumexp(x, axis=dim, keepdims=keepdim),
           cases(on((3,), 0), on((2, 3), 1, True), on((2, 3), (0, 1)), on((), 0), on((0, 2), 1), noncontiguous=True),
           dtypes=FLOATS, complex=True,
           limits=[Limit(at=([1000.0, 1000.0],), kwargs={"dim": 0}, value=1000.6931471805599, grad=(0.5, 0.5),
                         because="exp(1000) overflows, the answer does not"),
                   Limit(at=([-INF, -INF],), kwargs={"dim": 0}, value=-INF, grad=(0.0, 0.0),
                         because="a slice of -inf alone stays -inf wherever it moves")]),
    OpInfo("logsumexp_slope", softmax, cases(on((3,), 0), on((2, 3), 1), on((2, 3), (0, 1)), on((), 0)), dtypes=FLOATS,
           complex=True, call=logsumexp_slope),
    OpInfo("cumsum", by_axis(np.cumsum), ALONG, complex=True, errors=[BEYOND]),
    OpInfo("cumprod", by_axis(np.cumprod), ALONG_SHORT, complex=True,
           limits=[Limit(at=([2.0, 0.0, 3.0],), kwargs={"dim": 0}, grad=(1.0, 8.0, 0.0), second=(4.0, 6.0, 2.0),
                         because="the product of the others, which a division by zero would lose")]),
    OpInfo("logcumsumexp", lambda x, dim: np.log(np.cumsum(np.exp(x), axis=dim)),
           cases(on((3,), 0), on((2, 3), 1), on((2, 3), -2), on((70, 1), 0), noncontiguous=True, low=-1, high=1),
           dtypes=FLOATS, complex=True,
           limits=[Limit(at=([-INF, 0.0],), kwargs={"dim": 0}, value=(-INF, 0.0), grad=(0.0, 1.0),
                         because="what is -inf has no part in any sum")]),
    OpInfo("cummax", running(np.maximum, np.greater_equal), ALONG_SHORT),
    OpInfo("cummin", running(np.minimum, np.less_equal), ALONG_SHORT),
    OpInfo("linear_recurrence", recurrence, recurrence_samples, complex=True),
]  # fmt: skip
