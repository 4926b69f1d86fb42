"""layer_norm as one kernel, and its backward: by blocks of rows that stay in the cache, the sums as dot products."""

import math

import numpy as np

from pullback.arrays.numpy import reductions
from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.fast.kept_vectors import MOST, ones_of

_BLOCK = 1 << 17  # elements of a block of rows


@loops("blocks")
def _layer_norm(input, weight, bias, dims, eps):
    """(input to mean 0 and variance 1 over its last `dims` dimensions, scaled and shifted; means; 1 / deviations)."""
    rows, _, column = _as_rows(input, dims)
    weight, bias = (None if x is None else x.reshape(-1) for x in (weight, bias))
    out = np.empty(rows.shape, input.dtype)
    mean, inverse = np.empty((2, len(rows), 1), input.dtype)
    for part in _blocks(rows):
        x, y, centre, scale = rows[part], out[part], mean[part], inverse[part]
        centre[...] = _row_means(x)
        np.subtract(x, centre, out=y)
        np.true_divide(1, np.sqrt(_mean_squares(y) + eps), out=scale)
        y *= scale
        if weight is not None:
            y *= weight
        if bias is not None:
            y += bias
    return out.reshape(input.shape), mean.reshape(column), inverse.reshape(column)


@loops("blocks")
def layer_norm_backward(grad_output, input, weight, mean, inverse, dims, eps):
    """The gradients to input, weight (None where there is none) and bias.

    With n the normalised input and h = grad_output * weight: (h - mean(h) - n mean(h n)) / deviation, sum(grad_output
    n), sum(grad_output).
    """
    rows, inner, _ = _as_rows(input, dims)
    grads = grad_output.reshape(rows.shape)
    mean, inverse = mean.reshape(-1, 1), inverse.reshape(-1, 1)
    scale = None if weight is None else weight.reshape(-1)
    out, to_weight, to_bias = (
        np.empty(input.shape, input.dtype),
        np.zeros(inner, input.dtype),
        np.zeros(inner, input.dtype),
    )
    filled, weight_sums, bias_sums = out.reshape(rows.shape), to_weight.reshape(-1), to_bias.reshape(-1)
    for part in _blocks(rows):
        grad, n = grads[part], filled[part]
        np.subtract(rows[part], mean[part], out=n)
        n *= inverse[part]
        product = grad * n
        bias_sums += _column_sums(grad)
        if scale is None:
            h, h_mean, hn_mean = grad, _row_means(grad), _row_means(product)
        else:
            weight_sums += _column_sums(product)
            h_mean, hn_mean = _weighted_means(grad, scale), _weighted_means(product, scale)
            h = np.multiply(grad, scale, out=product)
        n *= hn_mean
        np.subtract(h, n, out=n)
        n -= h_mean
        n *= inverse[part]
    return out, None if scale is None else to_weight, to_bias  # no views, which the engine would copy


def _as_rows(x, dims):
    """(x as a matrix whose rows are the last `dims` dimensions, the shape of a row, the shape of one number a row)."""
    kept, inner = x.shape[: x.ndim - dims], x.shape[x.ndim - dims :]
    return x.reshape(math.prod(kept), math.prod(inner)), inner, kept + (1,) * dims


def _blocks(rows):
    """Slices of so many rows that a block stays in the cache."""
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def _length(rows):
    return rows.dtype.type(max(1, rows.shape[1]))


def _row_means(rows):
    return reductions.sum(rows, 1, True) / _length(rows)


def _weighted_means(rows, weight):
    return np.dot(rows, weight)[:, None] / _length(rows)


def _mean_squares(rows):
    """As dot products for rows that are not so long that adding in a few lanes would lose digits."""
    if rows.shape[1] <= MOST:
        return np.vecdot(rows, rows)[:, None] / _length(rows)
    return np.add.reduce(np.square(rows), axis=1, keepdims=True) / _length(rows)


def _column_sums(rows):
    if len(rows) <= MOST and rows.flags.c_contiguous:
        return np.dot(ones_of(len(rows), rows.dtype), rows)
    return np.add.reduce(rows, axis=0)
