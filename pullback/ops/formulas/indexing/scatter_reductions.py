"""Helpers of the derivatives of scatter_reduce.

Every reduction is linear in its tangents, with a share for the old element and one for each of the new ones; all
derivatives follow from the two shares, which are differentiable themselves.
"""

import numpy as np

from pullback.ops.formulas.reductions.reductions import neighbour

__all__ = [
    "index_reduce_jvp", "index_reduce_self", "index_reduce_source", "scatter_reduce_jvp", "scatter_reduce_self",
    "scatter_reduce_src",
]  # fmt: skip


def scatter_reduce_self(grad, x, dim, index, src, result, reduce, include_self, *, ops):
    """The gradient of the tensor that was reduced into; nothing where it had no part."""
    share = share_of_self(x, dim, index, src, result, reduce, include_self, ops)
    return _kept(grad, _conjugate(share, ops), dim, index, reduce, include_self, ops)


def scatter_reduce_src(grad, x, dim, index, src, result, reduce, include_self, *, ops):
    """The gradient of src: zero where it is larger than index."""
    picked = ops.gather(grad, dim, index)
    share = share_of_src(x, dim, index, src, result, reduce, include_self, ops)
    picked = _shared(picked, _conjugate(share, ops), reduce, ops)
    shape = tuple(src.shape)
    if tuple(picked.shape) == shape:
        return picked
    if len(shape) != picked.ndim:
        return ops.reshape(picked, shape)
    return ops.slice_backward(picked, shape, tuple(slice(n) for n in picked.shape))


def scatter_reduce_jvp(self_t, src_t, x, dim, index, src, result, reduce, include_self, *, ops):
    """The sum of the tangents, each times its share; either may be None."""
    if self_t is None:
        kept = ops.zeros_like(x)
    else:
        share = share_of_self(x, dim, index, src, result, reduce, include_self, ops)
        kept = _kept(self_t, share, dim, index, reduce, include_self, ops)
    if src_t is None:
        return kept
    share = share_of_src(x, dim, index, src, result, reduce, include_self, ops)
    moved = fitted(src_t, index, ops)
    return ops.scatter_add(kept, dim, index, _shared(moved, share, reduce, ops))


def _kept(x, share, dim, index, reduce, include_self, ops):
    """x times the share of the old elements: 0 where they have no part."""
    kept = _shared(x, share, reduce, ops)
    return kept if include_self else ops.scatter(kept, dim, index, 0)


def _conjugate(share, ops):
    return None if share is None else ops.conj(share)


def _shared(x, share, reduce, ops):
    """x times the share; an element that no extreme is attained by has none, and 0 even where x is infinite."""
    if share is None:
        return x
    return ops.where(ops.eq(share, 0), 0, x * share) if reduce in ("amax", "amin") else x * share


# -- index_reduce: the same, with an index for whole slices ----------------------------------------------------------
def index_reduce_self(grad, x, dim, index, source, result, reduce, include_self, *, ops):
    """The gradient of the tensor that was reduced into."""
    places, source = spread(x, dim, index, source, ops)
    return scatter_reduce_self(grad, x, dim, places, source, result, reduce, include_self, ops=ops)


def index_reduce_source(grad, x, dim, index, source, result, reduce, include_self, *, ops):
    """The gradient of the slices."""
    places, fit = spread(x, dim, index, source, ops)
    return ops.reshape(
        scatter_reduce_src(grad, x, dim, places, fit, result, reduce, include_self, ops=ops), source.shape
    )


def index_reduce_jvp(self_t, source_t, x, dim, index, source, result, reduce, include_self, *, ops):
    """The sum of the tangents, each times its share; either may be None."""
    places, source = spread(x, dim, index, source, ops)
    source_t = None if source_t is None else ops.reshape(source_t, places.shape)
    return scatter_reduce_jvp(self_t, source_t, x, dim, places, source, result, reduce, include_self, ops=ops)


def spread(x, dim, index, source, ops):
    """(the index for every element of the slices, source in its shape)."""
    if x.ndim == 0:
        return ops.reshape(index, ()), ops.reshape(source, ())
    dim %= x.ndim
    shape = (*x.shape[:dim], index.size, *x.shape[dim + 1 :])
    places = ops.expand(ops.reshape(index, [-1 if d == dim else 1 for d in range(x.ndim)]), shape)
    return places, ops.reshape(source, shape)


# -- shares ----------------------------------------------------------------------------------------------------------
def fitted(src, index, ops):
    """The part of src that is scattered, in the shape of index."""
    if tuple(src.shape) == tuple(index.shape):
        return src
    if src.ndim != index.ndim:
        return ops.reshape(src, index.shape)
    return ops.slice_view(src, tuple(slice(n) for n in index.shape))


def share_of_self(x, dim, index, src, result, reduce, include_self, ops):
    """The derivative of the result by the old element; None for 1."""
    if reduce == "sum":
        return None
    if reduce == "prod":
        return ops.scatter_reduce(ops.ones_like(x), dim, index, src, "prod")
    if reduce == "mean":
        return 1 / counts(x, dim, index, include_self, ops)
    attained, _, count = ties(x, dim, index, src, result, include_self, ops)
    return attained / count


def share_of_src(x, dim, index, src, result, reduce, include_self, ops):
    """The derivative of the result by each new element; None for 1."""
    if reduce == "sum":
        return None
    if reduce == "mean":
        return 1 / ops.gather(counts(x, dim, index, include_self, ops), dim, index)
    if reduce != "prod":
        _, attained, count = ties(x, dim, index, src, result, include_self, ops)
        return attained / ops.gather(count, dim, index)
    values = fitted(src, index, ops)
    numbers = ops.reshape(ops.arange(x.size), x.shape)
    groups = ops.reshape(ops.gather(numbers, dim, index), (-1,))
    others = ops.reshape(product_of_others(ops.reshape(values, (-1,)), groups, ops), values.shape)
    return others * ops.gather(x, dim, index) if include_self else others


def counts(x, dim, index, include_self, ops):
    """How many elements each mean is taken of; 1 where none is."""
    dtype = np.finfo(x.dtype).dtype  # a count is real, of complex numbers too
    start = ops.full(x.shape, int(include_self), dtype=dtype)
    return ops.clamp(ops.scatter_add(start, dim, index, ops.full(index.shape, 1, dtype=dtype)), 1)


def ties(x, dim, index, src, result, include_self, ops):
    """(1 where the old element is the extreme, 1 where a new one is, how many they are at each position)."""
    old = ops.to(ops.eq(x, result), x.dtype)
    old = old if include_self else ops.scatter(old, dim, index, 0)
    new = ops.to(ops.eq(fitted(src, index, ops), ops.gather(result, dim, index)), x.dtype)
    return old, new, ops.clamp(ops.scatter_add(old, dim, index, new), 1)


def product_of_others(values, groups, ops):
    """For each element of a vector, the product of all others of its group: right at zeros, at every order.

    Sorted by group, that is the product of what stands before and what stands after, two linear recurrences.
    """
    order = ops.argsort(groups, stable=True)
    values, groups = ops.index_select(values, 0, order), ops.index_select(groups, 0, order)
    products = before_in_group(values, groups, ops) * ops.flip(
        before_in_group(ops.flip(values, (0,)), ops.flip(groups, (0,)), ops), (0,)
    )
    return ops.index_select(products, 0, ops.argsort(order))


def before_in_group(values, groups, ops):
    """For each element, the product of those of its group that stand before it."""
    goes_on = ops.to(ops.eq(groups, neighbour(groups, 0, -1, ops=ops)), values.dtype)
    return ops.linear_recurrence(1 - goes_on, goes_on * neighbour(values, 0, 1, ops=ops), 0)
