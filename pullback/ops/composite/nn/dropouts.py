"""`nn.functional` with randomness: the dropouts of channels, those that keep mean and variance, rrelu, gumbel_softmax.

The noise is drawn as an array of its own and is a constant of the derivative.
"""

import math

import numpy as np

from pullback.core.modes import no_grad
from pullback.ops.composite.checks import require_arrays

ALPHA = 1.7580993408473766  # what selu tends to at -inf, without the sign: its scale times its alpha


def check_probability(name, p):
    """Refuse what is no probability."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}(): the probability p must lie between 0 and 1, but got {p}.")


def written(input, output, inplace):
    """output, written over input if inplace."""
    if not inplace:
        return output
    input[...] = output
    return input


def kept(shape, p, ops):
    """True with probability 1 - p."""
    return ops.ge(ops.rand(shape, dtype=np.dtype(np.float32)), p)


def channels_of(input):
    """The shape of one element a channel of (N, C, ...)."""
    return tuple(input.shape[:2]) + (1,) * (input.ndim - 2)


# -- dropout of whole channels ---------------------------------------------------------------------------------------
def dropped_channels(name, input, shapes, p, training, inplace, ops):
    """Channels zeroed with probability p, the rest scaled; the first of `shapes` has no dimension for the batch."""
    check_probability(name, p)
    require_arrays(name, input=input)
    if input.ndim not in shapes:
        raise RuntimeError(f"{name}(): input must have {' or '.join(map(str, shapes))} dimensions, not {input.shape}.")
    if not training or p == 0:
        return input
    whole = (1, *input.shape) if input.ndim == shapes[0] else tuple(input.shape)
    mask = kept(whole[:2] + (1,) * (len(whole) - 2), p, ops)
    mask = ops.reshape(mask, mask.shape[len(whole) - input.ndim :]) if len(whole) > input.ndim else mask
    return written(input, input * (ops.to(mask, input.dtype) * (1 / (1 - p) if p < 1 else 0.0)), inplace)


def dropout1d(input, p=0.5, training=True, inplace=False, *, ops):
    """Whole channels of (N, C, L) or (C, L)."""
    return dropped_channels("dropout1d", input, (2, 3), p, training, inplace, ops)


def dropout2d(input, p=0.5, training=True, inplace=False, *, ops):
    """Whole channels of (N, C, H, W); of (N, C, L) too, as in PyTorch, where (C, H, W) would be as likely."""
    check_probability("dropout2d", p)
    if getattr(input, "ndim", 4) == 3:
        return dropped_channels("dropout2d", input, (2, 3), p, training, inplace, ops)
    return dropped_channels("dropout2d", input, (0, 4), p, training, inplace, ops)


def dropout3d(input, p=0.5, training=True, inplace=False, *, ops):
    """Whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    return dropped_channels("dropout3d", input, (4, 5), p, training, inplace, ops)


# -- dropout that keeps mean and variance ----------------------------------------------------------------------------
def selu_dropout(input, mask, p, ops):
    """-ALPHA where the mask is False; all scaled and shifted so that mean 0 and variance 1 stay."""
    if p == 1:
        return input * 0.0
    scale = 1 / math.sqrt((1 + ALPHA * ALPHA * p) * (1 - p))
    mask = ops.to(mask, input.dtype)
    return input * (mask * scale) + ((mask - 1) * (ALPHA * scale) + ALPHA * scale * p)


def alpha_dropout(input, p=0.5, training=False, inplace=False, *, ops):
    """For networks of selu, element by element."""
    check_probability("alpha_dropout", p)
    require_arrays("alpha_dropout", input=input)
    if not training or p == 0 or input.size == 0:
        return input
    return written(input, selu_dropout(input, kept(input.shape, p, ops), p, ops), inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False, *, ops):
    """For networks of selu, whole channels."""
    check_probability("feature_alpha_dropout", p)
    require_arrays("feature_alpha_dropout", input=input)
    if not training or p == 0 or input.size == 0:
        return input
    if input.ndim < 2:
        raise RuntimeError(f"feature_alpha_dropout(): input must have shape (N, C, ...), but has {input.shape}.")
    return written(input, selu_dropout(input, kept(channels_of(input), p, ops), p, ops), inplace)


# -- activations -----------------------------------------------------------------------------------------------------
def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False, *, ops):
    """x where positive, else a slope times x: drawn between lower and upper while training, their mean otherwise."""
    require_arrays("rrelu", input=input)
    if lower > upper:
        raise RuntimeError(f"rrelu(): lower ({lower}) must not be greater than upper ({upper}).")
    slope = (lower + upper) / 2
    if training:
        slope = ops.rand(input.shape, dtype=input.dtype) * (upper - lower) + lower
    x = ops.clone(input) if inplace else input
    return written(input, ops.where(ops.gt(x, 0), x, x * slope), inplace)


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1, *, ops):
    """A relaxed sample of a category: softmax((logits + noise) / tau); if hard, its unit vector with that gradient."""
    del eps  # without meaning since PyTorch 1.0
    require_arrays("gumbel_softmax", logits=logits)
    with no_grad():  # rand is in [0, 1); a 0, seldom as it is, must not become an infinite noise
        waiting = -ops.log1p(-ops.rand(logits.shape, dtype=logits.dtype))
        noise = -ops.log(ops.clamp_min(waiting, float(np.finfo(logits.dtype).tiny)))
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    with no_grad():
        where = ops.unsqueeze(ops.argmax(soft, dim), dim)
        move = ops.scatter(ops.zeros_like(soft), dim, where, 1.0) - soft
    return move + soft
