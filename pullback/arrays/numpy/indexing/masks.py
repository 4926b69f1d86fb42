"""Kernels of the area indexing that read and write where a mask is True."""

import numpy as np

from pullback.arrays.numpy.fast.choices import SMALL, blendable
from pullback.arrays.numpy.indexing.subscripts import check_fits
from pullback.arrays.numpy.pointwise.selecting import where


def one_value(self, value, name):
    """`value` if it is a single number that fits into self."""
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"{name}: value must be a number or a 0-d Tensor, got shape {value.shape}")
    check_fits(self, value, name)
    return value


def check_mask(mask, name):
    """Refuses a mask of another dtype than bool."""
    if mask.dtype.kind != "b":
        raise RuntimeError(f"{name}: mask must hold booleans, got {mask.dtype}")


def masked_fill_(self, mask, value):
    """Writes one number where mask, broadcast to self, is True."""
    check_mask(mask, "masked_fill")
    np.copyto(self, one_value(self, value, "masked_fill"), where=mask, casting="unsafe")
    return self


def masked_fill(self, mask, value):
    """self, broadcast with mask, with one number where mask is True."""
    check_mask(mask, "masked_fill")
    if mask.shape == self.shape:
        if self.size > SMALL and type(value) in (int, float) and blendable(mask, value, self):
            return where(mask, value, self)
        return masked_fill_(np.array(self), mask, value)
    shape = np.broadcast_shapes(self.shape, mask.shape)
    return masked_fill_(np.array(np.broadcast_to(self, shape), order="C"), mask, value)


def masked_select(self, mask):
    """The elements of self where mask is True (the two broadcast), as a vector."""
    check_mask(mask, "masked_select")
    if mask.shape != self.shape:
        self, mask = np.broadcast_arrays(self, mask)
    if mask.size > SMALL:  # a seventh of the time of self[mask] where the mask has no pattern
        return self.reshape(-1).compress(mask.reshape(-1))
    return np.asarray(self)[mask]


def masked_select_backward(grad, shape, mask):
    """Zeros of the shape of mask broadcast with `shape`, and grad where mask is True."""
    mask = np.broadcast_to(mask, np.broadcast_shapes(shape, mask.shape))
    out = np.zeros(mask.shape, grad.dtype)
    if mask.size > SMALL:
        out.reshape(-1)[np.flatnonzero(mask)] = grad
    else:
        out[mask] = grad
    return out


def masked_scatter_(self, mask, source):
    """Writes the elements of source, in order, where mask (broadcast to self) is True."""
    check_mask(mask, "masked_scatter")
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"masked_scatter: source must have the dtype of the input ({self.dtype}), got {source.dtype}"
        )
    mask = np.broadcast_to(mask, self.shape)
    count = int(np.count_nonzero(mask))
    if source.size < count:
        raise RuntimeError(f"masked_scatter: mask has {count} True elements but source only {source.size}")
    self[mask] = source.reshape(-1)[:count]
    return self


def masked_scatter(self, mask, source):
    """masked_scatter_ on a copy of self, broadcast with mask."""
    return masked_scatter_(np.array(np.broadcast_to(self, np.broadcast_shapes(self.shape, mask.shape))), mask, source)
