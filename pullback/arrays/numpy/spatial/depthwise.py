"""Convolution channel by channel, without strides: too little arithmetic for BLAS, so that copying decides.

All windows of a plane have, at one place of the kernel, one run of the padded plane: from the first window's number to
the last one's. Such runs are copied at the speed of memory. They also hold what lies between two rows of windows; the
results there are nobody's, and are cut off.
"""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.spatial.columns import count_windows

BLOCK = 1 << 21  # bytes of runs at a time
WIDE = 4  # places in a line of the kernel, from which only these are copied, and the lines added afterwards
FEW = 4  # outputs of a channel, up to which there is too little arithmetic


def is_channelwise(weight_shape, stride, groups):
    """True if each group has one channel, few outputs, and windows at every place."""
    return weight_shape[1] == 1 and weight_shape[0] <= FEW * groups and groups > 1 and max(stride) == 1


@loops("blocks")
def channelwise(x, weight, dilation):
    """convolution of x (N, C, *size), which has its padding, and weight (C * outputs, 1, *kernel)."""
    count, channels, *size = x.shape
    lines, *rest = weight.shape[2:]
    layers, kernel = (lines, (1, *rest)) if math.prod(rest) >= WIDE else (1, (lines, *rest))
    starts, length = _runs(size, kernel, dilation)
    step = dilation[0] * math.prod(size[1:])  # from one line of the kernel to the next, in the same runs
    outputs, width = len(weight) // channels, length - (layers - 1) * step
    planes = x.reshape(count, channels, math.prod(size))
    matrices = np.ascontiguousarray(weight).reshape(channels, outputs * layers, len(starts))
    out = np.empty((count, channels, outputs, math.prod(size)), np.result_type(x, weight))
    for items, some in _tiles(count, channels, (len(starts) + layers) * length * x.itemsize):
        part = planes[items, some]
        columns = np.empty((*part.shape[:2], len(starts), length), x.dtype)
        for i, start in enumerate(starts):
            columns[:, :, i] = part[:, :, start : start + length]
        target = out[items, some, :, :width]
        if layers == 1:
            np.matmul(matrices[some], columns, out=target)
        else:
            _add_lines(
                np.matmul(matrices[some], columns).reshape(*part.shape[:2], outputs, layers, length), step, target
            )
    within = (slice(n) for n in count_windows(size, weight.shape[2:], (1,) * len(size), dilation))
    return np.ascontiguousarray(out.reshape(count, len(weight), *size)[(..., *within)])


@loops("window")
def _add_lines(products, step, target):
    """The sum of what each line of the kernel (the dimension before the last) gives, each a step further on."""
    width = target.shape[-1]
    target[...] = products[..., 0, :width]
    for i in range(1, products.shape[-2]):
        target += products[..., i, i * step : i * step + width]


def channelwise_weight(y, x, shape, dilation):
    """The adjoint of channelwise in its weight of that shape. An infinity may come out as NaN."""
    count, channels, *size = x.shape
    starts, length = _runs(size, shape[2:], dilation)
    wide = np.zeros((count, shape[0], *size), y.dtype)
    wide[(..., *(slice(n) for n in y.shape[2:]))] = y
    wide = wide.reshape(count, channels, shape[0] // channels, math.prod(size))[..., :length]
    planes = x.reshape(count, channels, math.prod(size), 1)
    total = [np.matmul(wide, planes[:, :, start : start + length]).sum(0) for start in starts]
    return np.concatenate(total, 2).reshape(shape)


def _runs(size, kernel, dilation):
    """(where the run of each place of the kernel begins in a plane of that size, their length)."""
    steps = [math.prod(size[d + 1 :]) * dilation[d] for d in range(len(size))]
    starts = [sum(i * step for i, step in zip(at, steps, strict=True)) for at in np.ndindex(*kernel)]
    return starts, math.prod(size) - starts[-1]


@loops("blocks")
def _tiles(count, channels, bytes_a_plane):
    """Pairs of slices of items and channels, with about BLOCK bytes."""
    planes = max(BLOCK // max(bytes_a_plane, 1), 1)
    items, some = max(planes // channels, 1), min(planes, channels)
    for i in range(0, count, items):
        for c in range(0, channels, some):
            yield slice(i, i + items), slice(c, c + some)
