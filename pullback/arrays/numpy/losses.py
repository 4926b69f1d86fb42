"""NumPy kernels of the losses of `nn.functional` that are primitives."""

import numpy as np

from pullback.arrays.numpy.nn import floating_only

__all__ = [
    "binary_cross_entropy_elements",
    "mse_loss",
    "nll_loss",
    "nll_loss_backward",
]


def _check_reduction(name, reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{name}(): reduction must be 'none', 'mean' or 'sum'; {reduction!r} is not a valid value.")


def mse_loss(input, target, reduction="mean"):
    """The squared error; its sum as one dot product."""
    _check_reduction("mse_loss", reduction)
    error = np.subtract(input, target)
    floating_only("mse_loss", error.dtype)
    if reduction == "none":
        return np.square(error)
    flat = error.ravel()
    total = np.dot(flat, flat)
    return total if reduction == "sum" else np.true_divide(total, error.size, dtype=error.dtype)


def binary_cross_entropy_elements(input, target):
    """-(t log p + (1 - t) log(1 - p)), each logarithm at least -100."""
    if not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError(
            "binary_cross_entropy(): all elements of input must lie between 0 and 1; "
            "for unbounded scores use binary_cross_entropy_with_logits."
        )
    with np.errstate(divide="ignore"):
        log_p, log_q = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
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
            raise IndexError(f"target holds {lowest}, which is no class (and ignore_index is {ignore_index}).")
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
    _check_reduction("nll_loss", reduction)
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
