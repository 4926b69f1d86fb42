"""Kernels of the area shape that give parts of an array: slices, pieces, diagonals. All but adjoints are views."""

from operator import index as as_int

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.dims import at_dim, same_memory_view
from pullback.core.dims import wrap_dim


def select(self, dim, index):
    """The slice at position index of dimension dim, without that dimension."""
    if self.ndim == 0:
        raise IndexError("select: a 0-d input has no dimension to select from")
    return self[at_dim(as_int(index), wrap_dim(dim, self.ndim, "select"))]


def narrow(self, dim, start, length):
    """Positions start to start + length of dimension dim."""
    if self.ndim == 0:
        raise RuntimeError("narrow: a 0-d input has no dimension to narrow")
    dim = wrap_dim(dim, self.ndim, "narrow")
    start = narrow_start(start)
    size = self.shape[dim]
    if length < 0:
        raise RuntimeError(f"narrow: length must not be negative, got {length}")
    if not -size <= start <= size:
        raise IndexError(f"narrow: start {start} is out of range for size {size}; expected {-size} to {size}")
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"narrow: start {start} + length {length} exceeds size {size} of dimension {dim}")
    return self[at_dim(slice(start, start + length), dim)]


def narrow_start(start):
    """`start` of narrow as an int: an integer, or an integer array without dimensions."""
    if hasattr(start, "dtype") and (start.ndim or start.dtype.kind not in "iu"):
        raise RuntimeError(f"narrow: start must be a 0-d integer, got shape {start.shape}, dtype {start.dtype}")
    return as_int(start)


def diagonal(self, offset=0, dim1=0, dim2=1):
    """The diagonals over dim1 and dim2, as the last dimension of a view."""
    if wrap_dim(dim1, self.ndim, "diagonal") == wrap_dim(dim2, self.ndim, "diagonal"):
        raise RuntimeError(f"diagonal: dim1 and dim2 must differ, got {dim1} and {dim2}")
    # Beyond the edges all are empty; NumPy's own arithmetic overflows there, and then reads foreign memory.
    offset = max(-self.shape[dim1], min(as_int(offset), self.shape[dim2])) if self.ndim > 1 else offset
    out = self.diagonal(offset, dim1, dim2)
    if self.flags.writeable:
        out.flags.writeable = True  # NumPy hands diagonals out read-only, though no element occurs twice
    return out


def diagonal_backward(grad, shape, offset, dim1, dim2):
    """Zeros of the given shape with grad on the diagonals."""
    out = np.zeros(shape, grad.dtype)
    diagonal(out, offset, dim1, dim2)[...] = grad
    return out


def split(self, split_size, dim=0):
    """Consecutive views along dim: of split_size (the last may be smaller), or of the sizes in a list."""
    if isinstance(split_size, (tuple, list)):
        return split_with_sizes(self, split_size, dim)
    if self.ndim == 0:
        raise RuntimeError("split: a 0-d input has no dimension to split")
    dim = wrap_dim(dim, self.ndim, "split")
    size, step = self.shape[dim], as_int(split_size)
    if step < 0 or (step == 0 and size):
        raise RuntimeError(f"split: split_size must be positive, got {split_size}")
    if size == 0:
        return (same_memory_view(self),)
    if dim == 0:
        return tuple([self[i : i + step] for i in range(0, size, step)])
    before = (slice(None),) * dim
    return tuple([self[(*before, slice(i, i + step))] for i in range(0, size, step)])


@loops("arguments")
def split_with_sizes(self, split_sizes, dim=0):
    """Consecutive views along dim, of the given sizes, which must add up to the whole."""
    if self.ndim == 0:
        raise RuntimeError("split_with_sizes: a 0-d input has no dimension to split")
    dim = wrap_dim(dim, self.ndim, "split_with_sizes")
    if sum(split_sizes) != self.shape[dim] or any(n < 0 for n in split_sizes):
        raise RuntimeError(
            f"split_with_sizes: sizes {tuple(split_sizes)} must not be negative and must add up to "
            f"{self.shape[dim]}, the size of dimension {dim}"
        )
    before = (slice(None),) * dim
    parts, start = [], 0
    for n in split_sizes:
        parts.append(self[(*before, slice(start, start + n))])
        start += n
    return tuple(parts)


def chunk(self, chunks, dim=0):
    """At most `chunks` consecutive views of equal size along dim (the last may be smaller)."""
    if self.ndim == 0:
        raise RuntimeError("chunk: a 0-d input has no dimension to cut")
    if chunks < 1:
        raise RuntimeError(f"chunk: chunks must be at least 1, got {chunks}")
    size = self.shape[wrap_dim(dim, self.ndim, "chunk")]
    if size == 0:  # every chunk is empty, and there are as many as asked for
        return split_with_sizes(self, (0,) * chunks, dim)
    return split(self, -(-size // chunks), dim)


def unbind(self, dim=0):
    """The slices along dim, each without that dimension."""
    if self.ndim == 0:
        raise IndexError("unbind: a 0-d input has no dimension to unbind")
    before = (slice(None),) * wrap_dim(dim, self.ndim, "unbind")
    return tuple(self[(*before, i, ...)] for i in range(self.shape[dim]))
