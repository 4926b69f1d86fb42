"""Fractional max pooling: windows whose places are drawn at random, for every channel of every input anew."""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered


@loops("arguments")
def fractional_max_indices(self, kernel_size, output_size, samples):
    """Flat places of the maxima. `samples` (N, C, dims) are numbers of [0, 1), of two dimensions the last one first."""
    refuse_unordered(self)
    dims = len(kernel_size)
    lead, size = self.shape[: self.ndim - dims], self.shape[self.ndim - dims :]
    draws = samples.reshape(-1, dims)
    order = (1, 0) if dims == 2 else range(dims)
    step, flat = 1, np.zeros((len(draws), *(1,) * (2 * dims)), np.int64)  # (planes, *out, *kernel)
    for d in reversed(range(dims)):
        begin = _begins(draws[:, order[d]], size[d], output_size[d], kernel_size[d])
        at = begin[:, :, None] + np.arange(kernel_size[d])
        shape = [len(draws)] + [1] * (2 * dims)
        shape[1 + d], shape[1 + dims + d] = output_size[d], kernel_size[d]
        flat = flat + step * at.reshape(shape)
        step *= size[d]
    flat = flat.reshape(len(draws), int(np.prod(output_size)), int(np.prod(kernel_size)))
    values = np.take_along_axis(self.reshape(len(draws), 1, step), flat, 2)
    return np.take_along_axis(flat, values.argmax(2)[..., None], 2).reshape(*lead, *output_size)


def _begins(draws, size, out, kernel):
    """Where the windows of each plane begin: by the steps of a line with a random start; the last one at the end."""
    begins = np.full((len(draws), out), size - kernel, np.int64)
    if out > 1:
        alpha = draws.dtype.type((size - kernel) / (out - 1))
        steps = np.arange(out - 1).astype(draws.dtype) + draws[:, None]
        begins[:, :-1] = (steps * alpha).astype(np.int64) - (draws * alpha).astype(np.int64)[:, None]
    return begins
