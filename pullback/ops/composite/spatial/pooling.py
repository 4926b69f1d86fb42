"""Pooling with windows of one size: average, power mean, maximum, and the way back from a maximum."""

import functools
import math

import numpy as np

from pullback.arrays.numpy.spatial.maps import WindowSum
from pullback.ops.composite.spatial.arguments import batched, numbers, refuse, require_arrays


def pooled_size(name, size, kernel, stride, padding, dilation, ceil_mode):
    """The size of the result; in ceil_mode a last window may end behind the array, but begins within it."""
    out = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        out.append(count)
    if min(out) < 1:
        raise refuse(
            name,
            f"kernel_size {kernel} with dilation {dilation} and padding {padding} is too large, or stride {stride} too "
            f"wide, for input of size {tuple(size)}: the output size {tuple(out)} is too small",
        )
    return tuple(out)


def checked_windows(name, dims, input, kernel_size, stride, padding, dilation, ops):
    """(input with a batch dimension, whether it had one, kernel, stride, padding, dilation)."""
    kernel, pad = numbers(name, "kernel_size", kernel_size, dims), numbers(name, "padding", padding, dims)
    step = kernel if stride is None or stride in ((), []) else numbers(name, "stride", stride, dims)
    apart = numbers(name, "dilation", dilation, dims)
    for argument, given in (("kernel_size", kernel), ("stride", step), ("dilation", apart)):
        if min(given) <= 0:
            raise refuse(name, f"{argument} must be greater than zero, but got {given}")
    if min(pad) < 0:
        raise refuse(name, f"padding must be non-negative, but got {pad}")
    if any(p > k // 2 for p, k in zip(pad, kernel, strict=True)):
        raise refuse(name, f"padding must be at most half of the kernel, but got {pad} for kernel_size {kernel}")
    x, has_batch = batched(name, input, dims, ops)
    if 0 in x.shape[1:]:
        raise refuse(name, f"only the batch of input may be empty, but its shape is {tuple(input.shape)}")
    return x, has_batch, kernel, step, pad, apart


# -- averages --------------------------------------------------------------------------------------------------------
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, *, ops):
    """Over (N, C, L)."""
    return _averaged("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, ops)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, ops
):
    """Over (N, C, H, W)."""
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _averaged("avg_pool2d", 2, input, *how, ops)


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, ops
):
    """Over (N, C, D, H, W)."""
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _averaged("avg_pool3d", 3, input, *how, ops)


def _averaged(name, dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, ops):
    if divisor is not None and divisor == 0:
        raise refuse(name, "divisor_override must not be zero")
    x, has_batch, kernel, step, pad, _ = checked_windows(name, dims, input, kernel_size, stride, padding, 1, ops)
    size = tuple(x.shape[2:])
    out = pooled_size(name, size, kernel, step, pad, (1,) * dims, ceil_mode)
    windows = list(zip(size, kernel, step, pad, out, strict=True))
    counts = [_counted(*window, count_include_pad) for window in windows]
    whole = x.dtype.kind in "iu"
    scales = [1 if whole or divisor is not None else 1 / count for count in counts]
    maps = tuple(WindowSum(k, s, p, scale, n, m) for (n, k, s, p, m), scale in zip(windows, scales, strict=True))
    result = ops.separable_map(x, maps)
    if whole:
        result = ops.div(result, _product(counts) if divisor is None else divisor, rounding_mode="trunc")
        result = ops.to(result, x.dtype)
    elif divisor is not None:
        result = result / divisor
    return result if has_batch else ops.squeeze(result, 0)


def _counted(n, kernel, stride, padding, count, include_padding):
    """How many numbers each window has: one number where all have as many."""
    begin = np.arange(count) * stride - padding
    end = np.minimum(begin + kernel, n + padding)
    if not include_padding:
        begin, end = begin.clip(0), end.clip(max=n)
    found = end - begin
    return found if found.min() < found.max() else int(found[0])


def _product(counts):
    """The numbers in windows of several dimensions, of integers."""
    shaped = [
        c.reshape((-1,) + (1,) * (len(counts) - 1 - i)) if isinstance(c, np.ndarray) else c
        for i, c in enumerate(counts)
    ]
    return math.prod(shaped)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False, *, ops):
    """Over (N, C, L)."""
    return _power_sum("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode, ops)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False, *, ops):
    """Over (N, C, H, W)."""
    return _power_sum("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode, ops)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False, *, ops):
    """Over (N, C, D, H, W)."""
    return _power_sum("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode, ops)


def _power_sum(name, dims, input, norm_type, kernel_size, stride, ceil_mode, ops):
    require_arrays(name, input=input)
    if not isinstance(norm_type, (int, float)) or norm_type == 0:
        raise refuse(name, f"norm_type must be a number other than 0, but got {norm_type!r}")
    kernel = numbers(name, "kernel_size", kernel_size, dims)
    if abs(norm_type) == math.inf:
        sign = 1 if norm_type > 0 else -1
        return sign * _largest(name, dims, sign * ops.abs(input), kernel, stride, 0, 1, ceil_mode, False, ops)
    how = (kernel, stride, 0, ceil_mode, True, None)
    total = _averaged(name, dims, input**norm_type, *how, ops) * math.prod(kernel)
    if norm_type == 1:
        return total
    empty = ops.eq(total, 0)  # the root has no slope there; like a norm of zeros it gets 0
    zero = 0.0 * total if norm_type > 1 else 0.0  # a computed zero, no mask: before it an infinite slope gives nan
    return ops.where(empty, zero, ops.where(empty, 1.0, total) ** (1.0 / norm_type))


# -- maxima ----------------------------------------------------------------------------------------------------------
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, *, ops):
    """Over (N, C, L)."""
    how = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _largest("max_pool1d", 1, input, *how, ops)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, *, ops):
    """Over (N, C, H, W)."""
    how = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _largest("max_pool2d", 2, input, *how, ops)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, *, ops):
    """Over (N, C, D, H, W)."""
    how = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _largest("max_pool3d", 3, input, *how, ops)


def _largest(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, ops):
    x, has_batch, *how = checked_windows(name, dims, input, kernel_size, stride, padding, dilation, ops)
    out = pooled_size(name, x.shape[2:], *how, ceil_mode)
    places = tuple(np.arange(m)[:, None] * s - p + np.arange(k) * d for m, k, s, p, d in zip(out, *how, strict=True))
    values, indices = ops.windowed_max(x, places)
    inside = [((p >= 0) & (p < n)).any(1) for p, n in zip(places, x.shape[2:], strict=True)]
    if not all(one.all() for one in inside):  # a wide dilation may step over a short dimension
        values = ops.where(functools.reduce(np.logical_and.outer, inside), values, _least(x.dtype))
    return finished((values, indices), has_batch, return_indices, ops)


def _least(dtype):
    """The maximum of no numbers."""
    return -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


def finished(found, has_batch, return_indices, ops):
    """(values, indices) or values, without the batch dimension that was added."""
    found = found if has_batch else tuple(ops.squeeze(part, 0) for part in found)
    return tuple(found) if return_indices else found[0]


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None, *, ops):
    """Over (N, C, L)."""
    return _unpooled("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size, ops)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None, *, ops):
    """Over (N, C, H, W)."""
    return _unpooled("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size, ops)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None, *, ops):
    """Over (N, C, D, H, W)."""
    return _unpooled("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size, ops)


def _unpooled(name, dims, input, indices, kernel_size, stride, padding, output_size, ops):
    kernel, pad = numbers(name, "kernel_size", kernel_size, dims), numbers(name, "padding", padding, dims)
    step = kernel if stride is None or stride in ((), []) else numbers(name, "stride", stride, dims)
    batched(name, input, dims, ops)
    require_arrays(name, indices=indices)
    if tuple(indices.shape) != tuple(input.shape):
        raise refuse(name, f"indices must have the shape of input, {tuple(input.shape)}, not {tuple(indices.shape)}")
    if indices.dtype.kind not in "iu":
        raise refuse(name, f"indices must be integers, but have the dtype {indices.dtype}")
    if min(step) <= 0:
        raise refuse(name, f"stride must be greater than zero, but got {step}")
    usual = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], step, pad, kernel, strict=True))
    size = usual if output_size is None else tuple(output_size)[-dims:]
    fits = len(size) == dims and all(u - s < n < u + s for n, u, s in zip(size, usual, step, strict=True))
    if not fits:
        raise ValueError(f"{name}(): output_size {tuple(output_size)} must be within a stride {step} of {usual}.")
    return ops.put_pooled(input, indices, size)
