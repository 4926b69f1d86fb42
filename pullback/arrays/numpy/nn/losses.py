"""NumPy kernels of the losses of `nn.functional` that are primitives."""

import math

import numpy as np

from pullback.arrays.numpy.dtypes import in_common
from pullback.arrays.numpy.fast.kept_vectors import MOST, ones_of, steps_of
from pullback.arrays.numpy.fast.products_with_ones import row_sums
from pullback.arrays.numpy.nn.layers import floating_only, log_softmax, log_softmax_backward
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered
from pullback.core.loss_arguments import check_reduction, warn_of_sizes


def lifted_variance(self, eps):
    """Variances, and eps where one is less; the derivative is that of self everywhere, so that it can grow again."""
    if (self < 0).any():
        raise ValueError("gaussian_nll_loss(): var has negative elements.")
    return np.maximum(self, eps)


def mse_loss(input, target, reduction="mean"):
    """The squared error; its sum as one dot product."""
    check_reduction("mse_loss", reduction)
    error = np.subtract(input, target)
    warn_of_sizes(input, target)
    floating_only("mse_loss", error.dtype)
    if reduction == "none":
        return np.square(error)
    flat = error.ravel()
    half = error.dtype.char == "e"  # its sum may overflow where the mean does not
    if half:
        flat = flat.astype(np.float32)
    total = flat.dot(flat)
    result = total if reduction == "sum" else total / error.size
    return result.astype(error.dtype) if half else result


def binary_cross_entropy_logit_elements(input, target):
    """log(1 + exp(x)) - t x as x (1 - t) or -x t by the sign, plus log(1 + exp(-|x|)): nothing cancels."""
    refuse_unordered(input, target)
    input, target = in_common(input, target)
    out = np.asarray(np.subtract(input > 0, target) * input)
    soft = np.asarray(np.abs(input))
    np.negative(soft, out=soft)
    np.exp(soft, out=soft)
    out += np.log1p(soft, out=soft)
    return out


def binary_cross_entropy_elements(input, target):
    """-(t log p + (1 - t) log(1 - p)), each logarithm at least -100."""
    refuse_unordered(input, target)
    if not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError(
            "binary_cross_entropy(): all elements of input must lie between 0 and 1; "
            "for unbounded scores use binary_cross_entropy_with_logits."
        )
    with np.errstate(divide="ignore"):
        log_p, log_q = (np.clip(log, -100, math.inf) for log in (np.log(input), np.log1p(-input)))
    return (target - 1) * log_q - target * log_p


def _check_targets(sizes, target, weight):
    """Refuse targets that are no indices or do not fit scores of shape `sizes`, and weights not one a class."""
    classes_at = 0 if len(sizes) == 1 else 1
    classes, expected = sizes[classes_at], sizes[:classes_at] + sizes[classes_at + 1 :]
    if target.dtype.kind not in "iu":
        raise RuntimeError(f"nll_loss(): target must hold integer class indices, but its dtype is {target.dtype}.")
    if target.shape != expected:
        raise ValueError(
            f"nll_loss(): for input of shape {sizes} target must have shape {expected}, but it has {target.shape}."
        )
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"nll_loss(): weight must have one element a class, shape {(classes,)}, but it has {weight.shape}."
        )


def _lowest(target):
    """The lowest class index; 0 if there are none."""
    return np.minimum.reduce(target, axis=None) if target.size else 0


def _weighed_targets(target, weight, ignore_index):
    """(class indices, with 0 for ignored ones; each target's weight, None when all are 1).

    Indices past the last class are left to indexing, which refuses them; negative ones it would count from the end.
    """
    ignored = None
    if ignore_index >= 0 or _lowest(target) < 0:
        ignored = target == ignore_index
        target = np.where(ignored, 0, target)
        if (lowest := _lowest(target)) < 0:
            raise IndexError(f"target holds {lowest}, which is not a class (and ignore_index is {ignore_index}).")
    weights = None if weight is None else weight[target]
    if ignored is not None:
        weights = ~ignored if weights is None else weights * ~ignored
    return target, weights


def _class_index(sizes, target):
    """An index that takes from an array of `sizes` the elements that `target` names."""
    if len(sizes) == 1:
        return target
    if len(sizes) == 2:
        return np.arange(sizes[0]), target
    grid = np.indices(target.shape, sparse=True)
    return grid[0], target, *grid[1:]


def nll_loss(input, target, weight=None, reduction="mean", ignore_index=-100):
    """-weight[target] input[target], reduced; the mean is divided by the sum of the weights."""
    check_reduction("nll_loss", reduction)
    if input.ndim == 0:
        raise ValueError("nll_loss(): input must have at least one dimension, the classes; it is 0-d.")
    floating_only("nll_loss", input.dtype)
    _check_targets(input.shape, target, weight)
    target, weights = _weighed_targets(target, weight, ignore_index)
    picked = input[_class_index(input.shape, target)]
    if weights is not None:
        # Not by a product: what is ignored may be infinite.
        picked = np.where(weights != 0, picked, input.dtype.type(0)) * weights
    if reduction == "none":
        return np.negative(picked)
    total = -np.add.reduce(picked, axis=None)
    return total if reduction == "sum" else np.true_divide(total, _total_weight(target, weights, input.dtype))


def _total_weight(target, weights, dtype):
    return target.size if weights is None else np.add.reduce(weights, axis=None, dtype=dtype)


def nll_loss_backward(grad_output, sizes, target, weight=None, reduction="mean", ignore_index=-100):
    """The transpose of nll_loss: zeros of `sizes`, with the gradients where the targets are."""
    dtype = grad_output.dtype
    target, weights = _weighed_targets(target, weight, ignore_index)
    values = -grad_output
    if reduction == "mean":
        values = values / _total_weight(target, weights, dtype)
    if weights is not None:
        values = np.where(weights != 0, values, dtype.type(0)) * weights
    out = np.zeros(sizes, dtype)
    out[_class_index(sizes, target)] = values
    return out


# -- cross entropy ---------------------------------------------------------------------------------------------------
# A batch of short rows takes microseconds, most of them the overhead of NumPy's calls, so the commonest case has a way
# of its own with few calls: the softmax as a quotient of exponentials, computed again in backward.
_MODERATE = 16  # scores within this need no shift: their exponentials keep all digits, the loss loses 16 eps at most
_INT64 = np.dtype(np.int64)
_SHORT = 256  # classes; longer rows are better served one by one


def _plain_scores(input, target, reduction, ignore_index):
    """The scores, ready for exp, if there are few classes, all scores finite and all targets valid; else None."""
    if input.ndim != 2 or input.dtype.char not in "fd" or target.dtype != _INT64 or ignore_index >= 0:
        return None
    rows, classes = input.shape
    if not (
        rows > 0
        and 0 < classes <= _SHORT
        and target.shape == (rows,)
        and reduction != "none"
        and input.flags.c_contiguous
    ):
        return None
    # By argmax, which takes a third of the time of max, and finds nan if there is one. Seen as unsigned, negative
    # targets are the largest.
    if not 0 <= target.item(target.view(np.uint64).argmax()) < classes:
        return None
    low, high = input.item(input.argmin()), input.item(input.argmax())
    if low >= -_MODERATE and high <= _MODERATE:
        return input
    return input - np.maximum.reduce(input, axis=1, keepdims=True) if -math.inf < low and high < math.inf else None


def _first_places(rows, classes):
    """Where each row begins."""
    return steps_of(rows, classes) if rows <= MOST else np.arange(0, rows * classes, classes)


def cross_entropy_loss(input, target, reduction="mean", ignore_index=-100):
    """log(sum(exp(x))) - x[target] of each row, reduced."""
    check_reduction("cross_entropy", reduction)
    scores = _plain_scores(input, target, reduction, ignore_index)
    if scores is None:
        return nll_loss(log_softmax(input, 1), target, None, reduction, ignore_index)
    rows, classes = input.shape
    losses = np.log(row_sums(np.exp(scores)))
    losses -= scores.take(_first_places(rows, classes) + target)
    total = losses.dot(ones_of(rows, input.dtype)) if rows <= MOST else np.add.reduce(losses)
    return total if reduction == "sum" else total / rows


def cross_entropy_loss_backward(grad_output, input, target, reduction="mean", ignore_index=-100):
    """The softmax less 1 at the target, by each row's share in the loss."""
    scores = _plain_scores(input, target, reduction, ignore_index)
    if scores is None:
        units = nll_loss_backward(grad_output, input.shape, target, None, reduction, ignore_index)
        return log_softmax_backward(units, log_softmax(input, 1), 1)
    rows, classes = input.shape
    share = grad_output.item() if reduction == "sum" else grad_output.item() / rows
    out = np.exp(scores)
    sums = row_sums(out)
    out *= np.divide(share, sums, out=sums)[:, None]
    out.ravel()[_first_places(rows, classes) + target] -= share
    return out
