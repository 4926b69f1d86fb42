"""Reductions made of other operators."""

import numpy as np

from pullback.ops.composite.checks import require_arrays
from pullback.ops.formulas.reductions.reductions import neighbour


def _products_of_others(self, dim, *, ops):
    """For each element, the product of all others along `dim`: right at zeros, where result / self is not."""
    if self.ndim == 0:
        return ops.ones_like(self)
    before = neighbour(ops.cumprod(self, dim), dim, 1, ops=ops)
    after = neighbour(ops.cumprod(ops.flip(self, (dim,)), dim), dim, 1, ops=ops)
    return before * ops.flip(after, (dim,))


def nanmean(self, dim=None, keepdim=False, *, dtype=None, ops):
    """The sum of what is not NaN over its number."""
    if self.dtype == np.float16 and dtype is None:  # which cannot count far
        return ops.to(nanmean(ops.to(self, np.dtype(np.float32)), dim, keepdim, ops=ops), self.dtype)
    # Counted in the input's dtype: an integer would make float64 of float32.
    counted = ops.sum(ops.logical_not(ops.isnan(self)), dim, keepdim, dtype=self.dtype if dtype is None else dtype)
    return ops.nansum(self, dim, keepdim, dtype=dtype) / counted


def var_unbiased(self, unbiased, *, ops):
    """var(self, unbiased)."""
    return ops.var(self, correction=int(unbiased))


def var_dim(self, dim, unbiased, keepdim=False, *, ops):
    """var(self, dim, unbiased, keepdim)."""
    return ops.var(self, dim, correction=int(unbiased), keepdim=keepdim)


def std_unbiased(self, unbiased, *, ops):
    """std(self, unbiased)."""
    return ops.std(self, correction=int(unbiased))


def std_dim(self, dim, unbiased, keepdim=False, *, ops):
    """std(self, dim, unbiased, keepdim)."""
    return ops.std(self, dim, correction=int(unbiased), keepdim=keepdim)


def var_mean_unbiased(self, unbiased, *, ops):
    """var_mean(self, unbiased)."""
    return ops.var_mean(self, correction=int(unbiased))


def var_mean_dim(self, dim, unbiased, keepdim=False, *, ops):
    """var_mean(self, dim, unbiased, keepdim)."""
    return ops.var_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


def std_mean_unbiased(self, unbiased, *, ops):
    """std_mean(self, unbiased)."""
    return ops.std_mean(self, correction=int(unbiased))


def std_mean_dim(self, dim, unbiased, keepdim=False, *, ops):
    """std_mean(self, dim, unbiased, keepdim)."""
    return ops.std_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


def max_other(self, other, *, ops):
    """max(self, other), the binary form."""
    require_arrays("max", input=self, other=other)  # a number would be `dim`
    return ops.maximum(self, other)


def min_other(self, other, *, ops):
    """min(self, other), the binary form."""
    require_arrays("min", input=self, other=other)  # a number would be `dim`
    return ops.minimum(self, other)
