"""Kernels of the area shape that arrange memory by strides (as_strided) or are the adjoint of that."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.graph.strides import storage_positions


@loops("arguments")
def storage_of(self):
    """The whole memory that self lies in, as a C-contiguous array."""
    root = self
    while isinstance(root.base, np.ndarray):
        root = root.base
    if root.flags.c_contiguous:
        return root
    # What NumPy computes from a permuted array lies in memory as that did: densely, in another order of dimensions.
    dense = root.transpose(sorted(range(root.ndim), key=lambda d: -root.strides[d]))
    if not dense.flags.c_contiguous:
        raise RuntimeError("as_strided: the memory of the input has gaps of its own; call contiguous() first")
    return dense


def offset_in(storage, self):
    """How many bytes after the beginning of storage self begins."""
    return self.__array_interface__["data"][0] - storage.__array_interface__["data"][0]


def arranged(self, shape, strides):
    """A view of the memory of self that begins where self does, with strides in bytes."""
    # numpy.lib.stride_tricks.as_strided hides the base of its result, by which views are recognised.
    storage = storage_of(self)
    out = np.ndarray(shape, self.dtype, storage, offset_in(storage, self), strides)
    if not self.flags.writeable:
        out.flags.writeable = False
    return out


def storage_geometry(self):
    """(shape, strides, offset) of self in the memory it is a view of, in elements of its own size."""
    size = self.itemsize
    return self.shape, tuple(s // size for s in self.strides), offset_in(storage_of(self), self) // size


def strided_view(self, size, stride, storage_offset, geometry):
    """Any arrangement of the memory that self lies in; NumPy refuses one that leaves that memory."""
    if len(size) != len(stride) or storage_offset < 0 or any(n < 0 for n in (*size, *stride)):
        raise RuntimeError(
            f"as_strided: size {tuple(size)} and stride {tuple(stride)} must pair up, and neither they nor "
            f"storage_offset {storage_offset} may be negative"
        )
    step, storage = self.itemsize, storage_of(self)
    if not math.prod(size):  # wherever it may lie, nothing is there
        storage_offset = 0
        stride = [0] * len(size)
    if not storage.size and math.prod(size):  # NumPy takes no bytes for any number of bytes
        raise ValueError(f"as_strided(): size {tuple(size)} reaches beyond the 0 elements of the memory.")
    return np.ndarray(size, self.dtype, storage, storage_offset * step, [n * step for n in stride])


def restride(self, source, target, counted):
    """self laid down in a storage by the geometry `source` (sums where it overlaps) and read by `target`.

    Places that the geometry `counted` (an expanded input, say) names several times are divided by their number.
    """
    come, go, often = (storage_positions(geometry) for geometry in (source, target, counted))
    count = 1 + max((int(p.max()) for p in (come, go, often) if p.size), default=0)
    storage = np.zeros(count, self.dtype)
    np.add.at(storage, come.ravel(), self.ravel())
    times = np.bincount(often.ravel(), minlength=count)
    if times.max(initial=0) > 1:
        storage = (storage / np.maximum(times, 1)).astype(self.dtype)
    return storage[go]
