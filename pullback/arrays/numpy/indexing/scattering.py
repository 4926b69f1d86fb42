"""Kernels of the area indexing that read and write along one dimension: gather and scatter, whole slices."""

import numpy as np

from pullback.arrays.numpy.dims import at_dim
from pullback.arrays.numpy.fast.flat_indices import places_along, summed_rows
from pullback.arrays.numpy.fast.kept_vectors import open_grid
from pullback.arrays.numpy.indexing.masks import one_value
from pullback.arrays.numpy.indexing.subscripts import add_at, check_fits, check_integers, reduce_at, write_at
from pullback.core.dims import wrap_dim

# -- gather and scatter along one dimension --------------------------------------------------------------------


def along_dim(self, dim, index, name):
    """The index tuple (and self, 1-d if it was 0-d) for out[i][j][k] = self[index[i][j][k]][j][k]."""
    dim = wrap_dim(dim, self.ndim, name)
    check_integers(index, name)
    if (index.ndim or 1) != (self.ndim or 1):
        if index.size:
            raise RuntimeError(
                f"{name}: index must have as many dimensions as the input ({self.ndim}), got shape {index.shape}"
            )
        return None
    shape, whole = index.shape or (1,), self.shape
    if whole and (shape[:dim] != whole[:dim] or shape[dim + 1 :] != whole[dim + 1 :]) and _exceeds(shape, whole, dim):
        raise RuntimeError(
            f"{name}: index of shape {index.shape} must not exceed the input's {self.shape} except along dim {dim}"
        )
    if len(shape) == 1:
        return (index.reshape(shape),)
    grid = open_grid(shape)
    return (*grid[:dim], index, *grid[dim + 1 :])


def _exceeds(shape, whole, dim):
    """True if a shape is larger than another in a dimension that is not `dim`."""
    return any(n > m for d, (n, m) in enumerate(zip(shape, whole, strict=True)) if d != dim)


def gather(self, dim, index, sparse_grad=False):
    """out[i][j][k] = self[index[i][j][k]][j][k] for dim = 0, and so on; index may be smaller than self elsewhere.

    There are no sparse tensors: with `sparse_grad` too the gradient is dense.
    """
    where = along_dim(self, dim, index, "gather")
    if where is None:
        return np.empty(index.shape, self.dtype)
    if self.ndim > 1:
        if (places := places_along(self, dim % self.ndim, index)) is not None:
            return self.reshape(-1).take(places, mode="wrap")  # all are in range, and this does not look again
        return self[where]
    return (self if self.ndim else self.reshape(1))[where].reshape(index.shape)


def gather_backward(grad, shape, dim, index):
    """Zeros of the given shape, with grad added where gather took its elements from."""
    return scatter_add_(np.zeros(shape, grad.dtype), dim, index, grad)


def placed_along(grad, shape, dim, index, adds=False):
    """Zeros of the given shape with grad at an index along dim; if it adds, that may name a position several times."""
    write = scatter_add_ if adds else scatter_
    return write(np.zeros(shape, grad.dtype), dim, index, np.asarray(grad))


def scatter_source(self, index, src, name):
    """The part of src that scatter writes, as an array of index's shape; a number stays one."""
    if not isinstance(src, np.ndarray):
        check_fits(self, src, name)
        return np.asarray(src).astype(self.dtype)  # a fraction is cut down for an integer array, as on assignment
    if src.dtype != self.dtype:
        raise RuntimeError(f"{name}: src must have the dtype of the input ({self.dtype}), got {src.dtype}")
    if (src.ndim or 1) != (index.ndim or 1):
        raise RuntimeError(
            f"{name}: src and index must have the same number of dimensions, got {src.shape}, {index.shape}"
        )
    if any(n > m for n, m in zip(index.shape, src.shape, strict=False)):
        raise RuntimeError(f"{name}: index of shape {index.shape} must not exceed the shape {src.shape} of src")
    return src.reshape(src.shape or (1,))[tuple(slice(n) for n in index.shape or (1,))]


def scatter_(self, dim, index, src):
    """self[index[i][j][k]][j][k] = src[i][j][k] for dim = 0, and so on; src may be a number."""
    where = along_dim(self, dim, index, "scatter")
    if where is not None and index.size:
        src = scatter_source(self, index, src, "scatter")
        if self.ndim > 1 and (places := places_along(self, wrap_dim(dim, self.ndim, "scatter"), index)) is not None:
            self.reshape(-1)[places] = src
            return self
        write_at(self if self.ndim else self.reshape(1), where, src)
    return self


def scatter(self, dim, index, src):
    """scatter_ on a copy."""
    return scatter_(np.array(self), dim, index, src)


def scatter_value(self, dim, index, value):
    """scatter of one number."""
    return scatter_(np.array(self), dim, index, value)


REDUCTIONS = {"add": np.add, "multiply": np.multiply}


def scatter_with(self, dim, index, src, reduce):
    """A copy of self with src added to, or multiplied into, the positions that index names along dim."""
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"scatter: reduce must be 'add' or 'multiply', got {reduce!r}")
    out = np.array(self)
    where = along_dim(out, dim, index, "scatter")
    if where is not None and index.size:
        flat = out if out.ndim else out.reshape(1)
        reduce_at(REDUCTIONS[reduce], flat, where, scatter_source(out, index, src, "scatter"))
    return out


def scatter_add_(self, dim, index, src):
    """self[index[i][j][k]][j][k] += src[i][j][k] for dim = 0, and so on."""
    where = along_dim(self, dim, index, "scatter_add")
    if where is None or not index.size:
        return self
    if isinstance(src, np.generic):
        src = np.asarray(src)
    src = scatter_source(self, index, src, "scatter_add")
    if self.ndim and (places := places_along(self, wrap_dim(dim, self.ndim, "scatter_add"), index)) is not None:
        np.add.at(self.reshape(-1), places.ravel(), np.broadcast_to(src, index.shape).ravel())
        return self
    add_at(self if self.ndim else self.reshape(1), where, src)
    return self


def scatter_add(self, dim, index, src):
    """scatter_add_ on a copy."""
    return scatter_add_(np.array(self), dim, index, src)


# -- whole slices along one dimension ------------------------------------------------------------------------


def slices_at(self, dim, index, name):
    """(self, 1-d if it was 0-d; the index of the slices `index` names along dim)."""
    dim = wrap_dim(dim, self.ndim, name)
    check_integers(index, name)
    if index.ndim > 1:
        raise IndexError(f"{name}: index must be a vector, got shape {index.shape}")
    return (self if self.ndim else self.reshape(1)), at_dim(index.reshape(-1), dim)


def index_select(self, dim, index):
    """The slices of self at the positions `index` along dim, as a copy."""
    flat, where = slices_at(self, dim, index, "index_select")
    if flat.flags.c_contiguous:  # of another array numpy.take makes a copy first
        out = np.take(flat, where[-2].astype(np.intp, copy=False), len(where) - 2)
    else:
        out = np.ascontiguousarray(flat[where])
    return out if self.ndim else out.reshape(())


def index_select_backward(grad, shape, dim, index):
    """Zeros of the given shape, with the slices of grad added where index_select took them from."""
    if dim == 0 and index.ndim == 1 and (out := summed_rows(shape, index, grad)) is not None:
        return out
    out = np.zeros(shape, grad.dtype)
    flat, where = slices_at(out, dim, index, "index_select")
    add_at(flat, where, grad.reshape(-1) if out.ndim == 0 else grad)
    return out


def check_source(self, dim, index, source, name):
    """source as an array that fits self except along dim, where it has a slice for each index."""
    shape = list(self.shape)
    if shape:
        shape[wrap_dim(dim, self.ndim, name)] = index.size
    if source.shape != tuple(shape) and not (source.size == 1 == index.size and max(self.ndim, source.ndim) <= 1):
        raise RuntimeError(
            f"{name}: source must have shape {tuple(shape)} (the input's, with {index.size} along dim {dim}), "
            f"got {source.shape}"
        )
    if source.dtype != self.dtype:
        raise RuntimeError(f"{name}: source must have the dtype of the input ({self.dtype}), got {source.dtype}")
    return source.reshape(tuple(shape) or (1,))


def index_add_(self, dim, index, source, alpha=1):
    """Adds alpha times the slices of source to the slices of self at the positions `index` along dim."""
    flat, where = slices_at(self, dim, index, "index_add")
    source = check_source(self, dim, index, source, "index_add")
    if alpha != 1:
        check_fits(self, alpha, "index_add")
        source = source * alpha
    add_at(flat, where, source)
    return self


def index_add(self, dim, index, source, alpha=1):
    """index_add_ on a copy."""
    return index_add_(np.array(self), dim, index, source, alpha)


def index_copy_(self, dim, index, source):
    """Writes the slices of source over the slices of self at the positions `index` along dim."""
    flat, where = slices_at(self, dim, index, "index_copy")
    write_at(flat, where, check_source(self, dim, index, source, "index_copy"))
    return self


def index_copy(self, dim, index, source):
    """index_copy_ on a copy."""
    return index_copy_(np.array(self), dim, index, source)


def index_fill_(self, dim, index, value):
    """Writes one number over the slices of self at the positions `index` along dim."""
    flat, where = slices_at(self, dim, index, "index_fill")
    flat[where] = one_value(self, value, "index_fill")
    return self


def index_fill(self, dim, index, value):
    """index_fill_ on a copy."""
    return index_fill_(np.array(self), dim, index, value)
