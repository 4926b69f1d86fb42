"""Helpers of the formulas of `nn.functional`."""

import math

from pullback.ops.formulas.plain_values import widened

__all__ = [
    "bce_input_slope",
    "bce_logit_slope",
    "bce_target_slope",
    "centred",
    "cross_entropy_curvature",
    "dropped_out",
    "gelu_second",
    "linear_to_input",
    "linear_to_weight",
    "mse_loss_backward",
    "mse_loss_jvp",
    "softsign_product",
    "sum_of_rows",
    "trained_rows",
]

SQRT_2_PI = math.sqrt(2 / math.pi)
INV_SQRT_TAU = 1 / math.sqrt(2 * math.pi)


def conj(x):
    """The conjugate, without the copy that NumPy makes of a real array."""
    return x.conjugate() if x.dtype.kind == "c" else x


def as_matrix(x, *, ops):
    """All leading dimensions as one."""
    return x if x.ndim == 2 else ops.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


# -- layers ----------------------------------------------------------------------------------------------------------
def linear_to_input(grad, weight, *, ops):
    """The gradient to the input: one matrix product."""
    if weight.ndim == 1:  # one output feature, without a dimension for it
        return ops.unsqueeze(grad, -1) * conj(weight)
    return ops.matmul(grad, conj(weight))


def linear_to_weight(grad, input, *, ops):
    """The gradient to the weight: one matrix product, of a transposed view."""
    if grad.ndim < input.ndim:  # one output feature, without a dimension for it
        return ops.unsqueeze(grad, -1) * conj(input)
    if grad.ndim == 2:  # the commonest case, in as few steps as there can be
        return ops.matmul(grad.T, conj(input))
    rows = grad if grad.ndim > 1 else ops.unsqueeze(grad, 0)
    inputs = input if input.ndim > 1 else ops.unsqueeze(input, 0)
    return ops.matmul(ops.transpose(as_matrix(rows, ops=ops), 0, 1), conj(as_matrix(inputs, ops=ops)))


def sum_of_rows(grad, *, ops):
    """The gradient to a bias: all leading dimensions summed, here and not by the engine, which has more cases."""
    if grad.ndim == 2:
        return ops.sum(grad, 0)
    return grad if grad.ndim == 1 else ops.sum(as_matrix(grad, ops=ops), 0)


def dropped_out(x, mask, p, train, *, ops):
    """x with native_dropout's mask and scale."""
    return ops.mul(x, mask) * (1.0 if not train else 1 / (1 - p) if p < 1 else 0.0)


def trained_rows(grad, indices, num_weights, padding_idx, scale_grad_by_freq, *, ops):
    """The rows of grad that indices name, zero for the padding row."""
    if scale_grad_by_freq:
        raise RuntimeError(
            "embedding(): with scale_grad_by_freq=True the gradient is not the derivative, so there is no "
            "second derivative; use scale_grad_by_freq=False with create_graph=True."
        )
    rows = ops.embedding_rows(indices, grad)
    if padding_idx is None:
        return rows
    return ops.where(ops.unsqueeze(ops.eq(indices, padding_idx % num_weights), -1), 0.0, rows)


# -- activations -----------------------------------------------------------------------------------------------------
def gelu_second(x, approximate, *, ops):
    """gelu''(x): pdf(x) (2 - x**2), or the second derivative of the approximation by tanh."""
    x = ops.clamp(x, -40.0, 40.0)
    square = x * x
    if approximate == "none":
        return ops.exp(square * -0.5) * INV_SQRT_TAU * (2 - square)
    twice = 2 * SQRT_2_PI * x * (1 + 0.044715 * square)
    p, q = ops.logistic(twice), ops.logistic(-twice)  # (1 + t) / 2 and (1 - t) / 2 for t = tanh, without cancelling
    slope, curve = SQRT_2_PI * (1 + 3 * 0.044715 * square), SQRT_2_PI * 6 * 0.044715 * x
    return 4 * p * q * (slope + 0.5 * x * curve - x * (p - q) * slope * slope)


def softsign_product(movement, x, *, ops):
    """How x / (1 + |x|) moves with x; for real x not by the quotient rule, whose two terms cancel."""
    shrink = ops.reciprocal(ops.abs(x) + 1)
    if x.dtype.kind != "c":
        return movement * (shrink * shrink)
    return movement * shrink - ops.sgn(x) * (ops.real(conj(x) * movement) * (shrink * shrink))


# -- losses ----------------------------------------------------------------------------------------------------------
def mse_loss_backward(grad, input, target, reduction, *, ops):
    """2 (input - target) grad, over n for a mean."""
    error = ops.sub(input, target)
    grad = widened(grad, ops=ops)
    return error * (grad * (2.0 / error.size if reduction == "mean" and error.size else 2.0))


def mse_loss_jvp(input, input_t, target, target_t, reduction, *, ops):
    """2 (input - target) (input_t - target_t), reduced; tangents that are None are zero."""
    moved = 0 if input_t is None else input_t
    if target_t is not None:
        moved = moved - target_t
    change = 2.0 * (input - target) * moved
    if reduction == "none":
        return change
    return ops.sum(change) if reduction == "sum" else ops.mean(change)


def centred(x, scores, *, ops):
    """Rows of x less their mean by the softmax of the scores: the tangent of log_softmax."""
    return x - ops.sum(ops.softmax(scores, 1) * x, 1, True)


def cross_entropy_curvature(x, grad_output, scores, target, reduction, ignore_index, *, ops):
    """Rows of x through the second derivative of the loss, symmetric: the softmax's, by each row's share."""
    units = ops.nll_loss_backward(grad_output, scores.shape, target, reduction=reduction, ignore_index=ignore_index)
    return ops.softmax_backward(x, ops.softmax(scores, 1), 1) * -ops.sum(units, 1, True)


def bce_input_slope(input, target, *, ops):
    """(p - t) / (p (1 - p)); the divisor is at least 1e-12, so that it is finite at 0 and 1."""
    return (input - target) / ops.clamp_min((1 - input) * input, 1e-12)


def bce_logit_slope(x, target, *, ops):
    """sigmoid(x) - t, in which nothing cancels."""
    return (1 - target) * ops.logistic(x) - target * ops.logistic(-x)


def bce_target_slope(input, *, ops):
    """log(1 - p) - log(p), each logarithm at least -100."""
    return ops.clamp_min(ops.log1p(-input), -100.0) - ops.clamp_min(ops.log(input), -100.0)
