"""The losses of `nn.functional` that are negative log-likelihoods of counts, measurements and sequences."""

import math

import numpy as np

from pullback.core.modes import no_grad
from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.losses import check_reduction, cross_entropy, reduced

__all__ = ["ctc_loss", "gaussian_nll_loss", "linear_cross_entropy", "poisson_nll_loss"]


def poisson_nll_loss(input, target, log_input=True, full=False, *, eps=1e-8, reduction="mean", ops):
    """rate - target log(rate); with log_input, input is the logarithm of the rate. `full` adds Stirling's log(t!)."""
    check_reduction("poisson_nll_loss", reduction)
    loss = ops.exp(input) - target * input if log_input else input - target * ops.log(input + eps)
    if full:
        many = ops.gt(target, 1)
        count = ops.where(many, target, 1)  # harmless where the branch is not taken
        stirling = count * ops.log(count) - count + 0.5 * ops.log(2 * math.pi * count)
        loss = loss + ops.where(many, stirling, 0.0)
    return reduced(loss, reduction, ops)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean", *, ops):
    """(log(var) + (input - target)**2 / var) / 2, plus log(2 pi) / 2 if full; var counts as eps where it is less.

    A variance below eps still gets the gradient that one of eps would get: it could never grow again otherwise.
    """
    check_reduction("gaussian_nll_loss", reduction)
    require_arrays("gaussian_nll_loss", input=input, target=target)
    var = var if hasattr(var, "dtype") else ops.full_like(input, var)
    with no_grad():
        if bool(ops.any(ops.lt(var, 0))):
            raise ValueError("gaussian_nll_loss(): var has negative elements.")
        lift = ops.clamp_min(eps - var, 0.0)
    if var.shape != input.shape and var.ndim:
        if var.shape == input.shape[:-1]:
            var, lift = ops.unsqueeze(var, -1), ops.unsqueeze(lift, -1)
        elif var.shape[:-1] != input.shape[:-1] or var.shape[-1] != 1:
            raise ValueError(
                "gaussian_nll_loss(): var must have the shape of input, or that with one element (or none) in the "
                f"last dimension, but var has {var.shape} and input {input.shape}."
            )
    var = var + lift
    error = input - target
    loss = 0.5 * (ops.log(var) + error * error / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction, ops)


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    ops,
):
    """cross_entropy of linear(input, linear_weight, linear_bias); dimensions of the weight between follow classes."""
    require_arrays("linear_cross_entropy", input=input, linear_weight=linear_weight, target=target)
    check_linear(input, linear_weight, linear_bias)
    between = linear_weight.shape[1:-1]
    shape = (*input.shape[:-1], linear_weight.shape[0], *between)
    if ignore_index is not None and tuple(target.shape) == shape:
        raise RuntimeError("linear_cross_entropy(): ignore_index means nothing where target holds probabilities.")
    if between:
        linear_weight = ops.reshape(linear_weight, (-1, input.shape[-1]))
        linear_bias = None if linear_bias is None else ops.reshape(linear_bias, (-1,))
    scores = ops.reshape(ops.linear(input, linear_weight, linear_bias), shape)
    ignored = -100 if ignore_index is None else ignore_index
    how = {"reduction": reduction, "ignore_index": ignored, "label_smoothing": label_smoothing}
    return cross_entropy(scores, target, weight, **how, ops=ops)


def check_linear(input, linear_weight, linear_bias):
    """Refuse shapes that linear_cross_entropy has no meaning for."""
    if input.ndim not in (1, 2) or linear_weight.ndim < 2 or input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "linear_cross_entropy(): input must have shape (N, F) or (F,) and linear_weight (C, ..., F), but they have "
            f"{input.shape} and {linear_weight.shape}."
        )
    if linear_bias is not None and tuple(linear_bias.shape) != tuple(linear_weight.shape[:-1]):
        raise RuntimeError(
            f"linear_cross_entropy(): linear_bias must have shape {linear_weight.shape[:-1]}, but has "
            f"{linear_bias.shape}."
        )
    if linear_weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"linear_cross_entropy(): linear_weight of shape {linear_weight.shape} needs input (N, F), but it has "
            f"{input.shape}."
        )


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False, *, ops):
    """-log of the probability that the frames spell the targets; the mean is over each target's length first."""
    check_reduction("ctc_loss", reduction)
    require_arrays("ctc_loss", log_probs=log_probs, targets=targets)
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss(): log_probs must have shape (T, N, C) or (T, C), but has {log_probs.shape}.")
    single = log_probs.ndim == 2
    if single:
        log_probs = ops.unsqueeze(log_probs, 1)
    lengths = [x if hasattr(x, "dtype") else np.asarray(x, np.int64) for x in (input_lengths, target_lengths)]
    lengths = [ops.reshape(x, (-1,)) for x in lengths]
    loss = ops.ctc_loss_rows(log_probs, targets, *lengths, blank)[0]
    if zero_infinity:
        loss = ops.where(ops.eq(loss, math.inf), 0.0, loss)
    if reduction == "mean":
        return ops.mean(loss / ops.to(ops.clamp_min(lengths[1], 1), loss.dtype))
    if reduction == "sum":
        return ops.sum(loss)
    return ops.squeeze(loss, 0) if single else loss
