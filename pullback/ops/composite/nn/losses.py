"""The losses of `nn.functional` made of other operators."""

import math

import numpy as np

from pullback.core.loss_arguments import check_reduction, warn_of_sizes
from pullback.ops.composite.checks import require_arrays

FAR = 100  # where softplus goes over to the identity: log(1 + exp(-100)) is lost beside 100 in double precision


def reduced(loss, reduction, ops):
    """The mean, the sum, or the loss of each element."""
    if reduction == "none":
        return loss
    return ops.mean(loss) if reduction == "mean" else ops.sum(loss)


def l1_loss(input, target, *, reduction="mean", ops):
    """|input - target|."""
    check_reduction("l1_loss", reduction)
    size = ops.abs(input - target)
    warn_of_sizes(input, target)
    return reduced(size, reduction, ops)


def smooth_l1_loss(input, target, *, reduction="mean", beta=1.0, ops):
    """A parabola within beta, straight lines beyond."""
    check_reduction("smooth_l1_loss", reduction)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss(): beta must not be negative, but got {beta}.")
    error = input - target
    warn_of_sizes(input, target)
    size = ops.abs(error)
    if beta:
        inside = ops.lt(size, beta)
        size = ops.where(inside, parabola(error) / beta, size - 0.5 * beta)
    return reduced(size, reduction, ops)


def huber_loss(input, target, reduction="mean", delta=1.0, *, ops):
    """delta times smooth_l1_loss."""
    check_reduction("huber_loss", reduction)
    if delta <= 0:
        raise RuntimeError(f"huber_loss(): delta must be positive, but got {delta}.")
    error = input - target
    warn_of_sizes(input, target)
    size = ops.abs(error)
    inside = ops.le(size, delta)
    return reduced(ops.where(inside, parabola(error), delta * (size - 0.5 * delta)), reduction, ops)


def parabola(error):
    """error**2 / 2; not that of |error|, whose slope at 0 is 0, so that the curvature there would be 0 too."""
    return 0.5 * error * error


def cross_entropy(input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0, ops):
    """nll_loss of log_softmax for class indices; for probabilities, and smoothed labels, their weighted sum."""
    if weight is None and label_smoothing == 0 and getattr(input, "ndim", 0) == 2 and getattr(target, "ndim", 0) == 1:
        return ops.cross_entropy_loss(input, target, reduction, ignore_index)  # the commonest case, in one node
    check_reduction("cross_entropy", reduction)
    require_arrays("cross_entropy", input=input, target=target, weight=weight)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"cross_entropy(): label_smoothing must lie between 0 and 1, but got {label_smoothing}.")
    if input.ndim == 0:
        raise ValueError("cross_entropy(): input must have at least one dimension, the classes; it is 0-d.")
    dim = 0 if input.ndim == 1 else 1
    log_p = ops.log_softmax(input, dim)
    if input.shape == target.shape:
        if ignore_index >= 0:
            raise RuntimeError("cross_entropy(): ignore_index means nothing where target holds class probabilities.")
        return cross_entropy_of_probabilities(log_p, target, weight, dim, reduction, label_smoothing, ops)
    nll = ops.nll_loss(log_p, target, weight, reduction=reduction, ignore_index=ignore_index)
    if label_smoothing == 0:
        return nll
    smooth = smoothing_loss(log_p, target, weight, dim, reduction, ignore_index, ops)
    return (1 - label_smoothing) * nll + (label_smoothing / input.shape[dim]) * smooth


def per_class(weight, ndim, dim, ops):
    """Weights of the classes, ready to multiply scores whose classes are dimension `dim`."""
    return ops.reshape(weight, [-1 if i == dim else 1 for i in range(ndim)])


def cross_entropy_of_probabilities(log_p, target, weight, dim, reduction, label_smoothing, ops):
    """-sum of target * weight * log_p over the classes; the mean is one over the rows, whatever they weigh."""
    if target.dtype.kind not in "fc":
        raise RuntimeError(
            f"cross_entropy(): target of the same shape as input holds class probabilities, but its dtype is "
            f"{target.dtype}; class indices have the shape of input without the dimension of the classes."
        )
    classes = log_p.shape[dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    scores = log_p * target
    if weight is not None:
        scores = scores * per_class(weight, log_p.ndim, dim, ops)
    if reduction == "none":
        return -ops.sum(scores, dim)
    rows = math.prod(n for d, n in enumerate(log_p.shape) if d != dim) if reduction == "mean" else 1
    return -ops.sum(scores) / (rows or math.nan)  # as the mean of nothing


def smoothing_loss(log_p, target, weight, dim, reduction, ignore_index, ops):
    """-sum of weight * log_p over the classes, for targets that are not ignored."""
    scores = log_p if weight is None else log_p * per_class(weight, log_p.ndim, dim, ops)
    ignored = ops.eq(target, ignore_index)
    loss = ops.where(ignored, 0.0, -ops.sum(scores, dim))
    if reduction == "none":
        return loss
    if reduction == "sum":
        return ops.sum(loss)
    counted = ops.logical_not(ignored)
    if weight is not None:
        counted = ops.where(ignored, 0.0, ops.take(weight, ops.where(ignored, 0, target)))
    return ops.sum(loss) / ops.sum(counted, dtype=loss.dtype)


def binary_cross_entropy(input, target, weight=None, *, reduction="mean", ops):
    """Binary cross entropy of probabilities; see binary_cross_entropy_with_logits for unbounded scores."""
    check_reduction("binary_cross_entropy", reduction)
    require_arrays("binary_cross_entropy", input=input, target=target)
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy(): input and target must have the same shape, but have {input.shape} and "
            f"{target.shape}."
        )
    loss = ops.binary_cross_entropy_elements(input, target)
    return reduced(loss if weight is None else loss * weight, reduction, ops)


def binary_cross_entropy_with_logits(input, target, weight=None, *, reduction="mean", pos_weight=None, ops):
    """Binary cross entropy of scores: (1 - t) log(1 + exp(x)) + t log(1 + exp(-x))."""
    check_reduction("binary_cross_entropy_with_logits", reduction)
    require_arrays("binary_cross_entropy_with_logits", input=input, target=target)
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits(): input and target must have the same shape, but have {input.shape} "
            "and "
            f"{target.shape}."
        )
    if pos_weight is None:
        loss = ops.binary_cross_entropy_logit_elements(input, target)
    else:
        loss = (1 - target) * ops.softplus(input, 1, FAR) + pos_weight * target * ops.softplus(-input, 1, FAR)
    return reduced(loss if weight is None else loss * weight, reduction, ops)


def cosine_similarity(x1, x2, dim=1, eps=1e-8, *, ops):
    """x1 . x2 over the product of the norms, each at least eps (and then constant)."""
    require_arrays("cosine_similarity", x1=x1, x2=x2)
    try:
        shape = np.broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        raise RuntimeError(
            f"cosine_similarity(): x1 and x2 must broadcast, but their shapes are {tuple(x1.shape)} and "
            f"{tuple(x2.shape)}."
        ) from None
    x1, x2 = ops.expand(x1, shape), ops.expand(x2, shape)
    first, second = (x / ops.clamp_min(ops.linalg_vector_norm(x, 2, dim, True), eps) for x in (x1, x2))
    return ops.sum(first * second, dim)


def kl_div(input, target, *, reduction="mean", log_target=False, ops):
    """t (log(t) - x); xlogy makes it 0 at t = 0."""
    require_arrays("kl_div", input=input, target=target)
    if reduction != "batchmean":
        check_reduction("kl_div", reduction)
    entropy = ops.exp(target) * target if log_target else ops.xlogy(target, target)
    loss = entropy - (ops.exp(target) if log_target else target) * input
    if reduction == "batchmean":
        return ops.sum(loss) / (input.shape[0] if input.ndim else 1)
    return reduced(loss, reduction, ops)
