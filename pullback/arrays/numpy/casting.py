"""Casts and copies."""

import numpy as np

__all__ = ["clone", "copy", "fill", "fill_", "to", "zero", "zero_"]


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
    src = np.asarray(src)
    try:
        return np.broadcast_to(to(src, self.dtype), np.shape(self))
    except ValueError:
        raise ValueError(
            f"values of shape {src.shape} do not fit into shape {np.shape(self)}, which writing in place cannot change"
        ) from None


def fill_(self, value):
    """Writes one number everywhere; a Tensor's is converted to the dtype, a Python number must not be complex."""
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"fill: value must be a number or a 0-d Tensor, got shape {value.shape}")
    if isinstance(value, complex) and self.dtype.kind not in "cb":
        raise RuntimeError(f"fill: the complex number {value} cannot be stored in {self.dtype}")
    self[...] = to(np.asarray(value), self.dtype)
    return self


def fill(self, value):
    """The shape and dtype of `self`, filled with one number."""
    return fill_(np.empty(np.shape(self), self.dtype), value)


def zero_(self):
    """Writes 0 everywhere."""
    self[...] = 0
    return self


def zero(self):
    """Zeros of the shape and dtype of `self`."""
    return np.zeros(np.shape(self), self.dtype)
