"""The layers of `nn.functional` made of other operators: dropout, embedding, layer_norm, group_norm."""

import numpy as np

from pullback.core.modes import no_grad
from pullback.ops.composite.checks import refuse_complex, require_arrays


def dropout(input, p=0.5, training=True, inplace=False, *, ops):
    """Zeroes and rescales elements while training; the input itself otherwise."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout(): the probability p must lie between 0 and 1, but got {p}.")
    if not training or p == 0:
        return input
    output, mask = ops.native_dropout(input, p, True)
    if not inplace:
        return output
    input *= mask
    input *= 1 / (1 - p) if p < 1 else 0.0
    return input


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False, *, ops
):
    """Rows of weight, after those of them that are longer than max_norm have been shortened in place."""
    del sparse  # a wish about the form of the gradient, which is dense here
    if max_norm is not None:
        with no_grad():
            rows = ops.embedding_rows(input, weight)
            norm = ops.sum(ops.abs(rows) ** norm_type, -1, True) ** (1 / norm_type)
            weight[input] = rows * ops.where(ops.gt(norm, max_norm), max_norm / (norm + 1e-7), 1.0)
    return ops.embedding_rows(input, weight, padding_idx, scale_grad_by_freq)


def standardised(name, x, dims, eps, ops):
    """x less its mean over the last `dims` dimensions, over its standard deviation."""
    if x.dtype.char in "fd":
        return ops._layer_norm(x, None, None, dims, eps)[0]
    if x.dtype.char == "e":
        return ops.to(standardised(name, ops.to(x, np.dtype(np.float32)), dims, eps, ops), x.dtype)
    refuse_complex(name, x)
    last = tuple(range(-dims, 0))
    centred = x - ops.mean(x, last, True)
    return centred * ops.rsqrt(ops.mean(centred * centred, last, True) + eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, *, ops):
    """Each input to mean 0 and variance 1 over its last dimensions, then scaled and shifted."""
    require_arrays("layer_norm", input=input, weight=weight, bias=bias)
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"layer_norm(): normalized_shape {shape} must be the last dimensions of input, which has {input.shape}."
        )
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != shape:
            raise RuntimeError(f"layer_norm(): {name} must have shape {shape}, but has {given.shape}.")
    if all(x is None or (x.dtype.char in "fd" and x.dtype == input.dtype) for x in (input, weight, bias)):
        return ops._layer_norm(input, weight, bias, len(shape), eps)[0]
    out = standardised("layer_norm", input, len(shape), eps, ops)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def _layer_norm_backward(grad_output, input, weight, mean, inverse, dims, eps, mask, *, ops):
    """The gradients of _layer_norm, by operators that are differentiable: mean and deviation depend on the input."""
    del mean, inverse
    to_bias = over_batch(grad_output, dims, ops) if mask[2] else None
    if not (mask[0] or mask[1]):
        return None, None, to_bias
    last = tuple(range(-dims, 0))
    centred = input - ops.mean(input, last, True)
    inverse = ops.rsqrt(ops.mean(centred * centred, last, True) + eps)
    n = centred * inverse
    to_weight = over_batch(grad_output * n, dims, ops) if mask[1] else None
    if not mask[0]:
        return None, to_weight, to_bias
    h = grad_output if weight is None else grad_output * weight
    return inverse * (h - ops.mean(h, last, True) - n * ops.mean(h * n, last, True)), to_weight, to_bias


def over_batch(x, dims, ops):
    """The sum over all dimensions but the last `dims`."""
    return ops.sum(x, tuple(range(x.ndim - dims))) if x.ndim > dims else x


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, *, ops):
    """Groups of channels (dimension 1) of each input to mean 0 and variance 1, then each channel scaled and shifted."""
    require_arrays("group_norm", input=input, weight=weight, bias=bias)
    if input.ndim < 2:
        raise RuntimeError(f"group_norm(): input must have at least 2 dimensions, (N, C, ...), but has {input.shape}.")
    rows, channels = input.shape[:2]
    if num_groups <= 0 or channels % num_groups:
        raise RuntimeError(f"group_norm(): {channels} channels cannot be divided into {num_groups} groups.")
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != (channels,):
            raise RuntimeError(f"group_norm(): {name} must have shape {(channels,)}, but has {given.shape}.")
    each = input.size // max(rows * num_groups, 1)
    out = standardised("group_norm", ops.reshape(input, (rows, num_groups, each)), 1, eps, ops)
    out = ops.reshape(out, input.shape)
    per_channel = (channels,) + (1,) * (input.ndim - 2)
    out = out if weight is None else out * ops.reshape(weight, per_channel)
    return out if bias is None else out + ops.reshape(bias, per_channel)
