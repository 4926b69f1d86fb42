"""Composite operators that change shape."""

from itertools import pairwise
from math import prod

from pullback.core.dims import wrap_dim
from pullback.ops.composite.checks import require_arrays

_CHANNELS_LAST = {"channels_last": 3, "channels_last_3d": 4}  # where the channels come to be last
MANY_PARTS = 1_000_000  # of which all but a few would be empty


def view_as(self, other, *, ops):
    """self as a view with the shape of other."""
    return ops.view(self, other.shape)


def reshape_as(self, other, *, ops):
    """self reshaped to the shape of other."""
    return ops.reshape(self, other.shape)


def expand_as(self, other, *, ops):
    """self expanded to the shape of other."""
    return ops.expand(self, other.shape)


def broadcast_to(self, size, *, ops):
    """self expanded to a shape."""
    return ops.expand(self, size)


def contiguous(self, *, memory_format="contiguous_format", ops):
    """self itself if its elements lie in C order without gaps, else a copy that does; with preserve_format, itself."""
    if memory_format in _CHANNELS_LAST:
        last = _CHANNELS_LAST[memory_format]
        if self.ndim != last + 1:
            raise RuntimeError(
                f"required rank {last + 1} tensor to use {memory_format} format: contiguous got shape "
                f"{tuple(self.shape)}"
            )
        turned = ops.permute(self, (0, *range(2, last + 1), 1))
        if ops.is_contiguous(turned):
            return self
        return ops.permute(ops.clone(turned, memory_format="contiguous_format"), (0, last, *range(1, last)))
    if memory_format not in ("contiguous_format", "preserve_format"):
        raise RuntimeError(
            f"contiguous: memory_format is pullback.contiguous_format, preserve_format, channels_last or "
            f"channels_last_3d, got {memory_format!r}"
        )
    if memory_format == "preserve_format" or ops.is_contiguous(self):
        return self
    return ops.clone(self, memory_format="contiguous_format")


def ravel(self, *, ops):
    """self as a vector."""
    return ops.reshape(self, (-1,))


def flatten(self, start_dim=0, end_dim=-1, *, ops):
    """self with the dimensions start_dim to end_dim (included) made one; self itself, if that is one already."""
    require_arrays("flatten", input=self)
    ndim, shape = self.ndim, tuple(self.shape)
    start, end = wrap_dim(start_dim, ndim, "flatten"), wrap_dim(end_dim, ndim, "flatten")
    if start > end:
        raise RuntimeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    if start == end and ndim:
        return self
    return ops.reshape(self, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def unflatten(self, dim, sizes, *, ops):
    """Dimension dim split into several, of the given sizes; one of them may be -1."""
    ndim = self.ndim
    if not -ndim <= dim < ndim:
        raise IndexError(f"unflatten: dim {dim} is out of range for an input of {ndim} dimensions")
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must not be empty")
    dim, shape = dim % ndim, tuple(self.shape)
    sizes, known = tuple(sizes), 1
    for n in sizes:
        known *= 1 if n == -1 else n
    if sizes.count(-1) == 1 and known:  # worked out here, since another dimension of size 0 would leave it open
        sizes = tuple(shape[dim] // known if n == -1 else n for n in sizes)
        known *= shape[dim] // known
    if -1 in sizes or known != shape[dim]:
        raise RuntimeError(f"unflatten: sizes {sizes} do not multiply to {shape[dim]}, the size of dimension {dim}")
    return ops.view(self, shape[:dim] + sizes + shape[dim + 1 :])


def mT(self, *, ops):
    """The transposes of matrices: the last two dimensions exchanged."""
    if self.ndim < 2:
        raise RuntimeError(f"mT: expected at least 2 dimensions, got shape {tuple(self.shape)}")
    return ops.transpose(self, -2, -1)


def mH(self, *, ops):
    """The conjugate transposes of matrices: a view of a real input, a copy of a complex one."""
    return ops.conj(mT(self, ops=ops))


def adjoint(self, *, ops):
    """The conjugate transposes of matrices."""
    return mH(self, ops=ops)


def matrix_H(self, *, ops):
    """The conjugate transpose of one matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"H: expected a matrix, got shape {tuple(self.shape)}; use mH for batches of matrices")
    return ops.conj(ops.t(self))


def as_strided(self, size, stride, storage_offset=None, *, ops):
    """A view of the memory of self with any size, stride and offset, counted in elements."""
    geometry = ops._storage_geometry(self)
    return ops._strided_view(self, size, stride, geometry[2] if storage_offset is None else storage_offset, geometry)


def tensor_split(self, indices_or_sections, dim=0, *, ops):
    """Views along dim: so many of nearly equal size, or between the given positions."""
    if self.ndim == 0:
        raise RuntimeError("tensor_split: a 0-d input has no dimension to split")
    size = self.shape[dim]
    cuts = indices_or_sections.tolist() if hasattr(indices_or_sections, "tolist") else indices_or_sections
    if not isinstance(cuts, (tuple, list)):
        if not isinstance(cuts, int) and not hasattr(cuts, "__index__"):
            raise TypeError(f"tensor_split: the number of sections must be an int, got {cuts!r}")
        if cuts < 1:
            raise RuntimeError(f"tensor_split: the number of sections must be positive, got {cuts}")
        if cuts > max(size, MANY_PARTS):
            raise RuntimeError(f"tensor_split: {cuts} sections of dimension {dim}, whose size is {size}, are too many")
        each, more = divmod(size, cuts)
        cuts = [i * each + min(i, more) for i in range(1, cuts)]
    elif not all(isinstance(cut, int) or hasattr(cut, "__index__") for cut in cuts):
        raise TypeError(
            f"tensor_split: indices_or_sections must be a number of sections or a list of whole positions, got {cuts}"
        )
    before = (slice(None),) * (dim % self.ndim)
    pieces = (slice(start, end) for start, end in pairwise([None, *cuts, None]))
    return tuple(ops.slice_view(self, (*before, piece)) for piece in pieces)


def fliplr(self, *, ops):
    """The order of columns (dimension 1) reversed."""
    if self.ndim < 2:
        raise RuntimeError(f"fliplr: expected at least 2 dimensions, got shape {tuple(self.shape)}")
    return ops.flip(self, (1,))


def flipud(self, *, ops):
    """The order of rows (dimension 0) reversed."""
    if self.ndim < 1:
        raise RuntimeError("flipud: expected at least 1 dimension, got a 0-d input")
    return ops.flip(self, (0,))


def tile(self, dims, *, ops):
    """self repeated along its last len(dims) dimensions."""
    dims = tuple(dims)
    return ops.repeat(self, (1,) * (self.ndim - len(dims)) + dims)


def broadcast_tensors(tensors, *, ops):
    """All inputs expanded to their common shape."""
    shape = common_shape([tuple(x.shape) for x in tensors])
    return tuple(ops.expand(x, shape) for x in tensors)


def common_shape(shapes):
    """The shape that several broadcast to."""
    ndim = max((len(s) for s in shapes), default=0)
    common = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, ndim - len(shape)):
            if n != 1 and common[i] not in (1, n):
                raise RuntimeError(f"broadcast_tensors: the shapes {', '.join(map(str, shapes))} do not broadcast")
            common[i] = n if n != 1 else common[i]
    return tuple(common)


def atleast_1d(self, *, ops):
    """self, with one dimension if it had none."""
    return ops.reshape(self, (1,)) if self.ndim == 0 else self


def atleast_2d(self, *, ops):
    """self, with leading dimensions of size 1 up to two."""
    if self.ndim >= 2:
        return self
    return ops.reshape(self, (1, 1) if self.ndim == 0 else (1, *self.shape))


def atleast_3d(self, *, ops):
    """self with at least three dimensions: a vector becomes (1, n, 1), a matrix (m, n, 1)."""
    if self.ndim >= 3:
        return self
    shape = tuple(self.shape)
    return ops.reshape(self, ((1, 1, 1), (1, *shape, 1), (*shape, 1))[self.ndim])


def atleast_1d_Sequence(tensors, *, ops):
    """atleast_1d of each input."""
    return tuple(atleast_1d(x, ops=ops) for x in tensors)


def atleast_2d_Sequence(tensors, *, ops):
    """atleast_2d of each input."""
    return tuple(atleast_2d(x, ops=ops) for x in tensors)


def atleast_3d_Sequence(tensors, *, ops):
    """atleast_3d of each input."""
    return tuple(atleast_3d(x, ops=ops) for x in tensors)
