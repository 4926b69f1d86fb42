"""Kernels that reduce, at every position that an index names along a dimension, what belongs there."""

import numpy as np

from pullback.arrays.numpy.fast.flat_indices import places_of
from pullback.arrays.numpy.indexing.scattering import along_dim, scatter_source
from pullback.arrays.numpy.indexing.subscripts import FEW, add_at, check_integers, reduce_at
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered
from pullback.core.dims import wrap_dim

UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def scatter_reduce_(self, dim, index, src, reduce, include_self=True):
    """self[index[i][j][k]][j][k] = reduce of that and src[i][j][k], for dim = 0, and so on."""
    if reduce not in UFUNCS:
        raise RuntimeError(f"scatter_reduce(): reduce must be one of {', '.join(UFUNCS)}, got {reduce!r}.")
    if reduce in ("amax", "amin"):
        refuse_unordered(self)
    where = along_dim(self, dim, index, "scatter_reduce")
    if where is None or not index.size:
        return self
    src = scatter_source(self, index, src, "scatter_reduce")
    out = self if self.ndim else self.reshape(1)
    if src.size >= FEW and (places := places_of(out, where)) is not None:
        out, where, src = out.reshape(-1), (places.ravel(),), src.ravel()
    if not include_self:
        out[where] = neutral(reduce, self.dtype)
    if UFUNCS[reduce] is np.add:
        add_at(out, where, src)
    else:
        reduce_at(UFUNCS[reduce], out, where, src)
    if reduce == "mean":
        counts = np.full(out.shape, int(include_self))
        add_at(counts, where, np.ones(src.shape, int))
        divide = np.floor_divide if self.dtype.kind in "iu" else np.true_divide
        counts = np.maximum(counts, 1)
        if self.dtype.char in "fd":  # in float16 they might overflow; other types divide in a wider one
            counts = counts.astype(self.dtype)
        divide(out, counts, out=out, casting="unsafe")  # a mean lies within the dtype
    return self


def scatter_reduce(self, dim, index, src, reduce, include_self=True):
    """scatter_reduce_ on a copy."""
    return scatter_reduce_(np.array(self), dim, index, src, reduce, include_self)


def index_reduce_(self, dim, index, source, reduce, include_self=True):
    """Reduces the slices of self at the positions `index` along dim with the slices of source."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): reduce must be prod, mean, amax or amin, got {reduce!r}.")
    check_integers(index, "index_reduce")
    if index.ndim > 1:
        raise IndexError(f"index_reduce(): index must be a vector, got shape {index.shape}.")
    dim = wrap_dim(dim, self.ndim, "index_reduce")
    shape = (*self.shape[:dim], index.size, *self.shape[dim + 1 :]) if self.ndim else (1,)
    if source.shape != shape and not (source.size == 1 == index.size and self.ndim <= 1):
        raise RuntimeError(
            f"index_reduce(): source must have the shape {shape}, the input's with {index.size} along dim {dim}; "
            f"got {source.shape}."
        )
    index = np.broadcast_to(index.reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape)
    out = self if self.ndim else self.reshape(1)
    scatter_reduce_(out, dim, index, source.reshape(shape), reduce, include_self)
    return self


def index_reduce(self, dim, index, source, reduce, include_self=True):
    """index_reduce_ on a copy."""
    return index_reduce_(np.array(self), dim, index, source, reduce, include_self)


def neutral(reduce, dtype):
    """The neutral element of a reduction, in a dtype."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max
