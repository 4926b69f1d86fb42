"""Casts and copies."""

import sys
import warnings

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.core.errors import ComplexToRealWarning


def to_copy(self, dtype, memory_format=None):
    """A copy of `self` in a dtype, in its order of memory or C order."""
    return _in_dtype(self, np.dtype(dtype)).astype(dtype, order=_order(self, memory_format))


def clone(self, memory_format=None):
    """A copy that shares memory with nobody."""
    if memory_format is None and 0 not in self.strides:
        return np.array(self)  # in its own order, which to ask for takes as long as a small copy
    return np.array(self, order=_order(self, memory_format))


def copy(self, src):
    """`src` broadcast to the shape of `self`, in its dtype."""
    src = np.asarray(src)
    try:
        return np.broadcast_to(_in_dtype(src, self.dtype).astype(self.dtype, copy=False), np.shape(self))
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
    value = np.asarray(value)
    self[...] = _in_dtype(value, self.dtype).astype(self.dtype)
    return self


def fill(self, value):
    """The shape and dtype of `self`, filled with one number."""
    return fill_(np.empty(np.shape(self), self.dtype), value)


def fill_diagonal(self, fill_value, wrap=False):
    """A copy of `self` with one number where all indices are equal; if `wrap`, again below in a tall matrix."""
    lengths = set(self.shape)
    if self.ndim < 2 or (self.ndim > 2 and len(lengths) > 1):
        raise RuntimeError(f"fill_diagonal_: input must be a matrix or a cube of any dimension, got shape {self.shape}")
    if isinstance(fill_value, complex) and self.dtype.kind not in "cb":
        raise RuntimeError(f"fill_diagonal_: the complex number {fill_value} cannot be stored in {self.dtype}")
    out = np.array(self, order="C", copy=True)
    np.fill_diagonal(out, fill_value, wrap)
    return out


def zero_(self):
    """Write 0 into every element, in place."""
    self[...] = 0
    return self


def zero(self):
    """Zeros of the shape and dtype of `self`."""
    return np.zeros(np.shape(self), self.dtype)


def _order(array, memory_format):
    """NumPy's order for a copy of `array`: its own, but C order where one memory stands for several elements."""
    if memory_format == "contiguous_format":
        return "C"
    if memory_format is not None and memory_format != "preserve_format":
        raise TypeError(
            "memory_format must be pullback.preserve_format (the default) or pullback.contiguous_format, got "
            f"{memory_format!r}; x.contiguous(memory_format=pullback.channels_last) puts channels last."
        )
    if 0 in array.strides and any(not s and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
        return "C"
    return "K"


def _in_dtype(array, dtype):
    """`array`, its real part where only that fits into `dtype`, with a warning."""
    if array.dtype.kind != "c" or dtype.kind in "cb":
        return array
    warnings.warn(
        f"Casting complex values to real discards the imaginary part: {array.dtype} becomes {dtype}. Write .real (or "
        "abs()) to say which real number is meant.",
        ComplexToRealWarning,
        stacklevel=_outside(),
    )
    return array.real


@loops("arguments")
def _outside():
    """How far up the stack the first frame outside this package is, for a warning raised by the caller."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pullback."):
        frame, depth = frame.f_back, depth + 1
    return depth
