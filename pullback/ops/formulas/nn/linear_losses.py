"""Helpers of the derivatives of linear_cross_entropy in chunks: scores are made again where they are needed.

Over arrays nothing of the size of all scores is ever there. A second derivative is that of the operators below, which
keep what they save: all scores, as without chunks.
"""

__all__ = ["linear_cross_entropy_backward", "linear_cross_entropy_jvp"]


def linear_cross_entropy_backward(
    grad, input, linear_weight, target, linear_bias, weight, ignore_index, rows, mask, *, ops
):
    """The gradients to input, linear_weight and linear_bias that `mask` asks for, None for the others."""
    how = {"reduction": "none", "ignore_index": ignore_index}
    to_input, to_weight, to_bias = [], None, None
    for first, count in _chunks(input, rows):
        x, labels, share = (ops.narrow(a, 0, first, count) for a in (input, target, grad))
        log_p = ops.log_softmax(ops.linear(x, linear_weight, linear_bias), 1)
        units = ops.nll_loss_backward(share, tuple(log_p.shape), labels, weight, **how)
        slope = ops.log_softmax_backward(units, log_p, 1)
        if mask[0]:
            to_input.append(ops.matmul(slope, linear_weight))
        if mask[1]:
            part = ops.matmul(ops.transpose(slope, 0, 1), x)
            to_weight = part if to_weight is None else to_weight + part
        if mask[2]:
            part = ops.sum(slope, 0)
            to_bias = part if to_bias is None else to_bias + part
    return ops.cat(to_input, 0) if mask[0] else None, to_weight, to_bias


def linear_cross_entropy_jvp(primals, tangents, target, weight, ignore_index, rows, *, ops):
    """The tangent of each row's loss; those are of input, linear_weight, linear_bias; not all are None."""
    (input, linear_weight, linear_bias), (input_t, weight_t, bias_t) = primals, tangents
    found = []
    for first, count in _chunks(input, rows):
        x, labels = ops.narrow(input, 0, first, count), ops.narrow(target, 0, first, count)
        p = ops.softmax(ops.linear(x, linear_weight, linear_bias), 1)
        x_t = None if input_t is None else ops.narrow(input_t, 0, first, count)
        moved = _scores_tangent(x, linear_weight, x_t, weight_t, bias_t, p, ops)
        moved = moved - ops.sum(p * moved, 1, True)
        found.append(ops.nll_loss(moved, labels, weight, reduction="none", ignore_index=ignore_index))
    return ops.cat(found, 0)


def _scores_tangent(x, linear_weight, x_t, weight_t, bias_t, p, ops):
    terms = [] if x_t is None else [ops.linear(x_t, linear_weight)]
    terms += [] if weight_t is None else [ops.linear(x, weight_t)]
    terms += [] if bias_t is None else [ops.expand(bias_t, tuple(p.shape))]
    return sum(terms[1:], terms[0])


def _chunks(input, rows):
    """(first row, number of rows) of each; one of none where there are no rows."""
    count = input.shape[0]
    return [(first, min(rows, count - first)) for first in range(0, max(count, 1), rows)]
