"""Convolution on BLAS: windows copied to columns, block by block, each block a few matrix products.

The three kernels are the three partial derivatives of one trilinear form, sum(y * convolution(x, w)). Shapes are
x (N, C, *size), w (O, C / groups, *kernel), y (N, O, *out).

Where windows follow each other without a stride along the first dimension, only the other dimensions of the kernel are
copied: each line of the kernel, a *layer*, multiplies the same columns, a few lines further on. A convolution of one
dimension so copies nothing.
"""

import functools
import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.spatial.columns import count_windows, widened, windows
from pullback.arrays.numpy.spatial.depthwise import channelwise, channelwise_weight, is_channelwise
from pullback.arrays.numpy.spatial.transposed import laid_down, pieces_of, turned

BLOCK = 1 << 22  # bytes of columns at a time: large enough for BLAS, small enough for the cache
DEEP = 32  # rows of columns that make a product of its own worth while
LIGHT = 600_000  # multiplications of a product; up to 1e6 OpenBLAS spares itself packing the matrices, half of the time
NARROW = 128  # columns, fewer of which are not worth a call


def in_single(kernel):
    """A kernel that computes in float32 what is given in float16, which has no BLAS and sums badly."""

    @functools.wraps(kernel)
    def wrapped(first, second, *how):
        if np.float16 not in (first.dtype, second.dtype):
            return kernel(first, second, *how)
        dtype = np.result_type(first, second)
        first, second = (x.astype(np.float32) if x.dtype == np.float16 else x for x in (first, second))
        return kernel(first, second, *how).astype(dtype)

    return wrapped


@in_single
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


@loops("blocks")
def _correlated(x, weight, stride, dilation, groups):
    """convolution of what has its padding already."""
    if is_channelwise(weight.shape, stride, groups):
        return channelwise(x, weight, dilation)
    kernel = weight.shape[2:]
    size = count_windows(x.shape[2:], kernel, stride, dilation)
    out = np.empty((len(x), len(weight), *size), np.result_type(x, weight))
    count = count_layers(weight.shape, stride)
    matrices = layers_of(weight, groups, count)
    for items, lines, parts in blocks(x, weight.shape, size, stride, dilation, groups, count):
        # as_matrices gives a view of the block: its lines and what is behind them lie side by side
        target = as_matrices(out, groups, items, lines)
        for some in pieces(matrices.shape[2] * matrices.shape[3], target.shape[-1]):
            for i, (matrix, part) in enumerate(zip(matrices, parts, strict=True)):
                if i == 0:
                    np.matmul(matrix, part[..., some], out=target[..., some])
                else:
                    target[..., some] += np.matmul(matrix, part[..., some])
    return out


@loops("blocks")
@in_single
def convolution_input(grad_output, weight, size, stride, padding, dilation, groups):
    """The adjoint of convolution in its input of that size, which is also transposed convolution."""
    pieces = pieces_of(weight.shape, size, stride, padding, dilation, groups)
    if pieces is None:
        return laid_down(grad_output, weight, size, stride, padding, dilation, groups)
    channels, ones = weight.shape[1] * groups, (1,) * len(size)
    if max(stride) == 1 and pieces:
        return _correlated(*turned(grad_output, weight, pieces[0], groups), ones, dilation, groups)
    total = np.zeros((len(grad_output), channels, *size), np.result_type(grad_output, weight))
    for piece in pieces:
        x, part = turned(grad_output, weight, piece, groups)
        total[(..., *(axis.target for axis in piece))] = _correlated(x, part, ones, dilation, groups)
    return total


@loops("blocks")
@in_single
def convolution_weight(grad_output, input, shape, stride, padding, dilation, groups):
    """The adjoint of convolution in its weight of that shape."""
    x, size = widened(input, padding), grad_output.shape[2:]
    if is_channelwise(shape, stride, groups):
        x = x[(..., *(slice(n + d * (k - 1)) for n, d, k in zip(size, dilation, shape[2:], strict=True)))]
        total = channelwise_weight(grad_output, x, shape, dilation)
        if np.isfinite(total).all():
            return total
    count, dtype = count_layers(shape, stride), np.result_type(grad_output, input)
    total = np.zeros((count, groups, shape[0] // groups, math.prod(shape[1:]) // count), dtype)
    outputs, rows = total.shape[2:]
    for items, lines, parts in blocks(x, shape, size, stride, dilation, groups, count):
        y = as_matrices(grad_output, groups, items, lines)
        if rows >= DEEP:  # BLAS takes half the time when none of the two is transposed, and y is the smaller one
            y = np.ascontiguousarray(y.swapaxes(-1, -2))
            for some in pieces(outputs * rows, y.shape[-2]):
                for layer, part in zip(total, parts, strict=True):
                    layer += np.matmul(part[..., some], y[..., some, :]).sum(0).swapaxes(-1, -2)
        else:
            for layer, part in zip(total, parts, strict=True):
                layer += np.matmul(y, part.swapaxes(-1, -2)).sum(0)
    if count == 1:
        return total.reshape(shape)
    return np.moveaxis(total.reshape(count, *shape[:2], shape[2] // count, *shape[3:]), 0, 2).reshape(shape)


def pieces(each, width):
    """Slices of the dimension of `width`, each place of which costs `each` multiplications, for light products."""
    step = LIGHT // max(each, 1)
    if not NARROW <= step < width:
        return [slice(width)]
    return [slice(start, start + step) for start in range(0, width, step)]


def count_layers(shape, stride):
    """How many products there are for a weight of that shape: one for each line of the kernel, or one alone."""
    return shape[2] if stride[0] == 1 and shape[1] * math.prod(shape[3:]) >= DEEP else 1


def layers_of(weight, groups, count):
    """The matrices (count, groups, O / groups, rows) of the layers."""
    outputs, channels, *kernel = weight.shape
    if count == 1:
        return np.ascontiguousarray(weight).reshape(1, groups, outputs // groups, channels * math.prod(kernel))
    apart = weight.reshape(groups, outputs // groups, channels, count, math.prod(kernel) // count)
    rows = channels * math.prod(kernel) // count
    return np.ascontiguousarray(np.moveaxis(apart, 3, 0)).reshape(count, groups, outputs // groups, rows)


@loops("blocks")
def blocks(x, shape, size, stride, dilation, groups, count):
    """Triples: slices of the batch and of the first dimension of out, and the columns of that block for each layer."""
    kernel = (shape[2] // count, *shape[3:])
    line = x.shape[1] * math.prod(kernel) * math.prod(size[1:]) * x.itemsize
    if not len(x) or not size[0]:
        return
    items = max(BLOCK // max(line * size[0], 1), 1)
    height = max(min(BLOCK // max(line, 1), size[0]), 1) if line else size[0]
    for i in range(0, len(x), items):
        for j in range(0, size[0], height):
            chosen, lines = slice(i, min(i + items, len(x))), slice(j, min(j + height, size[0]))
            more = slice(lines.start, lines.stop + (count - 1) * dilation[0])
            columns = columns_of(x, kernel, size, stride, dilation, groups, chosen, more)
            width, step = (lines.stop - lines.start) * math.prod(size[1:]), dilation[0] * math.prod(size[1:])
            yield chosen, lines, [columns[..., n * step : n * step + width] for n in range(count)]


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
