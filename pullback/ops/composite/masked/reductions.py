"""The operators of `pullback.masked`: an element whose mask is False takes no part, in value as in gradient.

It is replaced by what changes nothing: 0 in a sum, 1 in a product, -inf in a maximum. A slice without any element
that takes part has that value, nan for a mean; PyTorch leaves it undefined.
"""

import math

import numpy as np

from pullback.core.array_type import refuse_where
from pullback.ops.composite.casts import floating
from pullback.ops.composite.checks import require_arrays


# -- parts -----------------------------------------------------------------------------------------------------------
def chosen(name, input, mask, ops):
    """The mask in the shape of input."""
    require_arrays(name, input=input, mask=mask)
    if mask.ndim > input.ndim:
        raise IndexError(f"masked.{name}(): mask of shape {mask.shape} has more dimensions than input, {input.shape}.")
    return ops.expand(ops.to(mask, np.dtype(bool)), input.shape)


def filled(name, input, mask, fill, ops):
    """input with `fill` where the mask is False."""
    require_arrays(name, input=input)
    if mask is None:
        return input
    return ops.where(chosen(name, input, mask, ops), input, input.dtype.type(fill))


def cast(x, dtype, ops):
    """x in that dtype, if there is one."""
    return x if dtype is None else ops.to(x, np.dtype(dtype))


def least(dtype):
    """The least value of a dtype: -inf, or the smallest integer."""
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else -math.inf


def greatest(dtype):
    """The greatest value of a dtype: inf, or the largest integer."""
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else math.inf


def dims_of(dim):
    """None, for all dimensions, where none is named."""
    return None if dim is None or (isinstance(dim, (tuple, list)) and not dim) else dim


def counted(name, input, dim, keepdim, mask, ops):
    """The number of elements whose mask is True, in each slice."""
    if mask is None:
        return ops.sum(ops.ones(input.shape, dtype=np.dtype(np.int64)), dims_of(dim), keepdim)
    return ops.sum(chosen(name, input, mask, ops), dims_of(dim), keepdim)


# -- reductions ------------------------------------------------------------------------------------------------------
def masked_sum(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """sum."""
    return ops.sum(filled("sum", input, mask, 0, ops), dims_of(dim), keepdim, dtype=dtype)


def masked_prod(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """prod."""
    return ops.prod(filled("prod", input, mask, 1, ops), dims_of(dim), keepdim, dtype=dtype)


def masked_amax(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """amax."""
    require_arrays("amax", input=input)
    return cast(ops.amax(filled("amax", input, mask, least(input.dtype), ops), dims_of(dim), keepdim), dtype, ops)


def masked_amin(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """amin."""
    require_arrays("amin", input=input)
    return cast(ops.amin(filled("amin", input, mask, greatest(input.dtype), ops), dims_of(dim), keepdim), dtype, ops)


def masked_argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """argmax, in the dtype of input as PyTorch has it."""
    require_arrays("argmax", input=input)
    index = ops.argmax(filled("argmax", input, mask, least(input.dtype), ops), dim, keepdim)
    return cast(index, dtype or input.dtype, ops)


def masked_argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """argmin, in the dtype of input as PyTorch has it."""
    require_arrays("argmin", input=input)
    index = ops.argmin(filled("argmin", input, mask, greatest(input.dtype), ops), dim, keepdim)
    return cast(index, dtype or input.dtype, ops)


def masked_mean(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """The sum over the number of elements."""
    require_arrays("mean", input=input)
    kept = input.dtype if dtype is None else np.dtype(dtype)
    if kept.kind not in "fc":
        raise ValueError(f"masked.mean(): the dtype must be floating-point or complex, but it is {kept}; pass dtype=.")
    total = masked_sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask, ops=ops)
    number = counted("mean", input, dim, keepdim, mask, ops)
    return total / ops.where(ops.eq(number, 0), total.dtype.type(math.nan), ops.to(number, total.dtype))


def masked_median(input, dim=-1, *, keepdim=False, dtype=None, mask=None, ops):
    """The lower median along a dimension; of integers, every slice must have an element."""
    require_arrays("median", input=input)
    if input.dtype.kind == "c":
        raise RuntimeError("masked.median(): complex numbers have no order, and so no median.")
    floats = input if input.dtype.kind == "f" else ops.to(input, np.dtype(float))
    out = ops.nanmedian(filled("median", floats, mask, math.nan, ops), dim, keepdim)[0]
    if input.dtype.kind == "f":
        return cast(out, dtype, ops)
    refuse_where(
        ops.isnan(out), lambda: ValueError("masked.median(): a slice of integers without any element has no median.")
    )
    return ops.to(out, input.dtype if dtype is None else np.dtype(dtype))


def masked_norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """The norm of vectors."""
    fill = math.inf if ord < 0 else 0
    return ops.linalg_vector_norm(filled("norm", input, mask, fill, ops), ord, dims_of(dim), keepdim, dtype=dtype)


def masked_var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None, ops):
    """The sum of the squares less their mean over the number of elements less the correction."""
    return spread("var", input, dim, unbiased, correction, keepdim, dtype, mask, ops)


def masked_std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None, ops):
    """The root of var; equal elements are its kink, with gradient 0."""
    variance = spread("std", input, dim, unbiased, correction, keepdim, dtype, mask, ops)
    flat = ops.eq(variance, 0)
    return ops.where(flat, 0.0, ops.sqrt(ops.where(flat, 1.0, variance)))


def spread(name, input, dim, unbiased, correction, keepdim, dtype, mask, ops):
    """The variance with a correction, 1 by default."""
    require_arrays(name, input=input)
    if unbiased is not None and correction is not None:
        raise ValueError(f"masked.{name}(): pass unbiased or correction, not both.")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    if dtype is not None or input.dtype.kind not in "fc":
        input = ops.to(input, np.dtype(float if dtype is None else dtype))
    mean = masked_mean(input, dim, keepdim=True, mask=mask, ops=ops)
    apart = filled(name, input - mean, mask, 0, ops)
    total = ops.sum(apart * ops.conjugate(apart), dims_of(dim), keepdim)
    number = ops.to(counted(name, input, dim, keepdim, mask, ops), np.finfo(total.dtype).dtype)
    return total / ops.clamp_min(number - correction, 0)


def masked_logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None, ops):
    """logsumexp, in the dtype of input."""
    require_arrays("logsumexp", input=input)
    x = filled("logsumexp", floating(input, ops), mask, -math.inf, ops)
    dims = dims_of(dim)
    return cast(ops.logsumexp(x, tuple(range(x.ndim)) if dims is None else dims, keepdim), dtype or input.dtype, ops)


# -- scans and normalisations ----------------------------------------------------------------------------------------
def masked_cumsum(input, dim, *, dtype=None, mask=None, ops):
    """cumsum."""
    return ops.cumsum(filled("cumsum", input, mask, 0, ops), dim, dtype=dtype)


def masked_cumprod(input, dim, *, dtype=None, mask=None, ops):
    """cumprod."""
    return ops.cumprod(filled("cumprod", input, mask, 1, ops), dim, dtype=dtype)


def masked_softmax(input, dim, *, dtype=None, mask=None, ops):
    """softmax."""
    return normalised("softmax", ops.softmax, input, dim, dtype, mask, 0.0, ops)


def masked_softmin(input, dim, *, dtype=None, mask=None, ops):
    """softmin."""
    require_arrays("softmin", input=input)
    return masked_softmax(-input, dim, dtype=dtype, mask=mask, ops=ops)


def masked_log_softmax(input, dim, *, dtype=None, mask=None, ops):
    """log_softmax."""
    return normalised("log_softmax", ops.log_softmax, input, dim, dtype, mask, -math.inf, ops)


def normalised(name, function, input, dim, dtype, mask, nothing, ops):
    """softmax or its logarithm; `nothing` in a slice where no element takes part."""
    require_arrays(name, input=input)
    x = cast(input, dtype, ops)
    if mask is None:
        return function(x, dim)
    inside = chosen(name, x, mask, ops)
    empty = ops.logical_not(ops.any(inside, dim, True))
    out = function(ops.where(ops.logical_or(inside, empty), x, x.dtype.type(least(x.dtype))), dim)
    return ops.where(empty, nothing, out)


def masked_normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None, ops):
    """Vectors along dim over their norm, or over eps where that is larger."""
    norm = masked_norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask, ops=ops)
    return filled("normalize", input, mask, 0, ops) / ops.clamp_min(norm, eps)


def masked_logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None, ops):
    """logaddexp."""
    first = filled("logaddexp", input, input_mask, -math.inf, ops)
    second = filled("logaddexp", other, other_mask, -math.inf, ops)
    return cast(ops.logaddexp(first, second), dtype, ops)
