"""OpInfo records of what finds, repeats and groups elements: unique, searchsorted, scatter_reduce and their like."""

import itertools
import math

import numpy as np

from pullback.testing.opinfo.core import OpInfo, Raises, Sample, Skip
from pullback.testing.opinfo.samples import T, cases, on

__all__ = ["OPINFOS"]

I = np.array
REDUCE = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min, "max": np.max, "min": np.min}
NEUTRAL = {"sum": 0.0, "prod": 1.0, "mean": math.nan, "max": -math.inf, "min": math.inf}


# -- references, element by element ----------------------------------------------------------------------------------
def scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    """Each position's elements in a list."""
    lists = {place: [x[place]] * include_self for place in np.ndindex(x.shape)}
    touched = set()
    for at in np.ndindex(index.shape):
        place = (*at[:dim], index[at], *at[dim + 1 :]) if at else ()
        lists[place].append(src[at])
        touched.add(place)
    out = x.copy()
    for place in touched:
        value = REDUCE[reduce](np.array(lists[place], x.dtype))
        out[place] = np.floor(value) if x.dtype.kind == "i" else value
    return out


def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    """The same with an index for slices."""
    shape = [-1 if d == dim else 1 for d in range(x.ndim)]
    places = np.broadcast_to(index.reshape(shape), source.shape)
    return scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


def segment_reduce(data, reduce, *, lengths=None, offsets=None, axis=0, initial=None):
    """Piece by piece, along the first dimension."""
    ends = np.cumsum(lengths) if offsets is None else offsets[1:]
    out = []
    for start, end in itertools.pairwise([0, *ends]):
        piece = data[start:end]
        if reduce == "mean" and initial is not None:
            out.append((piece.sum(0) + initial) / max(len(piece), 1))
        elif len(piece) or initial is not None:
            first = [] if initial is None else [np.full(data.shape[1:], initial, data.dtype)]
            out.append(REDUCE[reduce](np.stack([*first, *piece]), axis=0))
        else:
            out.append(np.full(data.shape[1:], NEUTRAL[reduce]))
    return np.stack(out).astype(data.dtype)


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """np.unique."""
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    return asked(values, inverse.reshape(x.shape if dim is None else -1), counts, return_inverse, return_counts)


def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    """itertools.groupby, on the elements or the slices along dimension 0."""
    items = x.ravel().tolist() if dim is None else [tuple(row) for row in x.tolist()]
    runs = [(key, len(list(run))) for key, run in itertools.groupby(items)]
    counts = I([n for _, n in runs], int)
    inverse = np.repeat(np.arange(len(runs)), counts).reshape(x.shape if dim is None else -1)
    return asked(I([key for key, _ in runs], x.dtype), inverse, counts, return_inverse, return_counts)


def asked(values, inverse, counts, return_inverse, return_counts):
    """The outputs that were asked for."""
    more = [inverse] * return_inverse + [counts] * return_counts
    return (values, *more) if more else values


def searchsorted(rows, x, *, out_int32=False, right=False, side=None, sorter=None):
    """np.searchsorted, row by row."""
    side = "right" if right or side == "right" else "left"
    if rows.ndim == 1:
        found = np.searchsorted(rows, x, side, sorter)
    else:
        found = np.stack([np.searchsorted(row, values, side) for row, values in zip(rows, x, strict=True)])
    return np.asarray(found, np.int32 if out_int32 else np.int64)


def repeat_interleave(x, repeats, dim=None, *, output_size=None):
    """np.repeat."""
    return np.repeat(x, repeats, dim if x.ndim else None)


def as_strided_scatter(x, src, size, stride, storage_offset=0):
    """Through a strided view."""
    out = np.array(x)
    steps = [n * out.itemsize for n in stride]
    np.lib.stride_tricks.as_strided(out.reshape(-1)[storage_offset:], size, steps)[...] = src
    return out


# -- samples ---------------------------------------------------------------------------------------------------------
INDEX = I([[0, 1, 0], [1, 1, 0]])


def scattered(make):
    """Every reduction, with and without what was there; places hit twice and never."""
    reductions = ("sum", "prod", "mean") + ("amax", "amin") * (make.dtype.kind != "c")
    for reduce, include in itertools.product(reductions, (True, False)):
        yield Sample(make((3, 3)), 0, INDEX, make((2, 3)), reduce, include_self=include).named(reduce)
    yield Sample(make((2, 3)), 1, I([[2, 2], [0, 0]]), make((3, 4)), "prod").named("src_is_larger")
    yield Sample(make(()), 0, I(0), make(()), reductions[-1])
    yield Sample(make((2, 3)), 1, np.zeros((2, 0), int), make((2, 3)), "mean")


def indexed(make):
    """Likewise with slices."""
    reductions = ("prod", "mean") + ("amax", "amin") * (make.dtype.kind != "c")
    for reduce, include in itertools.product(reductions, (True, False)):
        yield Sample(make((2, 3)), 1, I([0, 2, 0]), make((2, 3)), reduce, include_self=include).named(reduce)


def stretches(make):
    """Segments, one of them empty."""
    for reduce in ("sum", "prod", "mean", "max", "min"):
        empty = int(reduce in ("mean", "max", "min"))  # these have no finite value where a segment is empty
        yield Sample(make((5, 2)), reduce, lengths=I([2, empty, 3 - empty])).named(reduce)
        yield Sample(make((4,)), reduce, offsets=I([0, 1, 4]), initial=0.5).named(reduce)


def few(make):
    """Numbers that repeat, as constants."""
    yield Sample(I([3, 1, 1, 2, 3]).astype(make.dtype))
    yield Sample(I([[3, 1, 1], [1, 2, 3]]).astype(make.dtype), return_inverse=True, return_counts=True)
    yield Sample(I([[1, 2], [1, 2], [0, 5]]).astype(make.dtype), return_inverse=True, return_counts=True, dim=0)


def sought(make):
    """Vectors and rows, both sides."""
    row, rows = I([1, 2, 2, 5]).astype(make.dtype), I([[1, 2, 4], [0, 0, 3]]).astype(make.dtype)
    yield Sample(row, I([[0, 2], [5, 9]]).astype(make.dtype))
    yield Sample(row, I([2, 5]).astype(make.dtype), right=True, out_int32=True)
    yield Sample(rows, I([[2, 5], [0, 1]]).astype(make.dtype))
    yield Sample(rows, I([[2, 5], [0, 1]]).astype(make.dtype), side="right")
    yield Sample(I([5, 1, 2]).astype(make.dtype), I([2, 3]).astype(make.dtype), sorter=I([1, 2, 0]))


def buckets(make):
    """Elements and boundaries."""
    yield Sample(I([[0, 2], [5, 9]]).astype(make.dtype), I([1, 2, 5]).astype(make.dtype))
    yield Sample(I([2, 5]).astype(make.dtype), I([1, 2, 5]).astype(make.dtype), right=True)


WRONG = Raises(RuntimeError, ("reduce", "median"), (np.ones(2), 0, I([0]), np.ones(1), "median"))
REPEATED = cases(
    on((3,), 2), on((2, 3), 2, 1), on((2, 3), I([2, 0, 1]), 1), on((2, 2), I([2]), dim=0), on((), 3), on((2, 3), 0, 0)
)

OPINFOS = [
    OpInfo("scatter_reduce", scatter_reduce, scattered, complex=True, errors=[WRONG]),
    OpInfo("index_reduce", index_reduce, indexed, complex=True, errors=[WRONG]),
    OpInfo("segment_reduce", segment_reduce, stretches, dtypes=(np.float64,),
           errors=[Raises(RuntimeError, ("segment_reduce", "lengths"), (np.ones(3), "sum"), {"lengths": I([1, 1])})]),
    OpInfo("as_strided_scatter", as_strided_scatter,
           cases(on((3, 3), T((2, 2)), (2, 2), (3, 2), 1), on((4,), T(()), (), (), 2), on((4,), T((2,)), (2,), (2,))),
           complex=True, skips=[Skip("layouts", "strides are counted in a contiguous input; others are refused")],
           errors=[Raises(RuntimeError, ("as_strided_scatter", "beyond"), (np.ones(4), np.ones(3), (3,), (2,)))]),
    OpInfo("unique", unique, few, order=0),
    OpInfo("unique_consecutive", unique_consecutive, few, order=0),
    OpInfo("isin", np.isin, cases(on((2, 3), I([1.0, 2.0])), on((4,), I([1.0]), invert=True)), order=0),
    OpInfo("searchsorted", searchsorted, sought, order=0,
           errors=[Raises(RuntimeError, ("searchsorted", "side"), (np.ones(3), np.ones(2)), {"side": "middle"})]),
    OpInfo("bucketize", lambda x, edges, right=False: np.digitize(x, edges, not right), buckets, order=0,
           errors=[Raises(RuntimeError, ("bucketize", "(2, 2)"), (np.ones(3), np.ones((2, 2))))]),
    OpInfo("unravel_index", np.unravel_index, cases(on(None, I([0, 5, 3]), (2, 3)), on(None, I(4), (2, 1, 3))),
           order=0, errors=[Raises(TypeError, ("unravel_index", "float64"), (np.ones(2), (2, 3)))]),
    OpInfo("nonzero_static", lambda x, size: np.argwhere(x)[:size],
           cases(on((2, 3), size=2), on((4,), size=0)), order=0,
           errors=[Raises(RuntimeError, ("nonzero_static", "size", "-1"), (np.ones(2),), {"size": -1})]),
    OpInfo("repeat_interleave", repeat_interleave, REPEATED, complex=True,
           errors=[Raises(RuntimeError, ("repeat_interleave", "-1"), (np.ones(2), -1)),
                   Raises(RuntimeError, ("repeat_interleave", "3", "2"), (np.ones(3), I([1, 2])))]),
    OpInfo("repeat_interleave", lambda repeats: np.repeat(np.arange(len(repeats)), repeats),
           cases(on(None, I([2, 0, 3]))), variant="Tensor", order=0),
]  # fmt: skip
