"""OpInfo records of splits, sets of elements, copies of views, and memory of one's own order."""

import itertools

import numpy as np

from pullback.testing.opinfo.core import OpInfo, Skip, refused
from pullback.testing.opinfo.samples import cases, on

__all__ = ["OPINFOS"]

EVERY = (np.float64, np.float32, np.int64, np.bool)
UNINITIALISED = "whatever the memory holds"
X = np.ones((2, 3))


def info(name, reference, *calls, **how):
    """A record of an operator that moves elements of any dtype."""
    return OpInfo(name, reference, cases(*calls), dtypes=EVERY, complex=True, **how)


# -- references ------------------------------------------------------------------------------------------------------
def split(x, size, dim=0):
    """Pieces of a size, or of a list of sizes."""
    ends = np.cumsum(size)[:-1] if isinstance(size, list) else range(size, x.shape[dim], size)
    return tuple(np.split(x, ends, dim))


def unfold(x, dim, size, step):
    """Sliding windows."""
    every = (slice(None),) * (dim % x.ndim)
    return np.lib.stride_tricks.sliding_window_view(x, size, dim)[(*every, slice(None, None, step))]


def diagonal(x, offset=0, dim1=0, dim2=1):
    """np.diagonal."""
    return np.diagonal(x, offset, dim1, dim2)


def slice_copy(x, dim=0, start=None, end=None, step=1):
    """A slice."""
    return x[(*(slice(None),) * dim, slice(start, end, step))]


def meshgrid(xs, *, indexing="ij"):
    """np.meshgrid."""
    return tuple(np.meshgrid(*xs, indexing=indexing))


def cartesian_prod(xs):
    """itertools.product."""
    return np.array(list(itertools.product(*xs)), xs[0].dtype) if len(xs) > 1 else xs[0]


def combinations(x, r=2, with_replacement=False):
    """itertools.combinations."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.array(list(choose(x, r)), x.dtype).reshape(-1, r)


def sum_to_size(x, size):
    """np.sum over what was broadcast."""
    lead = x.ndim - len(size)
    dims = [i for i in range(x.ndim) if i < lead or size[i - lead] != x.shape[i]]
    return np.sum(x, tuple(dims)).reshape(size) if dims else x


def uninitialised(name, *calls, **how):
    """A record of an operator whose values nobody knows."""
    return OpInfo(
        name, None, cases(*calls), complex=True, order=0, random=True, repeatable=False, because=UNINITIALISED, **how
    )


OPINFOS = [
    info("hsplit", lambda x, at: tuple(np.hsplit(x, at)), on((2, 4), 2), on((4,), [1, 3]),
         errors=[refused(RuntimeError, ("hsplit", "3"), X, 2)]),
    info("vsplit", lambda x, at: tuple(np.vsplit(x, at)), on((4, 2), 2), on((4, 1), [1, 3]),
         errors=[refused(RuntimeError, ("vsplit", "(3,)"), np.ones(3), 1), refused(TypeError, ("vsplit",), X, "a")]),
    info("dsplit", lambda x, at: tuple(np.dsplit(x, at)), on((1, 2, 4), 2), on((2, 1, 3), [1]),
         errors=[refused(RuntimeError, ("dsplit", "(2, 3)"), X, 1)]),
    info("unsafe_split", split, on((5, 2), 2), on((2, 3), [1, 2], 1)),
    info("unsafe_split_with_sizes", split, on((5, 2), [2, 3]), on((2, 3), [1, 2], 1)),
    info("unsafe_chunk", lambda x, chunks, dim=0: tuple(np.array_split(x, chunks, dim)), on((4, 2), 2), on((3,), 3)),
    OpInfo("sum_to_size", sum_to_size,
           cases(on((2, 3), (3,)), on((2, 3), (2, 1)), on((2, 3), (1, 1)), on((3,), (3,)), on((2, 2, 3), (1, 3))),
           complex=True, errors=[refused(RuntimeError, ("sum_to_size", "(2, 2)", "(2, 3)"), X, (2, 2))]),
    info("meshgrid", meshgrid, on([(2,), (3,)]), on([(2,), (3,), (1,)], indexing="xy"), on([(), (2,)]), on([(2,)]),
         errors=[refused(RuntimeError, ("meshgrid", "zz"), [np.ones(2)], indexing="zz"),
                 refused(RuntimeError, ("meshgrid", "(2, 3)"), [X])]),
    info("cartesian_prod", cartesian_prod, on([(2,), (3,)]), on([(3,)]), on([(2,), (1,), (2,)]),
         errors=[refused(RuntimeError, ("cartesian_prod", "(2, 3)"), [X])]),
    info("combinations", combinations, on((3,)), on((3,), 2, True), on((4,), 3), on((2,), 3),
         errors=[refused(RuntimeError, ("combinations", "(2, 3)"), X)]),
    OpInfo("combination_places", lambda x, r, again: combinations(np.arange(len(x)), r, again).ravel(),
           cases(on((3,), 2, False), on((4,), 3, True), on((1,), 2, False)), order=0),
    info("alias_copy", np.copy, on((2, 3)), on(())),
    info("as_strided_copy", lambda x, size, stride: np.diagonal(x)[: size[0]], on((3, 3), (2,), (4,)),
         skips=[Skip("layouts", "strides are counted in the memory that an input happens to have")]),
    info("diagonal_copy", diagonal, on((2, 3)), on((3, 2, 3), 1, 0, 2)),
    info("expand_copy", np.broadcast_to, on((3,), (2, 3)), on((2, 1), (2, 2))),
    info("narrow_copy", lambda x, dim, start, length: slice_copy(x, dim, start, start + length), on((2, 3), 1, 1, 2)),
    info("permute_copy", np.transpose, on((2, 3), (1, 0)), on((2, 1, 3), (2, 0, 1))),
    info("select_copy", lambda x, dim, index: np.take(x, index, dim), on((2, 3), 1, 2)),
    info("slice_copy", slice_copy, on((4, 2), 0, 1, None, 2), on((2, 3), 1)),
    info("split_copy", split, on((5, 2), 2), on((2, 3), [1, 2], 1)),
    info("split_with_sizes_copy", split, on((3, 2), [1, 2])),
    info("squeeze_copy", lambda x, dim=None: np.squeeze(x, dim), on((1, 3, 1)), on((2, 1), 1)),
    info("t_copy", np.transpose, on((2, 3)), on((3,))),
    info("transpose_copy", np.swapaxes, on((2, 3), 0, 1), on((2, 1, 3), 0, -1)),
    info("unbind_copy", lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)), on((2, 3)), on((2, 3), 1)),
    info("unfold_copy", unfold, on((5,), 0, 2, 2), on((2, 4), 1, 3, 1)),
    info("unsqueeze_copy", np.expand_dims, on((3,), 0), on((2, 3), -1)),
    info("view_copy", np.reshape, on((2, 3), (3, 2)), on((4,), (2, 2))),
    OpInfo("view_as_real_copy", lambda x: np.stack([x.real, x.imag], -1), cases(on((2,))), dtypes=(np.complex128,)),
    OpInfo("view_as_complex_copy", lambda x: x[..., 0] + 1j * x[..., 1], cases(on((3, 2))), dtypes=(np.float64,),
           skips=[Skip("layouts", "the two parts of a number must be neighbours in memory")]),
    uninitialised("empty_strided", on(None, (2, 3), (1, 2)), on(None, (2,), (3,), dtype=np.float32),
                  errors=[refused(RuntimeError, ("empty_strided", "(2,)"), (2,), (1, 1))]),
    uninitialised("new_empty_strided", on((2,), (2, 3), (1, 2))),
    uninitialised("empty_permuted", on(None, (2, 3), (1, 0)), on(None, (), ()),
                  errors=[refused(RuntimeError, ("empty_permuted", "(0, 0)"), (2, 3), (0, 0))]),
]  # fmt: skip
