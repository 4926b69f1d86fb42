"""The losses of `nn.functional` that ask for a margin, and the distance they are made of.

Where a hinge bends, its slope is that of `relu`, 0, or of `clamp_min`, 1, as PyTorch has it for each loss.
"""

import numpy as np

from pullback.core.loss_arguments import check_reduction
from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.nn.losses import FAR, reduced


# -- two inputs ------------------------------------------------------------------------------------------------------
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False, *, ops):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return ops.linalg_vector_norm(x1 - x2 + eps, p, -1, keepdim)


def hinge_embedding_loss(input, target, *, margin=1.0, reduction="mean", ops):
    """x where the target is 1, max(0, margin - x) where it is -1; the sum of both elsewhere."""
    check_reduction("hinge_embedding_loss", reduction)
    require_arrays("hinge_embedding_loss", input=input)
    apart = ops.where(ops.ne(target, 1), ops.clamp_min(margin - input, 0.0), 0.0)
    return reduced(apart + ops.where(ops.ne(target, -1), input, 0.0), reduction, ops)


def cosine_embedding_loss(input1, input2, target, *, margin=0.0, reduction="mean", ops):
    """1 - cos of the angle where the target is 1, max(0, cos - margin) where it is -1."""
    check_reduction("cosine_embedding_loss", reduction)
    require_arrays("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    if target.ndim not in (0, 1) or not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            "cosine_embedding_loss(): a target (N,) needs inputs (N, D), and a 0-d one (D,), but the shapes are "
            f"{input1.shape}, {input2.shape} and {target.shape}."
        )
    first, second = (ops.sum(x * x, -1) + 1e-12 for x in (input1, input2))
    # Two roots, not the root of the product, which overflows where the quotient is finite.
    cosine = ops.sum(input1 * input2, -1) * ops.rsqrt(first) * ops.rsqrt(second)
    near = ops.where(ops.eq(target, 1), 1 - cosine, 0.0)
    far = ops.where(ops.eq(target, -1), ops.clamp_min(cosine - margin, 0.0), 0.0)
    return reduced(near + far, reduction, ops)


def margin_ranking_loss(input1, input2, target, *, margin=0.0, reduction="mean", ops):
    """max(0, margin - target (x1 - x2))."""
    check_reduction("margin_ranking_loss", reduction)
    require_arrays("margin_ranking_loss", input1=input1, input2=input2, target=target)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss(): input1, input2 and target must have the same number of dimensions, but their "
            "shapes are "
            f"{input1.shape}, {input2.shape} and {target.shape}."
        )
    return reduced(ops.clamp_min(margin - target * (input1 - input2), 0.0), reduction, ops)


def soft_margin_loss(input, target, *, reduction="mean", ops):
    """log(1 + exp(-target x))."""
    check_reduction("soft_margin_loss", reduction)
    score = target * input
    if tuple(score.shape) != tuple(input.shape):
        raise RuntimeError(
            f"soft_margin_loss(): a target of shape {tuple(target.shape)} makes more of an input of shape "
            f"{tuple(input.shape)}: {tuple(score.shape)}. Give it the input's shape: target.reshape(input.shape)."
        )
    return reduced(ops.softplus(-score, 1, FAR), reduction, ops)


# -- triplets --------------------------------------------------------------------------------------------------------
def triplet_margin_loss(anchor, positive, negative, *, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean", ops):
    """The triplet loss by pairwise_distance."""

    def distance(x, y):
        return pairwise_distance(x, y, p, eps, ops=ops)

    return triplets("triplet_margin_loss", anchor, positive, negative, distance, margin, swap, reduction, ops)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean", ops
):
    """The triplet loss by any distance."""
    name = "triplet_margin_with_distance_loss"
    distance = distance_function or (lambda x, y: pairwise_distance(x, y, ops=ops))
    return triplets(name, anchor, positive, negative, distance, margin, swap, reduction, ops)


def triplets(name, anchor, positive, negative, distance, margin, swap, reduction, ops):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)); if swap, the negative's nearer distance counts."""
    check_reduction(name, reduction)
    require_arrays(name, anchor=anchor, positive=positive, negative=negative)
    if margin <= 0:
        raise ValueError(f"{name}(): margin must be greater than 0, got {margin}.")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"{name}(): anchor, positive and negative must have the same number of dimensions, but their shapes are "
            f"{anchor.shape}, {positive.shape} and {negative.shape}."
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(ops.clamp_min(margin + near - far, 0.0), reduction, ops)


# -- classes ---------------------------------------------------------------------------------------------------------
def check_scores(name, input):
    """Refuse scores that are not (N, C) or (C,) with at least one class."""
    if input.ndim not in (1, 2) or input.shape[-1] == 0:
        raise RuntimeError(f"{name}(): input must have shape (N, C) or (C,), C > 0, but has {input.shape}.")


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, *, reduction="mean", ops):
    """The mean over the other classes' scores x of weight[y] max(0, margin - x[y] + x)**p, p = 1 or 2."""
    check_reduction("multi_margin_loss", reduction)
    require_arrays("multi_margin_loss", input=input, target=target, weight=weight)
    input = input if input.ndim else ops.reshape(input, (1,))
    check_multi_margin(input, target, p, weight)
    classes = input.shape[-1]
    label = ops.reshape(target, (*input.shape[:-1], 1))
    gap = ops.relu(margin - ops.gather(input, -1, label) + input)
    gap = gap * gap if p == 2 else gap
    if weight is not None:
        gap = gap * ops.reshape(ops.take(weight, target), label.shape)
    others = ops.ne(label, ops.arange(classes))
    loss = ops.sum(ops.where(others, gap, 0.0), -1) / classes
    return reduced(ops.reshape(loss, target.shape) if reduction == "none" else loss, reduction, ops)


def check_multi_margin(input, target, p, weight):
    """Refuse what multi_margin_loss has no meaning for."""
    check_scores("multi_margin_loss", input)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): p must be 1 or 2, but got {p}.")
    rows = input.shape[0] if input.ndim == 2 else 1
    if target.size != rows or target.ndim > 1:
        raise RuntimeError(
            f"multi_margin_loss(): target must have one class a row, shape {(rows,)}, but has {target.shape}."
        )
    if target.dtype.kind not in "iu":
        raise RuntimeError(f"multi_margin_loss(): target must hold integer classes, but its dtype is {target.dtype}.")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"multi_margin_loss(): weight must be one-dimensional, but has shape {weight.shape}.")
    if weight is not None and weight.shape[0] != input.shape[-1]:
        raise RuntimeError(
            f"multi_margin_loss(): weight must have one element a class, {input.shape[-1]}, but has {weight.shape}."
        )


def multilabel_margin_loss(input, target, *, reduction="mean", ops):
    """sum of max(0, 1 - x[y] + x[j]) over the labels y (those before the first -1) and the other classes j, over C."""
    check_reduction("multilabel_margin_loss", reduction)
    require_arrays("multilabel_margin_loss", input=input, target=target)
    if input.ndim == 0:
        input, target = ops.reshape(input, (1,)), ops.reshape(target, (1,))
    check_scores("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"multilabel_margin_loss(): target must have input's shape {input.shape}, but has {target.shape}."
        )
    classes = input.shape[-1]
    given = ops.gt(ops.cumprod(ops.to(ops.ge(target, 0), np.dtype(np.int64)), -1), 0)
    labels = ops.where(given, target, 0)
    is_label = ops.logical_and(ops.eq(ops.unsqueeze(labels, -1), ops.arange(classes)), ops.unsqueeze(given, -1))
    others = ops.logical_not(ops.any(is_label, -2, True))
    gap = ops.relu(1 - ops.unsqueeze(ops.gather(input, -1, labels), -1) + ops.unsqueeze(input, -2))
    counted = ops.logical_and(ops.unsqueeze(given, -1), others)
    return reduced(ops.sum(ops.where(counted, gap, 0.0), (-2, -1)) / classes, reduction, ops)


def multilabel_soft_margin_loss(input, target, weight=None, *, reduction="mean", ops):
    """The mean over classes of -(t log(sigmoid(x)) + (1 - t) log(sigmoid(-x)))."""
    check_reduction("multilabel_soft_margin_loss", reduction)
    require_arrays("multilabel_soft_margin_loss", input=input, target=target)
    loss = (1 - target) * input + ops.softplus(-input, 1, FAR)
    loss = loss if weight is None else loss * weight
    return reduced(ops.mean(loss, -1), reduction, ops)
