"""Sliding windows as columns of a matrix, and their adjoint, which adds the columns where the windows overlap.

Loops run over the places inside a window, or over the windows, whichever are fewer; the rest is NumPy's.
"""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops


def count_windows(size, kernel, stride, dilation):
    """How many windows fit into each dimension."""
    return tuple(
        max((n - d * (k - 1) - 1) // s + 1, 0) for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)
    )


def constant_pad_nd(self, pad, value=0):
    """self with `value` before and behind its last dimensions, the last one first; negative numbers cut off."""
    if len(pad) % 2:
        raise RuntimeError(f"pad must have two numbers for each dimension, got {list(pad)}")
    pairs = [(0, 0)] * (self.ndim - len(pad) // 2) + [tuple(pad[i : i + 2]) for i in range(len(pad) - 2, -1, -2)]
    if any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(self.shape, pairs, strict=True)):
        raise RuntimeError(f"the padding {list(pad)} would cut off more than the input of shape {self.shape} has")
    return padded(self, pairs, value)


def padded(self, pairs, value=0):
    """The same for a pair (before, behind) a dimension, which may also cut off everything and more."""
    shape = tuple(n + before + after for n, (before, after) in zip(self.shape, pairs, strict=True))
    kept = self[tuple(slice(max(-a, 0), n + min(b, 0)) for n, (a, b) in zip(self.shape, pairs, strict=True))]
    if kept.shape == shape:
        return kept.copy()
    out = np.zeros(shape, self.dtype) if value == 0 else np.full(shape, value, self.dtype)
    if kept.size:
        out[tuple(slice(max(a, 0), max(a, 0) + n) for n, (a, _) in zip(kept.shape, pairs, strict=True))] = kept
    return out


def widened(x, padding):
    """x with zeros on both sides of its last dimensions; x itself where there are none to add."""
    return padded(x, [(0, 0)] * (x.ndim - len(padding)) + [(n, n) for n in padding]) if any(padding) else x


def windows(x, kernel, stride, dilation):
    """A view (..., *kernel, *out) of x (..., *size): at each place of the kernel, what all windows have there."""
    lead = x.ndim - len(kernel)
    inside = tuple(step * d for step, d in zip(x.strides[lead:], dilation, strict=True))
    between = tuple(step * s for step, s in zip(x.strides[lead:], stride, strict=True))
    shape = (*x.shape[:lead], *kernel, *count_windows(x.shape[lead:], kernel, stride, dilation))
    return np.lib.stride_tricks.as_strided(x, shape, (*x.strides[:lead], *inside, *between), writeable=False)


@loops("window")
def add_windows(total, columns, stride, dilation):
    """Add columns (..., *kernel, *out) to total (..., *size), where `windows` would have read them."""
    if columns.size == 0:
        return
    dims = len(stride)
    kernel, out, all_of = columns.shape[-2 * dims : -dims], columns.shape[-dims:], (slice(None),) * dims
    by_place = math.prod(kernel) <= math.prod(out)
    far, near, counts = (dilation, stride, out) if by_place else (stride, dilation, kernel)
    for at in np.ndindex(*(kernel if by_place else out)):
        starts = [i * step for i, step in zip(at, far, strict=True)]
        place = [slice(i, i + step * (n - 1) + 1, step) for i, step, n in zip(starts, near, counts, strict=True)]
        total[(..., *place)] += columns[(..., *at, *all_of) if by_place else (..., *all_of, *at)]


def im2col(self, kernel_size, dilation, padding, stride):
    """(N, C, H, W) -> (N, C * places in the kernel, windows)."""
    found = windows(widened(self, padding), kernel_size, stride, dilation)
    rows = self.shape[1] * math.prod(kernel_size)
    out = found.reshape(self.shape[0], rows, math.prod(found.shape[-len(kernel_size) :]))
    return out if out.flags.writeable and not np.may_share_memory(out, self) else out.copy()


def col2im(self, output_size, kernel_size, dilation, padding, stride):
    """The adjoint of im2col: (N, C * places in the kernel, windows) -> (N, C, H, W), summed where windows overlap."""
    size = tuple(n + 2 * p for n, p in zip(output_size, padding, strict=True))
    out = count_windows(size, kernel_size, stride, dilation)
    channels = self.shape[1] // math.prod(kernel_size)
    total = np.zeros((self.shape[0], channels, *size), self.dtype)
    add_windows(total, self.reshape(self.shape[0], channels, *kernel_size, *out), stride, dilation)
    return total[(..., *(slice(p, p + n) for n, p in zip(output_size, padding, strict=True)))]
