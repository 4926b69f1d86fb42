"""Helpers of the formulas of the reductions and accumulations.

`dim` is what the operator was given: None, an int, or a sequence of ints, of which an empty one means all dimensions.
"""

import math

from pullback.graph.undifferentiable import sum_of_terms
from pullback.ops.formulas.plain_values import count_known, none_of, widened

__all__ = [
    "aminmax_backward",
    "cummax_backward",
    "cumprod_backward",
    "cumprod_jvp",
    "expand_reduced",
    "gather_along",
    "gather_running",
    "log_decay",
    "log_weight",
    "mean_backward",
    "mean_of_ties",
    "neighbour",
    "prod_backward",
    "recurrence_coefficient_grad",
    "recurrence_jvp",
    "restore_reduced",
    "share_among_ties",
    "std_jvp",
    "std_mean_backward",
    "std_to_var",
    "var_backward",
    "var_jvp",
    "var_mean_backward",
]

inf = math.inf


# -- undoing the loss of dimensions ----------------------------------------------------------------------------------
def restore_reduced(reduced, ndim, dim, keepdim, *, ops):
    """The result of a reduction over `dim`, with its lost dimensions back at length 1: it broadcasts to the input."""
    if keepdim or ndim == 0 or dim is None:
        return reduced  # 0-d where all dimensions were reduced, which broadcasts as it is
    if isinstance(dim, int):
        return ops.unsqueeze(reduced, dim)
    if not dim or len(dim) == ndim:
        return reduced
    lost = {d % ndim for d in dim}
    left = iter(reduced.shape)
    return ops.reshape(reduced, tuple(1 if i in lost else next(left) for i in range(ndim)))


def expand_reduced(grad, shape, dim, keepdim, *, ops):
    """The gradient of a sum over `dim` of an input of `shape`: a broadcast, without a copy."""
    return ops.expand(restore_reduced(grad, len(shape), dim, keepdim, ops=ops), shape)


def reduced_count(shape, dim):
    """How many elements of `shape` went into each result of a reduction over `dim`."""
    if dim is None or dim in ((), []) or not shape:
        return math.prod(shape)
    return shape[dim] if isinstance(dim, int) else math.prod(shape[d] for d in dim)


# -- means and variances ---------------------------------------------------------------------------------------------
def mean_backward(grad, shape, dim, keepdim, *, ops):
    """grad / n, broadcast. The division comes before the broadcast."""
    count, grad = reduced_count(shape, dim), widened(grad, ops=ops)
    return expand_reduced(grad / count if count else grad, shape, dim, keepdim, ops=ops)


def var_scale(shape, dim, correction):
    """2 / (n - correction); infinite where there is no degree of freedom, as the variance itself is then."""
    freedom = reduced_count(shape, dim) - (1 if correction is None else correction)
    return 2.0 / freedom if freedom > 0 else inf


def var_backward(grad, x, dim, correction, keepdim, *, ops):
    """grad * 2 (x - mean) / (n - correction). The mean's own dependence on x cancels."""
    grad = widened(restore_reduced(grad, x.ndim, dim, keepdim, ops=ops), ops=ops)
    return (grad * var_scale(x.shape, dim, correction)) * (x - ops.mean(x, dim, True))


def var_jvp(x, tangent, dim, correction, keepdim, *, ops):
    """The tangent of the variance; real, also where x is complex."""
    x = widened(x, ops=ops)
    centred = x - ops.mean(x, dim, True)
    part = ops.real(ops.conjugate(centred) * tangent) if x.dtype.kind == "c" else centred * tangent
    return ops.sum(part, dim, keepdim) * var_scale(x.shape, dim, correction)


def std_to_var(grad, std, *, ops):
    """The gradient to the variance of grad to its root. 0 where the input is constant: the root has a kink there."""
    return grad / (2.0 * ops.where(ops.eq(std, 0), inf, std))


def std_jvp(x, tangent, std, dim, correction, keepdim, *, ops):
    """The tangent of the standard deviation, 0 where the input is constant."""
    return std_to_var(var_jvp(x, tangent, dim, correction, keepdim, ops=ops), std, ops=ops)


def var_mean_backward(grad_var, grad_mean, x, dim, correction, keepdim, *, ops):
    """The gradient of a variance, whose slope may be infinite, and a mean; one that is undefined is left out."""
    return sum_of_terms(
        None if grad_var is None else var_backward(grad_var, x, dim, correction, keepdim, ops=ops),
        None if grad_mean is None else mean_backward(grad_mean, x.shape, dim, keepdim, ops=ops),
    )


def std_mean_backward(grad_std, grad_mean, x, std, dim, correction, keepdim, *, ops):
    """The gradient of a standard deviation and a mean; one that is undefined is left out."""
    grad_var = None if grad_std is None else std_to_var(grad_std, std, ops=ops)
    return var_mean_backward(grad_var, grad_mean, x, dim, correction, keepdim, ops=ops)


# -- extremes --------------------------------------------------------------------------------------------------------
def ties(x, result, dim, keepdim, *, ops):
    """(mask of the elements of x that equal the result of their slice, their number); NaN equals NaN here.

    The number is None where it is known to be one in each slice.
    """
    full = restore_reduced(result, x.ndim, dim, keepdim, ops=ops)
    mask, nan = ops.eq(x, full), ops.isnan(full)
    if not none_of(nan):
        mask = ops.logical_or(mask, ops.logical_and(ops.isnan(x), nan))
    if count_known(mask) == result.size:
        return mask, None
    return mask, ops.sum(mask, dim, True, dtype=x.dtype)


def share_among_ties(grad, x, result, dim, keepdim, *, ops):
    """The gradient of an extreme: all that attain it get equal parts."""
    mask, count = ties(x, result, dim, keepdim, ops=ops)
    grad = restore_reduced(grad, x.ndim, dim, keepdim, ops=ops)
    return ops.where(mask, grad if count is None else grad / count, 0)


def aminmax_backward(grad_min, grad_max, x, smallest, largest, dim, keepdim, *, ops):
    """The gradient of both extremes; one that is undefined is left out."""
    pairs = ((grad_min, smallest), (grad_max, largest))
    return sum_of_terms(*(share_among_ties(g, x, y, dim, keepdim, ops=ops) for g, y in pairs if g is not None))


def mean_of_ties(tangent, x, result, dim, keepdim, *, ops):
    """The tangent of an extreme: the mean over all that attain it."""
    mask, count = ties(x, result, dim, keepdim, ops=ops)
    total = ops.sum(ops.where(mask, tangent, 0), dim, True)
    return ops.reshape(total if count is None else total / count, result.shape)


def gather_along(x, dim, indices, keepdim, *, ops):
    """The elements of x that a reduction over `dim` selected."""
    if x.ndim == 0:
        return x
    if keepdim:
        return ops.gather(x, dim, indices)
    return ops.squeeze(ops.gather(x, dim, ops.unsqueeze(indices, dim)), dim)


# -- products --------------------------------------------------------------------------------------------------------
def neighbour(x, dim, fill, *, ops):
    """y[i] = x[i-1] along `dim`, with `fill` for y[0]."""
    length = x.shape[dim]
    if length == 0:
        return x
    first = ops.full_like(ops.narrow(x, dim, 0, 1), fill)
    return ops.cat([first, ops.narrow(x, dim, 0, length - 1)], dim)


def exclusive_prod_over(x, dims, *, ops):
    """For each element the product of all others over several dimensions: moved to the end, they are one."""
    dims = [d % x.ndim for d in dims]
    order = [i for i in range(x.ndim) if i not in dims] + dims
    moved = ops.permute(x, order)
    rest = moved.shape[: x.ndim - len(dims)]
    flat = ops.reshape(moved, (*rest, math.prod(moved.shape[len(rest) :])))
    others = ops.reshape(ops._products_of_others(flat, len(rest)), moved.shape)
    return ops.permute(others, sorted(range(x.ndim), key=order.__getitem__))


def prod_backward(grad, x, dim, keepdim, *, ops):
    """grad times the product of the others."""
    if isinstance(dim, int) or x.ndim == 0:
        others = ops._products_of_others(x, dim)
    else:
        others = exclusive_prod_over(x, dim or range(x.ndim), ops=ops)
    return restore_reduced(grad, x.ndim, dim, keepdim, ops=ops) * others.conjugate()


# -- accumulations ---------------------------------------------------------------------------------------------------
def cumprod_backward(grad, x, result, dim, *, ops):
    """Exact at zeros, in linear time, without a division.

    d y[k] / d x[i] = y[i-1] x[i+1] ... x[k], so that the sum over k of grad[k] times this is y[i-1] s[i] with
    s[i] = grad[i] + x[i+1] s[i+1].
    """
    if x.ndim == 0:
        return grad
    return neighbour(result, dim, 1, ops=ops).conjugate() * ops.linear_recurrence(grad, x.conjugate(), dim, True)


def cumprod_jvp(x, tangent, result, dim, *, ops):
    """t[k] = x[k] t[k-1] + y[k-1] tangent[k]."""
    if x.ndim == 0:
        return tangent
    return ops.linear_recurrence(neighbour(result, dim, 1, ops=ops) * tangent, x, dim)


def recurrence_coefficient_grad(grad, coefficients, result, dim, reverse, *, ops):
    """Return what c[i] multiplied, conjugated, times the gradient that reached where it was added."""
    if grad.ndim == 0:
        return ops.zeros_like(grad)
    grad = ops.linear_recurrence(grad, coefficients.conjugate(), dim, not reverse)
    if reverse:
        return neighbour(grad, dim, 0, ops=ops) * result.conjugate()
    return grad * neighbour(result, dim, 0, ops=ops).conjugate()


def recurrence_jvp(tangent, coefficients, coefficients_t, result, dim, reverse, *, ops):
    """The same recurrence, driven by tangent[i] + c_t[i] s[i-1] (reversed: c_t[i+1] s[i+1]); either may be None."""
    if coefficients_t is None:
        return ops.linear_recurrence(tangent, coefficients, dim, reverse)
    if result.ndim == 0:
        return tangent
    if reverse:
        added = ops.flip(neighbour(ops.flip(coefficients_t * result, (dim,)), dim, 0, ops=ops), (dim,))
    else:
        added = coefficients_t * neighbour(result, dim, 0, ops=ops)
    return ops.linear_recurrence(added if tangent is None else tangent + added, coefficients, dim, reverse)


def log_weight(x, result, *, ops):
    """exp(x - result), the part of each element in a running log-sum-exp; 0 for what is -inf."""
    return ops.exp(x - ops.where(ops.eq(result, -inf), 0, result))


def log_decay(result, dim, *, ops):
    """exp(y[i-1] - y[i]): how the parts shrink from one step of a running log-sum-exp to the next."""
    if result.ndim == 0:
        return ops.zeros_like(result)
    before = neighbour(result, dim, -inf, ops=ops)
    return ops.exp(before - ops.where(ops.eq(result, -inf), 0, result))


def cummax_backward(grad, dim, indices, *, ops):
    """Each position's gradient, added where its running extreme came from."""
    if grad.ndim == 0:
        return grad
    return ops._placed_along(grad, grad.shape, dim, indices, True)


def gather_running(x, dim, indices, *, ops):
    """The elements of x that are the running extremes."""
    return x if x.ndim == 0 else ops.gather(x, dim, indices)
