"""`nn.functional` made of other operators.

Where an activation has two branches, the branch not taken is computed at a harmless point (`where` before the risky
function, and again after it), so that no overflow there becomes 0 * inf in a derivative.
"""

from pullback.core.modes import no_grad
from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_similarity,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    smooth_l1_loss,
)

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "glu",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "log_softmax_functional",
    "logsigmoid",
    "mish",
    "prelu",
    "relu6",
    "relu_functional",
    "selu",
    "sigmoid_functional",
    "silu",
    "smooth_l1_loss",
    "softmax_functional",
    "softmin",
    "softshrink",
    "softsign",
    "tanh_functional",
    "tanhshrink",
    "threshold",
]

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
FAR = 100  # where softplus goes over to the identity: log(1 + exp(-100)) is lost beside 100 in double precision


# -- layers ----------------------------------------------------------------------------------------------------------
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


def standardised(x, dims, eps, ops):
    """x less its mean over dims, over its standard deviation."""
    centred = x - ops.mean(x, dims, True)
    return centred * ops.rsqrt(ops.mean(centred * centred, dims, True) + eps)


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
    out = standardised(input, tuple(range(-len(shape), 0)), eps, ops)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


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
    out = standardised(ops.reshape(input, (rows, num_groups, each)), -1, eps, ops)
    out = ops.reshape(out, input.shape)
    per_channel = (channels,) + (1,) * (input.ndim - 2)
    out = out if weight is None else out * ops.reshape(weight, per_channel)
    return out if bias is None else out + ops.reshape(bias, per_channel)


# -- activations -----------------------------------------------------------------------------------------------------
def activated(function, input, inplace, ops):
    """function(input); if `inplace`, written over input, of which it then sees a copy, so that what it saves stays."""
    if not inplace:
        return function(input)
    input[...] = function(ops.clone(input))
    return input


def relu_functional(input, inplace=False, *, ops):
    """max(x, 0)."""
    if not inplace:
        return ops.relu(input)
    input[...] = ops.relu(input)  # relu saves its result, not its input: no copy is needed
    return input


def sigmoid_functional(input, *, ops):
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(input)


def tanh_functional(input, *, ops):
    """tanh(x)."""
    return ops.tanh(input)


def exp_branch(x, scale, alpha, ops):
    """x where positive, else alpha (exp(x / scale) - 1)."""
    positive = ops.gt(x, 0)
    return ops.where(positive, x, alpha * ops.expm1(ops.where(positive, 0.0, x) / scale))


def logsigmoid(input, *, ops):
    """-log(1 + exp(-x))."""
    return -ops.softplus(-input, 1, FAR)


def leaky_relu(input, negative_slope=0.01, inplace=False, *, ops):
    """x where positive, else negative_slope x."""
    return activated(lambda x: ops.where(ops.gt(x, 0), x, x * negative_slope), input, inplace, ops)


def prelu(input, weight, *, ops):
    """x where positive, else weight x."""
    require_arrays("prelu", input=input, weight=weight)
    if weight.ndim > 1:
        raise RuntimeError(f"prelu(): weight must be 0-d or 1-d, but has shape {weight.shape}.")
    if weight.size != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if input.ndim == 0 or weight.size != channels:
            raise RuntimeError(
                f"prelu(): weight must have one element or one a channel, but weight has shape {weight.shape} and "
                f"input {input.shape} ({channels if input.ndim else 'no'} channels)."
            )
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = weight.size
    return ops.where(ops.gt(input, 0), input, ops.reshape(weight, shape) * input)


def elu(input, alpha=1.0, inplace=False, *, ops):
    """x where positive, else alpha (exp(x) - 1)."""
    return activated(lambda x: exp_branch(x, 1.0, alpha, ops), input, inplace, ops)


def selu(input, inplace=False, *, ops):
    """A scaled elu."""
    return activated(lambda x: SELU_SCALE * exp_branch(x, 1.0, SELU_ALPHA, ops), input, inplace, ops)


def celu(input, alpha=1.0, inplace=False, *, ops):
    """x where positive, else alpha (exp(x / alpha) - 1)."""
    if alpha == 0:
        raise RuntimeError("celu(): alpha must not be 0.")
    return activated(lambda x: exp_branch(x, alpha, alpha, ops), input, inplace, ops)


def silu(input, inplace=False, *, ops):
    """x sigmoid(x)."""
    return activated(lambda x: x * ops.sigmoid(x), input, inplace, ops)


def mish(input, inplace=False, *, ops):
    """x tanh(softplus(x))."""
    return activated(lambda x: x * ops.tanh(ops.softplus(x)), input, inplace, ops)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False, *, ops):
    """x between min_val and max_val; gradient 0 at both."""
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val ({min_val}) must not be greater than max_val ({max_val}).")

    def cut_off(x):  # full_like keeps integers integers
        high = ops.where(ops.ge(x, max_val), ops.full_like(x, max_val), x)
        return ops.where(ops.le(x, min_val), ops.full_like(x, min_val), high)

    return activated(cut_off, input, inplace, ops)


def relu6(input, inplace=False, *, ops):
    """x between 0 and 6."""
    return hardtanh(input, 0, 6, inplace, ops=ops)


def hardsigmoid(input, inplace=False, *, ops):
    """x / 6 + 1/2 between 0 and 1."""
    return activated(
        lambda x: ops.where(ops.le(x, -3), 0.0, ops.where(ops.ge(x, 3), 1.0, x / 6 + 0.5)), input, inplace, ops
    )


def hardswish(input, inplace=False, *, ops):
    """x hardsigmoid(x)."""
    return activated(
        lambda x: ops.where(ops.le(x, -3), 0.0, ops.where(ops.ge(x, 3), x, x * (x / 6 + 0.5))), input, inplace, ops
    )


def softsign(input, *, ops):
    """x / (1 + |x|)."""
    return input / (ops.abs(input) + 1)


def tanhshrink(input, *, ops):
    """x - tanh(x)."""
    return input - ops.tanh(input)


def softshrink(input, lambd=0.5, *, ops):
    """x moved towards 0 by lambd, 0 within it."""
    if lambd < 0:
        raise RuntimeError(f"softshrink(): lambd must not be negative, but got {lambd}.")
    above, below = ops.gt(input, lambd), ops.lt(input, -lambd)
    return ops.where(above, input - lambd, ops.where(below, input + lambd, input * 0))  # input * 0 keeps NaN


def hardshrink(input, lambd=0.5, *, ops):
    """x, 0 within lambd of 0."""
    return ops.where(ops.logical_and(ops.ge(input, -lambd), ops.le(input, lambd)), 0.0, input)


def threshold(input, threshold, value, inplace=False, *, ops):
    """x where above threshold, else value."""
    return activated(lambda x: ops.where(ops.le(x, threshold), ops.full_like(x, value), x), input, inplace, ops)


def glu(input, dim=-1, *, ops):
    """The first half times the sigmoid of the second."""
    require_arrays("glu", input=input)
    if input.ndim == 0:
        raise RuntimeError("glu(): a 0-d input has no dimension to halve.")
    length = input.shape[dim]
    if length % 2:
        raise RuntimeError(f"glu(): dimension {dim} must have even length, but it is {length} (shape {input.shape}).")
    half = length // 2
    return ops.narrow(input, dim, 0, half) * ops.sigmoid(ops.narrow(input, dim, half, half))


def softmax_functional(input, dim, dtype=None, *, ops):
    """softmax(x) along dim."""
    return ops.softmax(input, dim, dtype=dtype)


def log_softmax_functional(input, dim, dtype=None, *, ops):
    """log(softmax(x)) along dim."""
    return ops.log_softmax(input, dim, dtype=dtype)


def softmin(input, dim, dtype=None, *, ops):
    """softmax(-x)."""
    return ops.softmax(-input, dim, dtype=dtype)
