"""The losses of `nn.functional` that are negative log-likelihoods of counts, measurements and sequences."""

import math

import numpy as np

from pullback.core.arguments import as_array
from pullback.core.loss_arguments import check_reduction
from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.nn.losses import reduced


def poisson_nll_loss(input, target, log_input=True, full=False, *, eps=1e-8, reduction="mean", ops):
    """rate - target log(rate); with log_input, input is the logarithm of the rate. `full` adds Stirling's log(t!)."""
    check_reduction("poisson_nll_loss", reduction)
    require_arrays("poisson_nll_loss", input=input)
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
    var = ops.lifted_variance(var, eps)
    if var.shape != input.shape and var.ndim:
        if var.shape == input.shape[:-1]:
            var = ops.unsqueeze(var, -1)
        elif var.shape[:-1] != input.shape[:-1] or var.shape[-1] != 1:
            raise ValueError(
                "gaussian_nll_loss(): var must have the shape of input, or that with one element (or none) in the "
                f"last dimension, but var has {var.shape} and input {input.shape}."
            )
    error = input - target
    loss = 0.5 * (ops.log(var) + error * error / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction, ops)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False, *, ops):
    """-log of the probability that the frames spell the targets; the mean is over each target's length first."""
    check_reduction("ctc_loss", reduction)
    require_arrays("ctc_loss", log_probs=log_probs, targets=targets)
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss(): log_probs must have shape (T, N, C) or (T, C), but has {log_probs.shape}.")
    single = log_probs.ndim == 2
    if single:
        log_probs = ops.unsqueeze(log_probs, 1)
    lengths = [as_array(x, np.int64) for x in (input_lengths, target_lengths)]
    lengths = [ops.reshape(x, (-1,)) for x in lengths]
    loss = ops.ctc_loss_rows(log_probs, targets, *lengths, blank)[0]
    if zero_infinity:
        loss = ops.where(ops.eq(loss, math.inf), 0.0, loss)
    if reduction == "mean":
        return ops.mean(loss / ops.to(ops.clamp_min(lengths[1], 1), loss.dtype))
    if reduction == "sum":
        return ops.sum(loss)
    return ops.squeeze(loss, 0) if single else loss
