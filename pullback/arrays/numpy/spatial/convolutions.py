"""Convolution on BLAS: windows copied to columns, block by block, each block one matrix product.

The three kernels are the three partial derivatives of one trilinear form, sum(y * convolution(x, w)). Shapes are
x (N, C, *size), w (O, C / groups, *kernel), y (N, O, *out).
"""

import math

import numpy as np

from pullback.arrays.numpy.spatial.columns import add_windows, count_windows, widened, windows

__all__ = ["convolution", "convolution_input", "convolution_weight"]

BLOCK = 1 << 22  # bytes of columns at a time: large enough for BLAS, small enough for the cache


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The sums of the products of weight and the windows of input; or (transposed) the adjoint of that in input."""
    if transposed:
        sizes = zip(input.shape[2:], weight.shape[2:], stride, padding, dilation, output_padding, strict=True)
        size = tuple((n - 1) * s - 2 * p + d * (k - 1) + more + 1 for n, k, s, p, d, more in sizes)
        out = convolution_input(input, weight, size, stride, padding, dilation, groups)
    else:
        out = _correlated(widened(input, padding), weight, stride, dilation, groups)
    if bias is None:
        return out
    per_channel = bias.reshape(-1, *(1,) * (out.ndim - 2))
    return np.add(out, per_channel, out=out) if bias.dtype == out.dtype else out + per_channel


def _correlated(x, weight, stride, dilation, groups):
    """convolution of what has its padding already."""
    count, kernel = len(x), weight.shape[2:]
    size = count_windows(x.shape[2:], kernel, stride, dilation)
    out = np.empty((count, weight.shape[0], *size), np.result_type(x, weight))
    matrices = weight.reshape(groups, weight.shape[0] // groups, -1)
    for items, lines in blocks(x, weight, size):
        columns = columns_of(x, kernel, size, stride, dilation, groups, items, lines)
        # as_matrices gives a view of the block: its lines and what is behind them lie side by side
        np.matmul(matrices, columns, out=as_matrices(out, groups, items, lines))
    return out


def convolution_input(grad_output, weight, size, stride, padding, dilation, groups):
    """The adjoint of convolution in its input of that size, which is also transposed convolution."""
    count, kernel = len(grad_output), weight.shape[2:]
    dtype = np.result_type(grad_output, weight)
    channels = weight.shape[1] * groups
    matrices = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    total = np.zeros((count, channels, *(n + 2 * p for n, p in zip(size, padding, strict=True))), dtype)
    for items, lines in blocks(total, weight, grad_output.shape[2:]):
        columns = product(matrices, as_matrices(grad_output, groups, items, lines))
        out = (-1, *grad_output.shape[3:])
        reach = total[items, :, lines.start * stride[0] :]
        add_windows(reach, columns.reshape(len(reach), channels, *kernel, *out), stride, dilation)
    return total[(..., *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))] if any(padding) else total


def product(matrices, y):
    """matrices @ y; with one output a group (depthwise) a product of numbers, for which BLAS is slow."""
    return np.multiply(matrices, y) if matrices.shape[-1] == 1 else np.matmul(matrices, y)


def convolution_weight(grad_output, input, shape, stride, padding, dilation, groups):
    """The adjoint of convolution in its weight of that shape."""
    x, size = widened(input, padding), grad_output.shape[2:]
    total = np.zeros((groups, shape[0] // groups, math.prod(shape[1:])), np.result_type(grad_output, input))
    for items, lines in blocks(x, total, size, math.prod(shape[2:])):
        columns = columns_of(x, shape[2:], size, stride, dilation, groups, items, lines)
        total += np.matmul(as_matrices(grad_output, groups, items, lines), columns.swapaxes(-1, -2)).sum(0)
    return total.reshape(shape)


def blocks(x, weight, size, places=None):
    """Pairs of slices, of the batch and of the first dimension of out, whose columns have about BLOCK bytes."""
    places = math.prod(weight.shape[2:]) if places is None else places
    line = x.shape[1] * places * math.prod(size[1:]) * max(x.itemsize, weight.itemsize)
    if not line or not size[0] or not len(x):
        if len(x) and size[0]:
            yield slice(0, len(x)), slice(0, size[0])
        return
    items, lines = max(BLOCK // (line * size[0]), 1), max(min(BLOCK // line, size[0]), 1)
    for i in range(0, len(x), items):
        for j in range(0, size[0], lines):
            yield slice(i, min(i + items, len(x))), slice(j, min(j + lines, size[0]))


def columns_of(x, kernel, size, stride, dilation, groups, items, lines):
    """The columns (items, groups, rows, windows) of a block; a view where the windows are single numbers in a row."""
    found = windows(x[items], kernel, stride, dilation)
    found = found[(slice(None),) * (2 + len(kernel)) + (lines, *(slice(n) for n in size[1:]))]
    rows = x.shape[1] // groups * math.prod(kernel)
    return found.reshape(len(found), groups, rows, math.prod(found.shape[2 + len(kernel) :]))


def as_matrices(y, groups, items, lines):
    """A block of y (N, O, *out) as (items, groups, O / groups, windows)."""
    part = y[items, :, lines]
    return part.reshape(len(part), groups, y.shape[1] // groups, math.prod(part.shape[2:]))
