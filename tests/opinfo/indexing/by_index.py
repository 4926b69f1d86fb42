"""OpInfo records of the operators of the area indexing."""

import numpy as np

from pullback.testing.opinfo.core import OpInfo, Plain, Raises, Sample, map_arrays, refused
from pullback.testing.opinfo.samples import T, cases, on, unary

__all__ = ["OPINFOS"]

EVERY = (np.float64, np.float32, np.int64, np.bool)
NUMBERS = (np.float64, np.float32, np.int64)
I = np.array  # an index, in the samples below

X = np.ones((2, 3))
UNORDERED = np.ones(2, complex)


def info(name, reference, samples, **how):
    """A record of an operator that moves elements."""
    return OpInfo(name, reference, samples, complex=True, **({"dtypes": EVERY} | how))


# -- references, element by element ----------------------------------------------------------------------------------
def written(x, index, value):
    """x with value at an index, where the first dimensions of value do not count if they have size 1."""
    out, value = x.copy(), np.asarray(value)
    while value.ndim > np.ndim(out[index]) and value.shape[0] == 1:
        value = value[0]
    out[index] = value
    return out


def added(x, index, value):
    """x with value added at an index, every occurrence counted."""
    out = x.copy()
    np.add.at(out, index, value)
    return out


def zeros(shape, like):
    """Zeros in the dtype of an array."""
    return np.zeros(shape, like.dtype)


def places(index, dim):
    """The index tuple of gather and scatter, written out."""
    grid = list(np.indices(index.shape))
    grid[dim] = index
    return tuple(grid)


def lines(dim, index):
    """The index tuple of whole slices."""
    return (*(slice(None),) * dim, index)


def gather(x, dim, index):
    """One element after the other."""
    return x[places(index, dim)]


def scatter(x, dim, index, src):
    """Likewise; src may be larger than index."""
    return written(x, places(index, dim), src if np.ndim(src) == 0 else src[tuple(map(slice, index.shape))])


def scatter_add(x, dim, index, src):
    """Likewise, adding."""
    return added(x, places(index, dim), src[tuple(map(slice, index.shape))])


def index_put(x, indices, values, accumulate=False):
    """Writing or adding at index arrays, where None is a whole dimension."""
    index = tuple(slice(None) if i is None else i for i in indices)
    return added(x, index, values) if accumulate else written(x, index, values)


def put(x, index, source, accumulate=False):
    """The same in the flattened array."""
    return index_put(x.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate).reshape(x.shape)


def masked_fill(x, mask, value):
    """np.where, in the dtype of x."""
    return np.where(mask, np.asarray(value).astype(x.dtype), x)


def masked_select(x, mask):
    """The broadcast elements where mask is True."""
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


def masked_select_backward(x, shape, mask):
    """Zeros with x where mask is True."""
    mask = np.broadcast_to(mask, np.broadcast_shapes(shape, mask.shape))
    return written(zeros(mask.shape, x), mask, x)


def masked_scatter(x, mask, source):
    """The first elements of source where mask is True."""
    mask = np.broadcast_to(mask, x.shape)
    return written(x, mask, source.reshape(-1)[: mask.sum()])


def diagonal_scatter(x, src, offset=0):
    """src on a diagonal of a matrix."""
    rows = np.arange(len(src)) + max(-offset, 0)
    return written(x, (rows, rows + offset), src)


def take_along_dim(x, indices, dim=None):
    """np.take_along_axis."""
    return np.take_along_axis(x, indices, dim) if dim is not None else x.reshape(-1)[indices.reshape(-1)]


def argsort(x, dim=-1, descending=False, stable=None):
    """A stable order; for a descending one the array is read backwards."""
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)


def sort(x, dim=-1, descending=False, stable=None):
    """(values, indices)."""
    order = argsort(x, dim, descending)
    return (np.take_along_axis(x, order, dim) if x.ndim else x), order


def topk(x, k, dim=-1, largest=True):
    """The first k of the sorted array."""
    values, order = sort(x, dim, largest)
    if x.ndim == 0:
        return values, order
    return np.take(values, range(k), dim), np.take(order, range(k), dim)


# -- samples ---------------------------------------------------------------------------------------------------------
def gathered(make):
    """Indices of the size of the input along one dimension, and at most that elsewhere."""
    yield Sample(make((3, 2)), 0, make.index((4, 2), 3))
    yield Sample(make((3, 2)), 1, make.index((2, 3), 2)).named("smaller")
    yield Sample(make((3,)), -1, np.array([0, 0, 2, 0])).named("repeated")
    yield Sample(make((3,)), 0, np.zeros((0,), np.int64)).named("empty")


def scattered(make):
    """Sources for indices, one of which names a place twice: the last write counts, or the sum."""
    yield Sample(make((3, 2)), 0, I([[0, 2], [2, 1]]), make((2, 2)))
    yield Sample(make((2, 3)), -1, I([[2, 0]]), make((2, 3))).named("larger_source")
    yield Sample(make((3,)), 0, I([1, 1, 0]), make((3,))).named("repeated")


def slices(make):
    """Whole slices to write or add."""
    yield Sample(make((3, 2)), 0, I([2, 0]), make((2, 2)))
    yield Sample(make((2, 3)), 1, I([1]), make((2, 1)))
    yield Sample(make((3,)), 0, I([0, 2]), make((2,)))
    yield Sample(make((3, 2)), 0, I([1, 1]), make((2, 2))).named("repeated")


def puts(make):
    """Index tuples for index_put."""
    yield Sample(make((3, 2)), (I([0, 0]), I([1, 1])), make((2,))).named("repeated")
    yield Sample(make((3, 2)), (I([0, 2]), I([1, 0])), make((2,)))
    yield Sample(make((3, 2)), (I([0, 2]),), make((2,))).named("broadcast")
    yield Sample(make((3, 2)), (None, I([1])), make((3, 1)))
    yield Sample(make((3,)), (I([True, False, True]),), make(())).named("mask")
    if make.dtype != bool:
        yield Sample(make((3,)), (I([0, 0, 2]),), make((3,)), True).named("accumulate")


ROWS = I([[0, 2], [1, 1]])
ADVANCED = (
    ROWS, (I([0, 2]), I([1, 0])), (slice(None), I([1, 1])), (I([True, False, True]),), (I([0, 2]), slice(1)),
    (I([0, 1]), None, I([1, 1])), (..., I([0])), (I([2, 0]), 1), ([0, 1], [1, 0]),
)  # fmt: skip
BASIC = (1, (1, -1), slice(None, None, 2), (..., 0), (None, 1), (slice(None, None, -1), slice(1, None)), ...)


def bare(index):
    """The index with its arrays as they are: what x[index] makes of one with tensors in it."""
    return map_arrays(Plain, index)


def brackets(indices):
    """One call for each index."""
    return cases(*(on((3, 2), i) for i in indices))


def with_shape(reference, indices):
    """Samples of the adjoint: an array of the shape that reading gives, the shape, the index."""

    def samples(make):
        for index in indices:
            yield Sample(make(np.ones((3, 2))[index].shape), (3, 2), bare(index))

    return samples


BRACKETS = [
    info("slice_view", lambda x, i: x[i], brackets(BASIC)),
    info("slice_backward", lambda x, shape, i: written(zeros(shape, x), i, x), with_shape(written, BASIC)),
    info("advanced_index", lambda x, i: x[i], brackets(map(bare, ADVANCED))),
    info("__getitem__", lambda x, i: x[i], brackets((*BASIC, *ADVANCED)), errors=[refused(IndexError, ("2",), X, 2)]),
    info(
        "index_accumulate",
        lambda x, shape, i: added(zeros(shape, x), i, x),
        with_shape(added, ADVANCED),
        dtypes=NUMBERS,
    ),
    info(
        "index_accumulate",
        lambda x, shape, i: added(zeros(shape, x), i, x),
        lambda make: [
            Sample(make((40, 3)), (5, 3), Plain(make.index((40,), 5))),
            Sample(make((9, 9)), (4,), Plain(make.index((9, 9), 4))),
        ],
        dtypes=NUMBERS,
        order=1,
        variant="many",
    ),
    info(
        "setitem",
        written,
        cases(
            *(on((3, 2), bare(i), T(())) for i in (*BASIC, *ADVANCED)), on((3, 2), 1, T((2,))), on((3,), 0, T((1, 1)))
        ),
        errors=[
            refused(RuntimeError, ("setitem", "(4,)"), X, 0, np.ones(4)),
            refused(RuntimeError, ("setitem", "complex"), X, 0, 1j),
        ],
    ),
    info(
        "index_put",
        index_put,
        puts,
        errors=[refused((IndexError, RuntimeError), ("index_put",), X, (I([5]),), 1.0)],
    ),
]

ALONG = [
    info(
        "gather",
        gather,
        gathered,
        errors=[
            refused(RuntimeError, ("gather", "(2,)"), X, 1, I([0, 1])),
            refused(RuntimeError, ("gather", "(3, 3)", "(2, 3)"), X, 1, np.zeros((3, 3), int)),
            refused(IndexError, ("gather", "23"), X, 1, I([[23]])),
            refused(RuntimeError, ("gather", "integers"), X, 1, X),
        ],
    ),
    info(
        "gather_backward",
        lambda x, shape, dim, index: scatter_add(zeros(shape, x), dim, index, x),
        lambda make: [Sample(make(s.args[2].shape), s.args[0].shape, *s.args[1:]) for s in gathered(make)],
        dtypes=NUMBERS,
    ),
    info(
        "scatter",
        scatter,
        scattered,
        errors=[
            refused(RuntimeError, ("scatter", "float32"), X, 0, I([[0]]), np.ones((1, 1), np.float32)),
            refused(RuntimeError, ("scatter", "(2, 2)"), np.ones(3), 0, I([[0, 1], [0, 1]]), X),
            refused(RuntimeError, ("scatter", "src"), X, 0, I([[0, 1]]), np.ones((1, 1))),
        ],
    ),
    info("scatter", scatter, cases(on((3, 2), 0, I([[0, 2]]), 2)), variant="number", dtypes=NUMBERS),
    info(
        "scatter",
        lambda x, dim, index, value: written(x, places(index, dim), value),
        cases(on((3, 2), 0, I([[0, 2]]), value=2)),
        variant="value",
        dtypes=NUMBERS,
    ),
    info(
        "scatter",
        lambda x, dim, index, src, reduce: scatter_add(x, dim, index, src) if reduce == "add" else x * 1,
        lambda make: [Sample(*s.args, reduce="add") for s in scattered(make)],
        variant="reduce",
        dtypes=NUMBERS,
        order=0,
        errors=[Raises(RuntimeError, ("scatter", "mean"), (X, 0, I([[0]]), X), {"reduce": "mean"})],
    ),
    info("scatter_add", scatter_add, scattered, dtypes=NUMBERS),
    info(
        "index_select",
        lambda x, dim, index: np.take(x, np.atleast_1d(index), dim) if x.ndim else x,
        cases(on((3, 2), 0, I([2, 0, 2])), on((2, 3), -1, I([1])), on((3,), 0, I(2)), on((), 0, I([0]))),
        errors=[
            refused(IndexError, ("index_select", "(1, 1)"), X, 0, I([[0]])),
            refused(IndexError, ("3",), X, 1, I([3])),
        ],
    ),
    info(
        "index_select_backward",
        lambda x, shape, dim, index: added(zeros(shape, x), lines(dim, index), x),
        cases(on((3, 2), (4, 2), 0, I([2, 0, 2])), on((2, 1), (2, 3), 1, I([1]))),
        dtypes=NUMBERS,
    ),
    info(
        "index_add",
        lambda x, dim, index, source, alpha=1: added(x, lines(dim, index), alpha * source),
        lambda make: [*slices(make), Sample(make((3,)), 0, I([2]), make((1,)), alpha=2)],
        dtypes=NUMBERS,
        errors=[refused(RuntimeError, ("index_add", "(2, 2)", "(2,)"), np.ones((3, 2)), 0, I([0, 1]), np.ones(2))],
    ),
    info(
        "index_copy",
        lambda x, dim, index, source: written(x, lines(dim, index), source),
        slices,
        errors=[refused(RuntimeError, ("index_copy", "(1, 3)"), X, 0, I([0]), np.ones((2, 3)))],
    ),
    info(
        "index_fill",
        lambda x, dim, index, value: written(x, lines(dim, index), value),
        cases(on((3, 2), 0, I([2, 0]), T(())), on((2, 3), 1, I([1, 1]), T(())), on((3,), 0, I([0]), 1)),
        errors=[refused(RuntimeError, ("index_fill", "(2,)"), X, 0, I([0]), np.ones(2))],
    ),
    info(
        "take_along_dim",
        take_along_dim,
        cases(
            on((3, 2), I([[0, 2]]), 0),
            on((3, 2), I([[1], [0], [1]]), 1),
            on((3, 2), I([5, 0])),
            on((1, 3), I([[2], [0]]), 1),
        ),
        errors=[refused(RuntimeError, ("take_along_dim", "(1,)"), X, I([0]), 0)],
    ),
]

FLAT = [
    info(
        "take",
        lambda x, index: x.reshape(-1)[index],
        cases(on((3, 2), I([5, 0, 5])), on((3,), I([[0, 1], [2, 2]])), on((3,), I(1)), noncontiguous=True),
        errors=[refused(IndexError, ("take", "6"), X, I([6])), refused(RuntimeError, ("take", "integers"), X, X)],
    ),
    info(
        "take_backward",
        lambda x, shape, index: added(zeros(int(np.prod(shape)), x), index, x).reshape(shape),
        cases(on((3,), (3, 2), I([5, 0, 5])), on((2, 2), (3,), I([[0, 1], [2, 2]]))),
        dtypes=NUMBERS,
    ),
    info(
        "put",
        put,
        cases(
            on((3, 2), I([5, 0]), T((2,))),
            on((3,), I([[0, 1]]), T((1, 2))),
            on((3,), I([1, 1]), T((2,))),
            on((2, 2), I([1, 1]), T((2,)), True),
        ),
        dtypes=NUMBERS,
        errors=[refused(RuntimeError, ("put", "(3,)"), X, I([0, 1]), np.ones(3))],
    ),
    info(
        "diagonal_scatter",
        diagonal_scatter,
        cases(on((3, 3), T((3,))), on((2, 3), T((2,)), 1), on((3, 2), T((2,)), -1)),
        errors=[refused(RuntimeError, ("diagonal_scatter", "(2,)", "(3,)"), X, np.ones(3))],
    ),
    info(
        "select_scatter",
        lambda x, src, dim, index: written(x, lines(dim, index), src),
        cases(on((3, 2), T((2,)), 0, 1), on((3, 2), T((3,)), 1, -1), on((3,), T(()), 0, 0)),
        errors=[refused(RuntimeError, ("select_scatter", "(3,)", "(2,)"), X, np.ones(2), 0, 0)],
    ),
    info(
        "slice_scatter",
        lambda x, src, dim=0, start=None, end=None, step=1: written(x, lines(dim, slice(start, end, step)), src),
        cases(on((3, 2), T((3, 2))), on((3, 2), T((2, 2)), 0, 1), on((2, 5), T((2, 2)), 1, 0, 4, 2)),
        errors=[refused(RuntimeError, ("slice_scatter", "(1, 3)"), X, np.ones((2, 3)), 0, 1)],
    ),
]

MASKS = [
    info(
        "masked_fill",
        masked_fill,
        lambda make: [
            Sample(make((3, 2)), make.mask((3, 2)), make(())),
            Sample(make((3, 2)), make.mask((2,)), 1),
            Sample(make((2,)), make.mask((3, 1)), make(())).named("mask_is_larger"),
        ],
        errors=[
            refused(RuntimeError, ("masked_fill", "(1,)"), X, X > 0, np.ones(1)),
            refused(RuntimeError, ("masked_fill", "complex"), X, X > 0, 1j),
            refused(RuntimeError, ("masked_fill", "booleans"), X, X, 1.0),
        ],
        inplace=False,  # one sample grows
    ),
    info(
        "masked_select",
        masked_select,
        lambda make: [
            Sample(make((3, 2)), make.mask((3, 2))),
            Sample(make((3, 1)), make.mask((2,))),
            Sample(make(()), np.array(True)),
        ],
        errors=[refused(RuntimeError, ("masked_select", "booleans"), X, X)],
    ),
    info(
        "masked_select_backward",
        masked_select_backward,
        lambda make: [
            Sample(make((2,)), (2, 2), I([[True, False], [False, True]])),
            Sample(make((2,)), (2, 1), I([True, False])),
        ],
    ),
    info(
        "masked_scatter",
        masked_scatter,
        lambda make: [
            Sample(make((3, 2)), make.mask((3, 2)), make((3, 3))),
            Sample(make((3, 2)), make.mask((2,)), make((6,))),
        ],
        errors=[refused(RuntimeError, ("masked_scatter", "6", "5"), X, X > 0, np.ones(5))],
    ),
    info("argwhere", np.argwhere, unary(), order=0),
    info("nonzero", np.argwhere, unary(), order=0),
    info(
        "nonzero",
        lambda x, as_tuple: np.nonzero(x),
        unary(as_tuple=True, shapes=((3,), (2, 3))),
        order=0,
        variant="as_tuple",
    ),
]

SORTING = [
    OpInfo(
        "sort",
        sort,
        cases(on((5,)), on((3, 4), 0), on((3, 4), -1, True), on((2, 3), stable=True), on((), 0), distinct=True),
        errors=[refused(IndexError, ("sort", "2"), X, 2), refused(RuntimeError, ("sort", "no order"), UNORDERED)],
    ),
    OpInfo(
        "argsort",
        argsort,
        cases(on((5,)), on((3, 4), 0, True), on((), 0), distinct=True),
        order=0,
        errors=[refused(RuntimeError, ("argsort", "no order"), UNORDERED)],
    ),
    OpInfo(
        "msort",
        lambda x: np.sort(x, 0),
        cases(on((5,)), on((3, 2)), distinct=True),
        errors=[refused(RuntimeError, ("no order",), UNORDERED)],
    ),
    OpInfo(
        "topk",
        topk,
        cases(on((5,), 2), on((3, 4), 1, 0), on((3, 4), 2, 1, False), on((), 1), distinct=True),
        errors=[
            refused(RuntimeError, ("topk", "4"), X, 4),
            refused(IndexError, ("topk",), X, 1, 2),
            refused(RuntimeError, ("topk", "no order"), UNORDERED, 1),
        ],
    ),
]

OPINFOS = [*BRACKETS, *ALONG, *FLAT, *MASKS, *SORTING]
