"""OpInfo records of the operators of the area shape."""

import numpy as np

from pullback.testing.opinfo.core import OpInfo, Skip, by_axis, refused
from pullback.testing.opinfo.samples import T, cases, on, unary

__all__ = ["OPINFOS"]

EVERY = (np.float64, np.float32, np.int64, np.bool)  # nothing here computes: every dtype passes through


def info(name, reference, samples, **how):
    """A record of an operator that moves elements of any dtype."""
    return OpInfo(name, reference, samples, dtypes=EVERY, complex=True, **how)


OF_LAYOUT = [Skip("layouts", "what it gives, or whether it can, depends on the strides of its input")]
X, Y = np.ones((2, 3)), np.ones((2, 3, 4))


# -- references ------------------------------------------------------------------------------------------------------
def squeeze(x, dim=None):
    """np.squeeze, leaving alone the dimensions that are not of size 1."""
    dims = range(x.ndim) if dim is None else dim if isinstance(dim, (list, tuple)) else [dim]
    return np.squeeze(x, tuple(d % x.ndim for d in dims if x.ndim and x.shape[d] == 1))


def expand(x, *size):
    """np.broadcast_to, where -1 keeps a size."""
    size = size[0] if isinstance(size[0], (list, tuple)) else size
    kept = (0,) * (len(size) - x.ndim) + x.shape
    return np.broadcast_to(x, [n if m == -1 else m for n, m in zip(kept, size, strict=True)])


def unfold(x, dimension, size, step):
    """Every step-th sliding window."""
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dimension)
    return windows[(slice(None),) * (dimension % x.ndim) + (slice(None, None, step),)]


def consecutive(x, sizes, dim=0):
    """Pieces of the given sizes."""
    return tuple(np.split(x, np.cumsum(sizes)[:-1], dim))


def split(x, size, dim=0):
    """Pieces of one size, the last perhaps smaller."""
    if isinstance(size, (list, tuple)):
        return consecutive(x, size, dim)
    return tuple(np.split(x, range(size, x.shape[dim], size), dim))


def embedded(x, shape, index):
    """Zeros with x added at an index of an array of the given shape."""
    out = np.zeros(shape, x.dtype)
    np.add.at(out, index, x)
    return out


def windows_added(x, shape, dim, size, step):
    """Zeros with every window of x added."""
    places = unfold(np.arange(int(np.prod(shape))).reshape(shape), dim, size, step)
    return embedded(x, int(np.prod(shape)), places).reshape(shape)


def strided(x, size, stride, storage_offset=0):
    """The elements of x, whose memory is its own, in another arrangement."""
    places = storage_offset + sum(np.multiply(i, s) for i, s in zip(np.indices(size), stride, strict=True))
    return x.reshape(-1)[places]


def as_parts(z):
    """Real and imaginary parts, last."""
    return np.stack([z.real, z.imag], -1)


# -- records ---------------------------------------------------------------------------------------------------------
RESHAPING = [
    info(
        "view",
        np.reshape,
        cases(on((2, 6), (3, 4)), on((2, 6), (-1,)), on((4,), (2, 1, 2)), on((), (1, 1)), on((0, 3), (3, 0))),
        errors=[
            refused(RuntimeError, ("view", "reshape"), np.ones((2, 3)).T, (6,)),
            refused(RuntimeError, ("view", "(2, 3)", "(4,)"), X, (4,)),
            refused(RuntimeError, ("view",), X, (-1, -1)),
        ],
        skips=OF_LAYOUT,
    ),
    info(
        "reshape",
        np.reshape,
        cases(on((2, 6), (3, 4)), on((2, 6), (-1, 2)), on((), (1,)), on((0, 3), (3, 0)), noncontiguous=True),
        errors=[refused(RuntimeError, ("reshape", "(2, 3)", "(4,)"), X, (4,))],
    ),
    info(
        "view_as", lambda x, y: x.reshape(y.shape), cases(on((2, 6), T((3, 4))), on((4,), T((2, 2)))), skips=OF_LAYOUT
    ),
    info("reshape_as", lambda x, y: x.reshape(y.shape), cases(on((2, 6), T((3, 4))), noncontiguous=True)),
    info("alias", lambda x: x, unary()),
    info(
        "flatten",
        lambda x, start_dim=0, end_dim=-1: x.reshape(
            *x.shape[:start_dim], -1, *x.shape[end_dim % max(x.ndim, 1) + 1 :]
        ),
        cases(on((2, 3, 2)), on((2, 3, 2), 1), on((2, 3, 2), 0, 1), on(()), on((3,)), noncontiguous=True),
        errors=[refused(RuntimeError, ("flatten", "start_dim"), Y, 2, 1), refused(IndexError, ("flatten",), X, 5)],
    ),
    info(
        "unflatten",
        lambda x, dim, sizes: x.reshape(*x.shape[:dim], *sizes, *x.shape[dim:][1:]),
        cases(on((6,), 0, (2, 3)), on((2, 6), 1, (-1, 3)), on((6, 2), 0, (3, 2))),
        errors=[refused(RuntimeError, ("unflatten", "(2, 2)"), X, 1, (2, 2))],
    ),
    info("ravel", np.ravel, unary()),
    info(
        "squeeze",
        squeeze,
        cases(on((2, 1, 3, 1)), on((2, 1, 3, 1), 1), on((2, 1, 3, 1), 0), on((2, 1, 1), (1, 2)), on((1, 1)), on((), 0)),
        inplace="view",
        errors=[refused(IndexError, ("squeeze",), X, 2), refused(RuntimeError, ("squeeze",), X, (0, 0))],
    ),
    info(
        "unsqueeze",
        np.expand_dims,
        cases(on((), 0), on((2, 3), 0), on((2, 3), -1), on((2, 3), 1), on((2, 0), 2)),
        inplace="view",
        errors=[refused(IndexError, ("unsqueeze", "3"), X, 3)],
    ),
    info("contiguous", lambda x: x, unary()),
    info("is_contiguous", lambda x: x.flags.c_contiguous, unary(shapes=((2, 3),)), order=0, skips=OF_LAYOUT),
    info("atleast_1d", np.atleast_1d, cases(on(()), on((2,)), on((2, 3)))),
    info("atleast_2d", np.atleast_2d, cases(on(()), on((2,)), on((2, 3)))),
    info("atleast_3d", np.atleast_3d, cases(on(()), on((2,)), on((2, 3)), on((2, 1, 2, 1)))),
    info("atleast_1d", lambda xs: tuple(map(np.atleast_1d, xs)), cases(on([(), (2,)])), variant="Sequence"),
    info("atleast_2d", lambda xs: tuple(map(np.atleast_2d, xs)), cases(on([(), (2,)])), variant="Sequence"),
    info("atleast_3d", lambda xs: tuple(map(np.atleast_3d, xs)), cases(on([(), (2,), (2, 3)])), variant="Sequence"),
]

REORDERING = [
    info(
        "permute",
        np.transpose,
        cases(on((2, 3, 2), (2, 0, 1)), on((2, 3), (-1, 0)), on((), ()), on((2, 0), (1, 0))),
        errors=[refused(RuntimeError, ("permute",), X, (0, 0)), refused(RuntimeError, ("permute",), X, (0,))],
    ),
    info(
        "transpose",
        np.swapaxes,
        cases(on((2, 3, 2), 0, 2), on((2, 3), -1, -2), on((3,), 0, 0)),
        inplace="view",
        errors=[refused(IndexError, ("transpose",), X, 0, 2)],
    ),
    info(
        "t",
        np.transpose,
        cases(on((2, 3)), on((3,)), on(())),
        inplace="view",
        errors=[refused(RuntimeError, ("t:", "3"), Y)],
    ),
    info("numpy_T", np.transpose, cases(on((2, 3)), on((3,)), on((2, 3, 2)))),
    info("mT", lambda x: x.swapaxes(-1, -2), cases(on((2, 3)), on((2, 3, 2)))),
    info("mH", lambda x: x.conj().swapaxes(-1, -2), cases(on((2, 3)), on((2, 3, 2)))),
    info("adjoint", lambda x: x.conj().swapaxes(-1, -2), cases(on((2, 3)), on((2, 3, 2)))),
    info("matrix_H", lambda x: x.conj().T, cases(on((2, 3)), on(())), errors=[refused(RuntimeError, ("mH",), Y)]),
    info(
        "movedim",
        np.moveaxis,
        cases(on((2, 3, 2), 0, 2), on((2, 3, 2), (0, -1), (1, 0)), on((2, 3, 2, 1), (1, 2), (3, 0))),
        errors=[
            refused(RuntimeError, ("movedim", "more than once"), Y, (0, -3), (0, 1)),
            refused(RuntimeError, ("movedim", "2", "1"), Y, (0, 1), (0,)),
            refused(IndexError, ("movedim", "3"), Y, 3, 0),
        ],
    ),
    info("flip", by_axis(np.flip), cases(on((2, 3), (0,)), on((2, 3), (0, -1)), on((2, 3), ()), on((0, 2), (1,)))),
    info("fliplr", np.fliplr, cases(on((2, 3))), errors=[refused(RuntimeError, ("fliplr", "(2,)"), np.ones(2))]),
    info("flipud", np.flipud, cases(on((2, 3)), on((3,))), errors=[refused(RuntimeError, ("flipud",), np.ones(()))]),
    info(
        "roll",
        lambda x, shifts, dims=None: np.roll(x, shifts, dims),
        cases(on((2, 3), 1), on((2, 3), 2, 1), on((2, 3), (1, -2), (0, 1)), on((4,), 9, 0), on((0, 2), 1, 0)),
        errors=[refused(RuntimeError, ("roll", "shifts"), X, ()), refused(RuntimeError, ("roll",), X, (1, 2), (0,))],
    ),
    info(
        "rot90",
        lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
        cases(on((2, 3)), on((2, 3), 2), on((2, 3, 2), -1, (2, 0)), on((2, 3), 4)),
        errors=[refused(RuntimeError, ("rot90",), np.ones(3)), refused(RuntimeError, ("rot90",), X, 1, (1, -1))],
    ),
]

PARTS = [
    info(
        "narrow",
        lambda x, dim, start, length: np.take(x, start % max(x.shape[dim], 1) + np.arange(length), dim),
        cases(on((2, 4), 1, 1, 2), on((3, 2), 0, 0, 3), on((3,), -1, -2, 2), on((3, 2), 0, 1, 0)),
        errors=[
            refused(RuntimeError, ("narrow", "exceeds"), X, 1, 2, 2),
            refused(IndexError, ("narrow", "start 4"), X, 1, 4, 0),
            refused(RuntimeError, ("narrow", "length"), X, 1, 0, -1),
            refused(RuntimeError, ("narrow", "0-d"), np.ones(()), 0, 0, 1),
        ],
    ),
    info(
        "select",
        lambda x, dim, index: np.take(x, index, dim),
        cases(on((3,), 0, 1), on((2, 3), 1, -1), on((2, 3, 2), -2, 0)),
        errors=[refused(IndexError, ("select",), X, 1, 3), refused(IndexError, ("select",), np.ones(()), 0, 0)],
    ),
    info(
        "diagonal",
        np.diagonal,
        cases(on((3, 3)), on((2, 4), 1), on((2, 4), -1), on((2, 3, 2), 0, 2, 0), on((2, 3), 5)),
        errors=[
            refused(RuntimeError, ("diagonal", "1 and 1"), X, 0, 1, 1),
            refused(IndexError, ("diagonal",), X, 0, 5),
        ],
    ),
    info(
        "diagonal_backward",
        lambda x, shape, offset, dim1, dim2: np.diag(x, offset)[: shape[0], : shape[1]],
        cases(on((3,), (3, 3), 0, 0, 1), on((2,), (2, 3), 1, 0, 1)),
    ),
    info(
        "split",
        split,
        cases(on((5, 2), 2), on((2, 4), 2, 1), on((3,), 5), on((2, 4), (1, 3), -1), on((3, 2), [1, 0, 2])),
        errors=[refused(RuntimeError, ("split", "positive"), X, 0), refused(RuntimeError, ("split",), X, (1, 2), 0)],
    ),
    info(
        "split_with_sizes",
        consecutive,
        cases(on((5, 2), (2, 3)), on((2, 4), (1, 0, 3), 1)),
        errors=[refused(RuntimeError, ("split_with_sizes", "(1, 2)", "2"), X, (1, 2))],
    ),
    info(
        "chunk",
        lambda x, chunks, dim=0: split(x, -(-x.shape[dim] // chunks), dim),
        cases(on((5, 2), 2), on((2, 5), 4, 1), on((3,), 7), on((4, 2), 1, -2)),
        errors=[refused(RuntimeError, ("chunk", "0"), X, 0), refused(RuntimeError, ("chunk", "0-d"), np.ones(()), 1)],
    ),
    info(
        "tensor_split",
        lambda x, cuts, dim=0: tuple(np.array_split(x, cuts, dim)),
        cases(on((5, 2), 2), on((2, 5), 3, 1), on((5,), (1, 3)), on((2, 5), (2, 9), -1), on((5,), np.array([2]))),
        errors=[refused(RuntimeError, ("tensor_split", "0"), X, 0)],
    ),
    info(
        "unbind",
        lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)),
        cases(on((3,)), on((2, 3)), on((2, 3), 1), on((2, 3, 2), -2)),
        errors=[refused(IndexError, ("unbind",), np.ones(())), refused(IndexError, ("unbind", "2"), X, 2)],
    ),
]

STRIDES = [
    info(
        "expand",
        expand,
        cases(
            on((3,), (2, 3)), on((2, 1), (2, 3)), on((1, 3), (2, -1)), on((), (2,)), on((2, 3), (2, 3)), on((1,), (0,))
        ),
        errors=[
            refused(RuntimeError, ("expand", "(2, 3)", "(2, 4)"), X, (2, 4)),
            refused(RuntimeError, ("expand", "-1"), X, (-1, 2, 3)),
        ],
    ),
    info("expand_as", lambda x, y: np.broadcast_to(x, y.shape), cases(on((3,), T((2, 3))), on((), T((2,))))),
    info("broadcast_to", np.broadcast_to, cases(on((3,), (2, 3)), on((2, 1), (2, 3)))),
    info(
        "broadcast_tensors",
        lambda xs: tuple(np.broadcast_arrays(*xs)),
        cases(on([(3,), (2, 1)]), on([(), (2,), (1, 1)])),
        call=lambda xs: __import__("pullback").broadcast_tensors(xs),
    ),
    info(
        "unfold",
        unfold,
        cases(on((5,), 0, 2, 1), on((5,), 0, 3, 2), on((2, 5), 1, 2, 3), on((4, 2), 0, 4, 1), on((4, 2), -2, 1, 2)),
        errors=[
            refused(RuntimeError, ("unfold", "size"), X, 1, 4, 1),
            refused(RuntimeError, ("unfold", "step"), X, 1, 2, 0),
        ],
    ),
    info(
        "unfold_backward",
        windows_added,
        cases(on((4, 2), (5,), 0, 2, 1), on((2, 2, 2), (2, 5), 1, 2, 3)),
    ),
    info(
        "as_strided",
        strided,
        cases(on((3, 3), (2, 2), (3, 1)), on((3, 3), (2, 2), (1, 2), 1), on((6,), (3, 3), (1, 1)), on((4,), (), (), 2)),
        inplace="view",
        errors=[
            refused(RuntimeError, ("as_strided",), X, (9,), (1,)),
            refused(RuntimeError, ("as_strided", "negative"), X, (2,), (-1,), 3),
            refused(RuntimeError, ("as_strided", "pair up"), X, (2,), (1, 1)),
            refused(RuntimeError, ("as_strided", "0 elements"), np.zeros(0), (2,), (1,)),
        ],
        skips=OF_LAYOUT,
    ),
    OpInfo(
        "view_as_real",
        as_parts,
        unary(),
        dtypes=(np.complex128, np.complex64),
        errors=[refused(RuntimeError, ("view_as_real", "float64"), X)],
    ),
    OpInfo(
        "view_as_complex",
        lambda x: x[..., 0] + 1j * x[..., 1],
        cases(on((2,)), on((3, 2)), on((2, 3, 2))),
        dtypes=(np.float64, np.float32),
        skips=OF_LAYOUT,
        errors=[
            refused(RuntimeError, ("view_as_complex", "(2, 3)"), X),
            refused(RuntimeError, ("contiguous",), np.ones((2, 2)).T),
        ],
    ),
]

REPEATING = [
    info(
        "repeat",
        np.tile,
        cases(on((3,), (2,)), on((2, 3), (1, 2)), on((3,), (2, 1, 2)), on((), (2,)), on((2,), (0,)), on((), ())),
        errors=[refused(RuntimeError, ("repeat", "(2, 3)", "(2,)"), X, (2,))],
    ),
    info("tile", np.tile, cases(on((3,), (2,)), on((2, 3), (2,)), on((3,), (2, 2)), on((2,), ()))),
    info(
        "tril",
        np.tril,
        cases(on((3, 3)), on((2, 3), 1), on((2, 3, 2), -1)),
        errors=[refused(RuntimeError, ("tril",), np.ones(2))],
    ),
    info(
        "triu",
        np.triu,
        cases(on((3, 3)), on((2, 3), 1), on((2, 3, 2), -1)),
        errors=[refused(RuntimeError, ("triu",), np.ones(2))],
    ),
]

OPINFOS = [*RESHAPING, *REORDERING, *PARTS, *STRIDES, *REPEATING]
