"""Casts and copies."""

import numpy as np

__all__ = ["clone", "copy", "to"]


def to(self, dtype):
    """`self` in another dtype; itself if it has it already."""
    dtype = np.dtype(dtype)
    if self.dtype.kind == "c" and dtype.kind not in "cb":
        self = self.real  # the imaginary part is dropped, as PyTorch does; NumPy would warn
    return np.asarray(self).astype(dtype, copy=False)


def clone(self):
    """A copy that shares memory with nobody."""
    return np.array(self)


def copy(self, src):
    """`src` broadcast to the shape of `self`, in its dtype."""
    return np.broadcast_to(to(np.asarray(src), self.dtype), np.shape(self))
