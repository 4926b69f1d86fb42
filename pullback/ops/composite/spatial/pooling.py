"""Pooling with windows of one size: average, power mean, maximum, and the way back from a maximum."""

import functools
import math

import numpy as np

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
    """Average pooling over (N, C, L)."""
    return _averaged("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, ops)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, ops
):
    """Average pooling over (N, C, H, W)."""
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _averaged("avg_pool2d", 2, input, *how, ops)


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, ops
):
    """Average pooling over (N, C, D, H, W)."""
    how = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _averaged("avg_pool3d", 3, input, *how, ops)


def _averaged(name, dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, ops):
    if divisor is not None and divisor == 0:
        raise refuse(name, "divisor_override must not be zero")
    x, has_batch, kernel, step, pad, _ = checked_windows(name, dims, input, kernel_size, stride, padding, 1, ops)
    size = tuple(x.shape[2:])
    out = pooled_size(name, size, kernel, step, pad, (1,) * dims, ceil_mode)
    whole = x.dtype.kind in "iu"
    counted = None if whole or divisor is not None else "padded" if count_include_pad else "inside"
    windows = tuple(zip(size, out, kernel, step, pad, strict=True))
    result = ops.separable_map(x, tuple(("sum", *window, counted) for window in windows))
    if whole and divisor is None:
        for i, window in enumerate(reversed(windows)):  # one after the other, which truncates as their product does
            counts = ops.reshape(_counts(*window, count_include_pad, ops), (-1, *(1,) * i))
            result = ops.div(result, counts, rounding_mode="trunc")
        result = ops.to(result, x.dtype)
    elif whole:
        result = ops.to(ops.div(result, divisor, rounding_mode="trunc"), x.dtype)
    elif divisor is not None:
        result = result / divisor
    return result if has_batch else ops.squeeze(result, 0)


def _counts(n, m, kernel, stride, padding, include_padding, ops):
    """How many numbers each window has."""
    begin = ops.arange(m) * stride - padding
    end = ops.clamp(begin + kernel, None, n + padding)
    return end - begin if include_padding else ops.clamp(end, None, n) - ops.clamp(begin, 0)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False, *, ops):
    """Power-average pooling over (N, C, L)."""
    return _power_sum("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode, ops)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False, *, ops):
    """Power-average pooling over (N, C, H, W)."""
    return _power_sum("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode, ops)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False, *, ops):
    """Power-average pooling over (N, C, D, H, W)."""
    return _power_sum("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode, ops)


def _power_sum(name, dims, input, norm_type, kernel_size, stride, ceil_mode, ops):
    require_arrays(name, input=input)
    if not issubclass(type(norm_type), (int, float)) or norm_type == 0:
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
    """Max pooling over (N, C, L)."""
    how = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _largest("max_pool1d", 1, input, *how, ops)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, *, ops):
    """Max pooling over (N, C, H, W)."""
    how = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _largest("max_pool2d", 2, input, *how, ops)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, *, ops):
    """Max pooling over (N, C, D, H, W)."""
    how = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _largest("max_pool3d", 3, input, *how, ops)


def _largest(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, ops):
    x, has_batch, *how = checked_windows(name, dims, input, kernel_size, stride, padding, dilation, ops)
    out = pooled_size(name, x.shape[2:], *how, ceil_mode)
    windows = tuple(zip(out, *how, strict=True))
    values, indices = ops.windowed_max(x, windows)
    for i, (n, window) in enumerate(zip(reversed(x.shape[2:]), reversed(windows), strict=True)):
        if not _all_inside(n, *window):
            inside = ops.reshape(_has_inside(n, *window, ops), (-1, *(1,) * i))
            values = ops.where(inside, values, _least(x.dtype))
    return finished((values, indices), has_batch, return_indices, ops)


@functools.lru_cache(maxsize=128)
def _all_inside(n, count, kernel, stride, padding, dilation):
    """True if every window has a place inside: a wide dilation may step over a short dimension."""
    return all(
        -(min(at, 0) // dilation) < kernel and at - min(at, 0) // dilation * dilation < n
        for at in range(-padding, count * stride - padding, stride)
    )


def _has_inside(n, count, kernel, stride, padding, dilation, ops):
    """Which of the windows do: whose first place that is not before the dimension is not behind it."""
    begin = ops.arange(count) * stride - padding
    steps = -ops.floor_divide(ops.clamp(begin, None, 0), dilation)
    return ops.logical_and(ops.lt(steps, kernel), ops.lt(begin + steps * dilation, n))


def _least(dtype):
    """The maximum of no numbers."""
    return -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


def finished(found, has_batch, return_indices, ops):
    """(values, indices) or values, without the batch dimension that was added."""
    found = found if has_batch else tuple(ops.squeeze(part, 0) for part in found)
    return tuple(found) if return_indices else found[0]


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None, *, ops):
    """Max unpooling over (N, C, L)."""
    return _unpooled("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size, ops)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None, *, ops):
    """Max unpooling over (N, C, H, W)."""
    return _unpooled("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size, ops)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None, *, ops):
    """Max unpooling over (N, C, D, H, W)."""
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
