"""The normalisations of `nn.functional` over batches, instances, roots of mean squares, norms and neighbours."""

import functools
import math

import numpy as np

from pullback.core.modes import no_grad
from pullback.ops.composite.checks import refuse_complex, require_arrays


def by_channel(x, ndim, ops):
    """One number a channel, ready to multiply an input whose channels are dimension 1."""
    return ops.reshape(x, (-1,) + (1,) * (ndim - 2))


def check_channels(name, channels, **vectors):
    """Refuse vectors that have not one element a channel."""
    for argument, vector in vectors.items():
        if vector is not None and tuple(vector.shape) != (channels,):
            raise RuntimeError(
                f"{name}(): {argument} must have one element a channel, shape {(channels,)}, but has {vector.shape}."
            )


def moments(x, dims, ops):
    """(x less its mean over dims, the mean, the variance divided by n), the last two with dims of length 1."""
    if x.size == 0:  # a mean of nothing is nan, with a warning, and would meet no element
        nothing = ops.sum(x, dims, True)
        return x, nothing, nothing
    mean = ops.mean(x, dims, True)
    centred = x - mean
    return centred, mean, ops.mean(centred * centred, dims, True)


def scaled(centred, inverse, weight, bias, ops):
    """centred * inverse * weight + bias; the small factors are multiplied first, so that the input is passed once."""
    factor = inverse if weight is None else inverse * weight
    out = centred * factor
    return out if bias is None else out + bias


def over_real_numbers(function):
    """A normalisation that refuses complex input, and computes on float16 in float32, as its variances need."""

    @functools.wraps(function)
    def called(input, *args, ops, **kwargs):
        code = input.dtype.char if hasattr(input, "dtype") else ""
        if code != "e":
            if code in "FDG":
                refuse_complex(function.__name__, input)
            return function(input, *args, ops=ops, **kwargs)
        found = function(ops.to(input, np.dtype(np.float32)), *args, ops=ops, **kwargs)
        return tuple([ops.to(x, input.dtype) for x in found]) if type(found) is tuple else ops.to(found, input.dtype)

    return called


def move_towards(running, latest, momentum, ops):
    """running <- (1 - momentum) running + momentum latest, in place and without history."""
    if running is not None:
        with no_grad():
            running[...] = running * (1 - momentum) + ops.reshape(latest, running.shape) * momentum


def batch_statistics(name, input, running_mean, running_var, training, momentum, ops):
    """(input less the mean of its channel, mean, variance): of the batch while training, else the running ones."""
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(f"{name}(): running_mean and running_var must be given where training is False.")
        mean, variance = (by_channel(x, input.ndim, ops) for x in (running_mean, running_var))
        return input - mean, mean, variance
    centred, mean, variance = moments(input, (0, *range(2, input.ndim)), ops)
    if input.size == 0:
        return centred, mean, variance  # an empty batch says nothing about the running statistics
    number = input.size // input.shape[1]
    move_towards(running_mean, mean, momentum, ops)
    if running_var is not None:
        with no_grad():  # running variances are unbiased, those that divide are not
            unbiased = variance * (number / (number - 1) if number > 1 else math.nan)
        move_towards(running_var, unbiased, momentum, ops)
    return centred, mean, variance


def check_batch(name, input, running_mean, running_var, weight, bias):
    """Refuse inputs without channels, and vectors that do not fit them."""
    require_arrays(name, input=input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if input.ndim < 2:
        raise RuntimeError(f"{name}(): input must have at least 2 dimensions, (N, C, ...), but has {input.shape}.")
    vectors = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    check_channels(name, input.shape[1], **vectors)


@over_real_numbers
def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5, *, ops
):
    """Channels to mean 0 and variance 1, then scaled and shifted."""
    if getattr(input, "size", None) == 0 and input.ndim == 1:
        return input * 1.0  # an empty batch without channels, which PyTorch accepts
    check_batch("batch_norm", input, running_mean, running_var, weight, bias)
    if training and input.size and input.size == input.shape[1]:
        raise ValueError(
            f"batch_norm(): while training each channel needs more than one value, but input has {input.shape}."
        )
    centred, _, variance = batch_statistics("batch_norm", input, running_mean, running_var, training, momentum, ops)
    weight, bias = (None if x is None else by_channel(x, input.ndim, ops) for x in (weight, bias))
    return scaled(centred, ops.rsqrt(variance + eps), weight, bias, ops)


@over_real_numbers
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, *, ops):
    """batch_norm, and the mean and 1 / sqrt(variance + eps) of the batch while training, for whoever wants them."""
    check_batch("native_batch_norm", input, running_mean, running_var, weight, bias)
    centred, mean, variance = batch_statistics(
        "native_batch_norm", input, running_mean, running_var, training, momentum, ops
    )
    inverse = ops.rsqrt(variance + eps)
    weight, bias = (None if x is None else by_channel(x, input.ndim, ops) for x in (weight, bias))
    out = scaled(centred, inverse, weight, bias, ops)
    if not training:
        none = ops.zeros((0,), dtype=input.dtype)
        return out, none, none
    channels = (input.shape[1],)
    return out, ops.reshape(mean, channels), ops.reshape(inverse, channels)


@over_real_numbers
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
    *,
    ops,
):
    """Each channel of each input to mean 0 and variance 1; the running statistics are means over the batch."""
    check_batch("instance_norm", input, running_mean, running_var, weight, bias)
    weight, bias = (None if x is None else by_channel(x, input.ndim, ops) for x in (weight, bias))
    if not use_input_stats:
        centred, _, variance = batch_statistics("instance_norm", input, running_mean, running_var, False, 0, ops)
        return scaled(centred, ops.rsqrt(variance + eps), weight, bias, ops)
    number = math.prod(input.shape[2:])
    if number == 1:
        raise ValueError(
            f"instance_norm(): each channel of an input needs more than one value, but input has {input.shape}."
        )
    centred, mean, variance = moments(input, tuple(range(2, input.ndim)), ops)
    with no_grad():
        if input.size == 0:
            running_mean = running_var = None
        if running_mean is not None:
            move_towards(running_mean, ops.mean(mean, 0), momentum, ops)
        if running_var is not None:
            move_towards(running_var, ops.mean(variance, 0) * (number / (number - 1)), momentum, ops)
    return scaled(centred, ops.rsqrt(variance + eps), weight, bias, ops)


def trailing(name, input, normalized_shape, **vectors):
    """normalized_shape as a tuple, refused where input or the weights do not end in it."""
    shape = tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"{name}(): normalized_shape {shape} must be the last dimensions of input, which has {input.shape}."
        )
    for argument, vector in vectors.items():
        if vector is not None and tuple(vector.shape) != shape:
            raise RuntimeError(f"{name}(): {argument} must have shape {shape}, but has {vector.shape}.")
    return shape


def rms_norm(input, normalized_shape, weight=None, eps=None, *, ops):
    """Each input over the root of the mean square of its last dimensions."""
    require_arrays("rms_norm", input=input, weight=weight)
    shape = trailing("rms_norm", input, normalized_shape, weight=weight)
    eps = float(np.finfo(input.dtype).eps) if eps is None else eps
    if input.dtype == np.float16:
        return ops.to(rms_norm(ops.to(input, np.dtype(np.float32)), shape, weight, eps, ops=ops), input.dtype)
    out = input * ops.rsqrt(ops.mean(input * input, tuple(range(-len(shape), 0)), True) + eps)
    return out if weight is None else out * weight


@over_real_numbers
def native_layer_norm(input, normalized_shape, weight, bias, eps, *, ops):
    """layer_norm, and the mean and 1 / sqrt(variance + eps) of each input."""
    require_arrays("native_layer_norm", input=input, weight=weight, bias=bias)
    shape = trailing("native_layer_norm", input, normalized_shape, weight=weight, bias=bias)
    centred, mean, variance = moments(input, tuple(range(-len(shape), 0)), ops)
    inverse = ops.rsqrt(variance + eps)
    out = centred * inverse
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, inverse


@over_real_numbers
def native_group_norm(input, weight, bias, N, C, HxW, group, eps, *, ops):
    """group_norm of N inputs of C channels with HxW elements each; the mean and 1 / sqrt(variance + eps) of each."""
    require_arrays("native_group_norm", input=input, weight=weight, bias=bias)
    if group <= 0 or C % group:
        raise RuntimeError(f"native_group_norm(): {C} channels cannot be divided into {group} groups.")
    if input.size != N * C * HxW:
        raise RuntimeError(
            f"native_group_norm(): input must have N * C * HxW = {N * C * HxW} elements, but has {input.shape}."
        )
    check_channels("native_group_norm", C, weight=weight, bias=bias)
    groups = ops.reshape(input, (N, group, C // group * HxW))
    centred, mean, variance = moments(groups, (2,), ops)
    inverse = ops.rsqrt(variance + eps)
    out = ops.reshape(centred * inverse, input.shape)
    weight, bias = (None if x is None else by_channel(x, input.ndim, ops) for x in (weight, bias))
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return out, ops.reshape(mean, (N, group)), ops.reshape(inverse, (N, group))


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0, *, ops):
    """Each element over a power of the mean square of its neighbours in `size` channels."""
    require_arrays("local_response_norm", input=input)
    if input.ndim < 3:
        raise ValueError(
            f"local_response_norm(): input must have at least 3 dimensions, (N, C, ...), but has {input.shape}."
        )
    if input.size == 0:
        return input
    around = [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2]
    squares = ops.constant_pad_nd(input * input, around, 0.0)
    total = ops.sum(ops.unfold(squares, 1, size, 1), -1)
    mean = total // size if total.dtype.kind in "iu" else total / size  # PyTorch's mean of integers is one too
    return input / (mean * alpha + k) ** beta


def normalize(input, p=2.0, dim=1, eps=1e-12, *, ops):
    """Vectors along dim over their p-norm, or over eps where that is larger."""
    return input / ops.clamp_min(ops.linalg_vector_norm(input, p, dim, True), eps)
