"""layer_norm as one kernel, and its backward: by blocks of rows that stay in the cache, the sums as dot products."""

import math

import numpy as np

from pullback.arrays.numpy import reductions
from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.fast.kept_vectors import MOST
from pullback.arrays.numpy.fast.products_with_ones import column_sums, row_sums

_BLOCK = 1 << 17  # elements of a block of rows
_FEW = 1024  # elements of a row


@loops("blocks")
def _layer_norm(input, weight, bias, dims, eps):
    """(input to mean 0 and variance 1 over its last `dims` dimensions, scaled and shifted; means; 1 / deviations)."""
    rows, _, column = _as_rows(input, dims)
    if dims > 1:
        weight, bias = (None if x is None else x.reshape(-1) for x in (weight, bias))
    out, count, eps = np.empty(input.shape, input.dtype), _count(rows), input.dtype.type(eps)
    mean, inverse = np.empty((2, len(rows)), input.dtype)
    filled = out.reshape(rows.shape)
    for part in _blocks(rows):
        x, y, scale = rows[part], filled[part], inverse[part]
        centre = np.true_divide(_row_sums(x), count, out=mean[part])
        np.subtract(x, centre[:, None], out=y)
        np.true_divide(_square_sums(y), count, out=scale)
        scale += eps
        np.sqrt(scale, out=scale)
        np.reciprocal(scale, out=scale)
        y *= scale[:, None]
        if weight is not None:
            y *= weight
        if bias is not None:
            y += bias
    return out, mean.reshape(column), inverse.reshape(column)


@loops("blocks")
def layer_norm_backward(grad_output, input, weight, mean, inverse, dims, eps, mask):
    """The gradients to input, weight and bias that `mask` asks for; that of the bias is made of grad_output alone.

    With n the normalised input and h = grad_output * weight: (h - mean(h) - n mean(h n)) / deviation, sum(grad_output
    n), sum(grad_output). Here n is the centred input, and its deviations come in where a row has become one number.
    """
    grads, inner, _ = _as_rows(grad_output, dims)
    to_weight, to_bias = (np.zeros(inner, grads.dtype) if wanted else None for wanted in mask[1:])
    weight_sums, bias_sums = (None if x is None else x.reshape(-1) for x in (to_weight, to_bias))
    out = scale = None
    if mask[0] or mask[1]:
        rows, mean, inverse = input.reshape(grads.shape), mean.reshape(-1, 1), inverse.reshape(-1)
        out = np.empty(input.shape, input.dtype)
        filled = out.reshape(rows.shape)
    if weight is not None:
        scale = weight.reshape(-1)
        shares = scale / _count(rows)
    for part in _blocks(grads):
        grad = grads[part]
        if bias_sums is not None:
            bias_sums += _column_sums(grad)
        if out is None:
            continue
        n, over = filled[part], inverse[part]
        np.subtract(rows[part], mean[part], out=n)
        product = grad * n
        if weight_sums is not None:
            weight_sums += over.dot(product)
        if not mask[0]:
            continue
        if scale is None:
            h, h_mean, hn_mean = grad, _row_sums(grad) / _count(rows), _row_sums(product) / _count(rows)
        else:
            h_mean, hn_mean = grad.dot(shares), product.dot(shares)
            h = np.multiply(grad, scale, out=product)
        hn_mean *= over
        hn_mean *= over
        n *= hn_mean[:, None]
        np.subtract(h, n, out=n)
        n -= h_mean[:, None]
        n *= over[:, None]
    return out if mask[0] else None, to_weight, to_bias  # no views, which the engine would copy


def _as_rows(x, dims):
    """(x as a matrix whose rows are the last `dims` dimensions, the shape of a row, the shape of one number a row)."""
    kept, inner = x.shape[: x.ndim - dims], x.shape[x.ndim - dims :]
    return x.reshape(math.prod(kept), math.prod(inner)), inner, kept + (1,) * dims


def _blocks(rows):
    """Slices of so many rows that a block stays in the cache."""
    if rows.size <= _BLOCK:
        return (slice(None),)
    step = max(1, _BLOCK // rows.shape[1])
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def _count(rows):
    """How many elements a row has, or 1, as a number of their dtype: NumPy is slower with Python's."""
    return rows.dtype.type(rows.shape[1] or 1)


def _row_sums(rows):
    """As dot products for rows that are not so long that adding in a few lanes would lose digits."""
    if rows.shape[1] <= _FEW and rows.flags.c_contiguous:
        return row_sums(rows)
    return reductions.sum(rows, 1)


def _square_sums(rows):
    return np.vecdot(rows, rows) if rows.shape[1] <= MOST else reductions.sum(np.square(rows), 1)


def _column_sums(rows):
    if len(rows) <= MOST and rows.flags.c_contiguous:
        return column_sums(rows)
    return reductions.sum(rows, 0)
