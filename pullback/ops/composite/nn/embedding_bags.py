"""`nn.functional.embedding_bag`."""

from pullback.core.modes import no_grad
from pullback.ops.composite.checks import require_arrays


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
    *,
    ops,
):
    """The sum, mean or maximum of the rows of weight that each bag of indices names; 0 for an empty bag."""
    del sparse  # a wish about the form of the gradient, which is dense here
    require_arrays("embedding_bag", input=input, weight=weight, offsets=offsets, per_sample_weights=per_sample_weights)
    check_bags(input, weight, offsets, mode, per_sample_weights)
    if input.ndim == 2:
        bags, each = input.shape
        starts = ops.arange(bags) * each
        input = ops.reshape(input, (bags * each,))
        per_sample_weights = None if per_sample_weights is None else ops.reshape(per_sample_weights, (bags * each,))
    else:
        starts = offsets[:-1] if include_last_offset else offsets
    bag, count = ops.bag_of_each(starts, input, weight.shape[0], padding_idx)
    rows = ops.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    if mode == "max":
        return largest_of_bags(rows, bag, count, ops)
    if per_sample_weights is not None:
        rows = rows * ops.unsqueeze(per_sample_weights, -1)
    # One bag more, where padding goes.
    total = ops.index_add(ops.zeros((count.shape[0] + 1, weight.shape[1]), dtype=rows.dtype), 0, bag, rows)
    total = ops.narrow(total, 0, 0, count.shape[0])
    return total / ops.to(ops.unsqueeze(ops.clamp_min(count, 1), -1), total.dtype) if mode == "mean" else total


def check_bags(input, weight, offsets, mode, per_sample_weights):
    """Refuse what are no bags."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag(): mode must be 'sum', 'mean' or 'max', but got {mode!r}.")
    if weight.ndim != 2:
        raise ValueError(f"embedding_bag(): weight must be 2-D, (rows, features), but has shape {weight.shape}.")
    if input.ndim not in (1, 2):
        raise ValueError(f"embedding_bag(): input must be 1-D or 2-D, but has shape {input.shape}.")
    if input.ndim == 2 and offsets is not None:
        raise ValueError("embedding_bag(): offsets must be None where input is 2-D, whose rows are the bags.")
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        raise ValueError("embedding_bag(): where input is 1-D, offsets must be a 1-D tensor: where the bags begin.")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag(): per_sample_weights are for mode='sum' only, but mode is {mode!r}.")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag(): per_sample_weights must have input's shape {input.shape}, but has "
            f"{per_sample_weights.shape}."
        )


def largest_of_bags(rows, bag, count, ops):
    """The largest element of each column over the rows of each bag; the first of equal ones takes the gradient."""
    with no_grad():
        where = ops.bag_argmax(rows, bag, count.shape[0])
    if rows.shape[0] == 0:
        return ops.zeros((count.shape[0], rows.shape[1]), dtype=rows.dtype)
    return ops.where(ops.gt(ops.unsqueeze(count, -1), 0), ops.gather(rows, 0, where), 0.0)
