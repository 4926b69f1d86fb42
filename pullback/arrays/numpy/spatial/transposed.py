"""The adjoint of convolution in its input, which is also transposed convolution: two ways to compute it.

Every number of the result gathers what it gets: without strides, that is a convolution with the kernel turned round;
with a stride, each of the residues modulo the stride sees every so many numbers of the kernel, and is such a
convolution of its own. Or every number of the argument is laid down with the whole kernel around it.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.spatial.columns import add_windows, padded

BLOCK = 1 << 22  # bytes of columns at a time
MANY = 16  # pieces, from which laying down is quicker
DEEP = 8  # channels of the result, below which products of matrices are too narrow for BLAS


class Axis(NamedTuple):
    """One residue along one dimension: where its results go, its part of the kernel, zeros before, length with zeros.

    `before` may be negative: so many numbers of the argument are not used.
    """

    target: slice
    taps: slice
    before: int
    length: int


def pieces_of(shape, size, stride, padding, dilation, groups):
    """The convolutions without stride that make up the result of that size; None where laying down is quicker."""
    channelwise = shape[1] == 1 and groups > 1
    if shape[1] < DEEP and not channelwise:
        return None
    if any(s > 1 and d > 1 for s, d in zip(stride, dilation, strict=True)) or math.prod(stride) > MANY:
        return None
    axes = [
        list(_residues(n, k, s, p, d))
        for n, k, s, p, d in zip(size, shape[2:], stride, padding, dilation, strict=True)
    ]  # fmt: skip
    return list(itertools.product(*axes))


@loops("window")
def _residues(n, kernel, stride, padding, dilation):
    """out[q * stride + r - padding] = sum over m of x[q - m] w[r + m * stride]: an Axis for each r below the stride."""
    for r in range(min(stride, kernel)):
        taps = slice(r, kernel, stride)
        reach = dilation * (len(range(r, kernel, stride)) - 1)
        first = -((r - padding) // stride)  # the least q for which there is a place in the result
        start = first * stride + r - padding
        count = len(range(start, n, stride))
        if count:
            yield Axis(slice(start, n, stride), taps, reach - first, count + reach)


def turned(y, weight, piece, groups):
    """(y with zeros around it, or cut, and the kernel turned round) whose convolution without stride is a piece."""
    outputs, channels, *kernel = weight.shape
    apart = weight.reshape(groups, outputs // groups, channels, *kernel).swapaxes(1, 2)
    part = apart.reshape(groups * channels, outputs // groups, *kernel)[(..., *(axis.taps for axis in piece))]
    margins = [(axis.before, axis.length - axis.before - n) for axis, n in zip(piece, y.shape[2:], strict=True)]
    x = padded(y, [(0, 0), (0, 0), *margins]) if any(map(any, margins)) else y
    return x, np.ascontiguousarray(np.flip(part, tuple(range(2, part.ndim))))  # BLAS takes no negative strides


@loops("blocks")
def laid_down(y, weight, size, stride, padding, dilation, groups):
    """Each number of y with the kernel around it, added up: products to columns, and columns to where they belong."""
    kernel, channels = weight.shape[2:], weight.shape[1] * groups
    matrices = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    wide = tuple(n + 2 * p for n, p in zip(size, padding, strict=True))
    total = np.zeros((len(y), channels, *wide), np.result_type(y, weight))
    line = channels * math.prod(kernel) * math.prod(y.shape[3:]) * total.itemsize
    for items, lines in _blocks(len(y), y.shape[2], line):
        part = y[items, :, lines]
        count, out = len(part), part.shape[2:]
        columns = np.matmul(matrices, part.reshape(count, groups, len(weight) // groups, math.prod(out)))
        reach = total[items, :, lines.start * stride[0] :]
        add_windows(reach, columns.reshape(count, channels, *kernel, *out), stride, dilation)
    return total[(..., *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))] if any(padding) else total


@loops("blocks")
def _blocks(count, lines, bytes_a_line):
    """Pairs of slices, of the batch and of the lines, whose columns have about BLOCK bytes."""
    items = max(BLOCK // max(bytes_a_line * lines, 1), 1)
    height = max(BLOCK // max(bytes_a_line, 1), 1)
    for i in range(0, count, items):
        for j in range(0, lines, height):
            yield slice(i, min(i + items, count)), slice(j, min(j + height, lines))
