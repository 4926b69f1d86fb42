"""Composite operators that read and write by index."""

from pullback.ops.composite.indexing.by_tensors import has_tensors, written_at
from pullback.ops.index import plain_index, warn_of_bytes


def index_put(self, indices, values, accumulate=False, *, ops):
    """A copy of self with values at (or added to) the positions that index tensors name; None is a whole dimension."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put: indices must be a tuple of index tensors, got {type(indices).__name__}")
    warn_of_bytes(self, tuple(indices))
    index = plain_index(tuple(slice(None) if i is None else i for i in indices))
    if has_tensors(index):
        return written_at(self, index, values, accumulate, ops=ops)
    return ops._index_put(self, index, values, accumulate)


def take_along_dim(self, indices, dim=None, *, ops):
    """gather, with self and indices broadcast against each other except along dim; the flattened self without dim."""
    if dim is None:
        return ops.gather(ops.reshape(self, (-1,)), 0, ops.reshape(indices, (-1,)))
    ndim = self.ndim
    if indices.ndim != ndim or not -ndim <= dim < ndim:
        raise RuntimeError(
            f"take_along_dim: dim must be in range and indices must have the same number of dimensions as the input; "
            f"got dim {dim} and shapes {tuple(self.shape)}, {tuple(indices.shape)}"
        )
    dim %= ndim
    ours, theirs = list(self.shape), list(indices.shape)
    for d, (n, m) in enumerate(zip(self.shape, indices.shape, strict=True)):
        if d != dim:
            ours[d] = theirs[d] = m if n == 1 else n
    return ops.gather(ops.expand(self, ours), dim, ops.expand(indices, theirs))


def nonzero(self, *, as_tuple=False, ops):
    """Where self is not zero: a matrix with a row for each position, or one vector for each dimension."""
    if not as_tuple:
        return ops.argwhere(self)
    return tuple(ops.unbind(ops.argwhere(self if self.ndim else ops.reshape(self, (1,))), 1))


def select_scatter(self, src, dim, index, *, ops):
    """A copy of self with src at position index of dimension dim."""
    if not -self.ndim <= dim < self.ndim:
        raise IndexError(f"select_scatter: dim {dim} is out of range for an input of {self.ndim} dimensions")
    return written(self, src, (*(slice(None),) * (dim % self.ndim), index, ...), "select_scatter", ops)


def slice_scatter(self, src, dim=0, start=None, end=None, step=1, *, ops):
    """A copy of self with src at the positions start:end:step of dimension dim."""
    if not -self.ndim <= dim < self.ndim or step < 1:
        raise RuntimeError(
            f"slice_scatter: dim {dim} must be in range and step {step} positive; the input has {self.ndim} dimensions"
        )
    return written(self, src, (*(slice(None),) * (dim % self.ndim), slice(start, end, step), ...), "slice_scatter", ops)


def written(self, src, index, name, ops):
    """A copy of self with src at a basic index, whose shape src must have."""
    expected = tuple(ops.slice_view(self, index).shape)
    if tuple(src.shape) != expected:
        raise RuntimeError(
            f"{name}: src must have the shape {expected} of the part it replaces, got {tuple(src.shape)}"
        )
    return ops.setitem(self, index, src)


def msort(self, *, ops):
    """self sorted along its first dimension."""
    return ops.sort(self, 0)[0]
