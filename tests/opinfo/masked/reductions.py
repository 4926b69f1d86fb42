"""OpInfo records of the operators of pullback.masked, with NumPy's masked arrays as the reference."""

import math

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample

__all__ = ["OPINFOS"]

INF = math.inf


def keeping(fill, function):
    """function(x, axis, keepdims) of x with `fill` where the mask is False."""

    def reference(x, dim=None, *, keepdim=False, mask=None):
        x = x if mask is None else np.where(mask, x, x.dtype.type(fill))
        return function(x, axis=dim, keepdims=keepdim)

    return reference


def along(fill, function):
    """function(x, axis) of x with `fill` where the mask is False."""

    def reference(x, dim, *, mask=None):
        return function(x if mask is None else np.where(mask, x, x.dtype.type(fill)), axis=dim)

    return reference


def by_array(name, x, dim=None, *, keepdim=False, mask=None, **how):
    """A method of NumPy's masked arrays."""
    array = np.ma.array(x, mask=False if mask is None else ~np.broadcast_to(mask, x.shape))
    return np.asarray(getattr(array, name)(axis=dim, keepdims=keepdim, **how)).astype(x.dtype)


def index(name):
    """argmax or argmin in the dtype of x."""
    fill = -INF if name == "argmax" else INF
    return lambda x, dim=None, *, keepdim=False, mask=None: keeping(fill, getattr(np, name))(
        x, dim, keepdim=keepdim, mask=mask
    ).astype(x.dtype)


def norm(x, ord=2.0, dim=None, *, keepdim=False, mask=None):
    """NumPy's norm."""
    x = x if mask is None else np.where(mask, x, x.dtype.type(0))
    return np.linalg.norm(x if dim is not None else x.ravel(), ord, dim, keepdims=keepdim and dim is not None)


def median(x, dim, *, mask=None):
    """The lower of the two middle elements."""
    ordered = np.sort(x if mask is None else np.where(mask, x, x.dtype.type(math.nan)), dim)
    middle = (np.sum(~np.isnan(ordered), dim, keepdims=True) - 1) // 2
    return np.take_along_axis(ordered, middle, dim).squeeze(dim)


def normalize(x, ord, dim, *, mask=None):
    """By the norm."""
    return (x if mask is None else np.where(mask, x, x.dtype.type(0))) / norm(x, ord, dim, keepdim=True, mask=mask)


def reductions(*first, low=None, high=None):
    """All, one dimension, with a mask of the shape of input and one that broadcasts, strided."""

    def samples(make):
        mask = np.array([[True, False, True], [True, True, False]])
        how = {"low": low, "high": high, "away_from": 0, "distinct": True}
        yield Sample(make((2, 3), **how), *first)
        yield Sample(make((2, 3), **how), *first, dim=1, mask=mask)
        rows = np.array([[True], [False], [True]])
        yield Sample(make((3, 2), noncontiguous=True, **how), *first, dim=0, keepdim=True, mask=rows)

    return samples


def scans(*first, keyword="dim"):
    """Along each dimension, with masks."""

    def samples(make):
        mask = np.array([[True, False, True], [True, True, False]])
        yield Sample(make((2, 3), away_from=0), *first, **{keyword: 0})
        yield Sample(make((2, 3), away_from=0), *first, **{keyword: 1}, mask=mask)
        yield Sample(make((3, 2), away_from=0).T, *first, **{keyword: -1}, mask=mask)

    return samples


def finite(out):
    """The finite elements, 0 elsewhere: of -inf no differences can be formed."""
    return np.where(np.isfinite(out), out, out.dtype.type(0))


def pairs(make):
    """Masks on both sides."""
    yield Sample(make((2, 3)), make((2, 3)))
    mask = np.array([True, False, True])
    yield Sample(make((3,)), make((3,)), input_mask=mask, other_mask=np.array([True, True, True]))


def logaddexp(x, y, *, input_mask=True, other_mask=True):
    """With -inf."""
    fill = x.dtype.type(-INF)
    return np.logaddexp(np.where(input_mask, x, fill), np.where(other_mask, y, fill))


def record(name, reference, samples, **how):
    """A record of an operator of that home."""
    return OpInfo(f"masked.{name}", reference, samples, **{"dtypes": FLOATS} | how)


def nothing(value, grad=(0.0, 0.0), **kwargs):
    """The value of a slice in which no element takes part."""
    at = ([1.0, 2.0],)
    return [Limit(at=at, kwargs={"mask": np.array([False, False])} | kwargs, value=value, grad=grad,
                  because="no element takes part")]  # fmt: skip


WIDE = [
    Raises(IndexError, naming=("sum", "(1, 2)", "(2,)"), args=(np.ones(2),), kwargs={"mask": np.ones((1, 2), bool)})
]
OPINFOS = [
    record("sum", keeping(0, np.sum), reductions(), limits=nothing(0.0), errors=WIDE, complex=True),
    record("prod", keeping(1, np.prod), reductions(), limits=nothing(1.0), complex=True),
    record("amax", keeping(-INF, np.max), reductions(), limits=nothing(-INF)),
    record("amin", keeping(INF, np.min), reductions(), limits=nothing(INF)),
    record("argmax", index("argmax"), reductions(), order=0),
    record("argmin", index("argmin"), reductions(), order=0),
    record("mean", lambda x, *a, **k: by_array("mean", x, *a, **k), reductions(), complex=True,
           limits=nothing(INF - INF),
           errors=[Raises(ValueError, naming=("mean", "int64"), args=(np.arange(3),))]),
    record("median", median, scans(), limits=[Limit(at=([1.0, 2.0],), kwargs={"mask": np.array([False, False])},
           value=INF - INF, because="no element takes part")],
           errors=[Raises(ValueError, naming=("median", "integers"), args=(np.arange(2),),
                          kwargs={"mask": np.array([False, False])})]),
    record("norm", norm, reductions(), limits=nothing(0.0), complex=True),
    record("var", lambda x, *a, **k: by_array("var", x, *a, **k, ddof=1), reductions(), complex=True),
    record("std", lambda x, *a, **k: by_array("std", x, *a, **k, ddof=1), reductions(),
           limits=[Limit(at=([2.0, 2.0, 5.0],), kwargs={"mask": np.array([True, True, False])}, value=0.0,
                         grad=(0.0, 0.0, 0.0), because="equal elements are the kink of the root")], complex=True),
    record("logsumexp", keeping(-INF, logsumexp), reductions(), limits=nothing(-INF), complex=True),
    record("cumsum", along(0, np.cumsum), scans(), complex=True, inplace=False),
    record("cumprod", along(1, np.cumprod), scans(), complex=True, inplace=False),
    record("softmax", along(-INF, softmax), scans(), limits=nothing((0.0, 0.0), dim=0)),
    record("softmin", along(INF, lambda x, axis: softmax(-x, axis=axis)), scans(),
           limits=nothing((0.0, 0.0), dim=0)),
    record("log_softmax", along(-INF, log_softmax), lambda make: [Sample(make((2, 3)), 0)],
           limits=nothing((-INF, -INF), dim=0)),
    record("log_softmax", lambda *args, **kwargs: finite(along(-INF, log_softmax)(*args, **kwargs)), scans(),
           observe=finite, variant="finite_elements"),
    record("normalize", normalize, scans(2.0), limits=nothing((0.0, 0.0), ord=2.0, dim=0), complex=True),
    record("logaddexp", logaddexp, pairs),
]  # fmt: skip
