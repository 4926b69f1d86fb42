"""Composite operators that find distinct elements, sorted positions, and repeat elements.

A value of `unique` depends on the first element that equals it: there goes its gradient.
"""

import numpy as np

from pullback.core.arguments import as_array
from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.memory import in_own_memory


def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None, *, ops):
    """The distinct elements (or slices along dim) in order; (them, which one each is, how often each occurs)."""
    return select_distinct(self, ops._unique(self, dim), return_inverse, return_counts, dim, ops)


def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None, *, ops):
    """The first of each run of equal elements (or slices along dim), with the same further results as `unique`."""
    return select_distinct(self, ops._consecutive(self, dim), return_inverse, return_counts, dim, ops)


def select_distinct(self, found, return_inverse, return_counts, dim, ops):
    """The distinct elements, followed by the inverse indices and counts if they were asked for."""
    first, inverse, counts = found
    if dim is None:
        values = ops.index_select(ops.reshape(self, (-1,)), 0, first)
    else:
        values = ops.index_select(self if self.ndim else ops.reshape(self, (1,)), dim, first)
    more = [inverse] * bool(return_inverse) + [counts] * bool(return_counts)
    return (values, *more) if more else values


def isin(elements, test_elements, *, assume_unique=False, invert=False, ops):
    """Which elements are among test_elements; one of both may be a number."""
    if not hasattr(elements, "dtype"):
        require_arrays("isin", test_elements=test_elements)
        elements = as_array(elements)
    return ops._isin(elements, as_array(test_elements), assume_unique, invert)


def searchsorted(sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None, ops):
    """Where in (each row of) a sorted sequence the numbers of self would stay in order, before equal ones or after."""
    if side not in (None, "left", "right") or (side == "left" and right):
        raise RuntimeError(f"searchsorted(): side must be 'left' or 'right', as right={right} says, got {side!r}.")
    require_arrays("searchsorted", sorted_sequence=sorted_sequence, sorter=sorter)
    values = as_array(self)
    if sorted_sequence.ndim > 1 and values.ndim == 0:
        raise RuntimeError("searchsorted(): a number can be sought in a vector alone; give one for each row.")
    return ops._searchsorted(sorted_sequence, values, right or side == "right", sorter, out_int32)


def bucketize(self, boundaries, *, out_int32=False, right=False, ops):
    """The number of the bucket, between sorted boundaries, in which each element is."""
    require_arrays("bucketize", boundaries=boundaries)
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries must be a vector, got shape {tuple(boundaries.shape)}.")
    return searchsorted(boundaries, self, out_int32=out_int32, right=right, ops=ops)


def unravel_index(indices, shape, *, ops):
    """The coordinates, one tensor a dimension, of positions in the flattened array of a shape."""
    require_arrays("unravel_index", indices=indices)
    if hasattr(shape, "tolist"):
        shape = shape.tolist()
    return tuple(ops._unravel_index(indices, (shape,) if isinstance(shape, int) else tuple(shape)))


def repeat_interleave(self, repeats, dim=None, *, output_size=None, ops):
    """Each element (or slice along dim) so many times, one after another."""
    x = ops.reshape(self, (-1,)) if dim is None or self.ndim == 0 else self
    dim = 0 if x.ndim == 1 else dim % x.ndim
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError(f"repeat_interleave(): repeats must not be negative, got {repeats}.")
        before, after = tuple(x.shape[: dim + 1]), tuple(x.shape[dim + 1 :])
        spread = ops.expand(ops.unsqueeze(x, dim + 1), (*before, repeats, *after))
        out = in_own_memory(ops.reshape(spread, (*before[:-1], before[-1] * repeats, *after)), self, ops=ops)
    else:
        out = ops.index_select(x, dim, ops._repeat_positions(as_array(repeats, np.int64), x.shape[dim]))
    return of_size(out, dim, output_size)


def repeat_interleave_Tensor(repeats, *, output_size=None, ops):
    """0, 1, 2, ... each as often as the vector repeats says."""
    require_arrays("repeat_interleave", repeats=repeats)
    return of_size(ops._repeat_positions(repeats, repeats.shape[0]), 0, output_size)


def of_size(out, dim, output_size):
    """`out`, which must have the size along dim that was announced."""
    if output_size is not None and out.shape[dim] != output_size:
        raise RuntimeError(f"repeat_interleave(): output_size is {output_size}, but the repeats give {out.shape[dim]}.")
    return out
