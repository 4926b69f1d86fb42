"""Composite operators that reduce stretches of a dimension, and that write through a strided view."""

import math

from pullback.core.array_type import refuse_where
from pullback.ops.composite.checks import require_arrays

NEUTRAL = {"sum": 0.0, "mean": math.nan, "prod": 1.0, "max": -math.inf, "min": math.inf}
SCATTERED = {"sum": "sum", "mean": "mean", "prod": "prod", "max": "amax", "min": "amin"}


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None, ops):
    """Reductions of consecutive stretches of dimension axis, given by their lengths or by where they begin and end."""
    require_arrays("segment_reduce", data=data, lengths=lengths, offsets=offsets)
    if reduce not in NEUTRAL:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(NEUTRAL)}, got {reduce!r}.")
    if indices is not None or (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): give either lengths or offsets (indices are not supported).")
    axis %= data.ndim
    ends = ops.cumsum(lengths, -1) if offsets is None else ops.narrow(offsets, -1, 1, offsets.shape[-1] - 1)
    if tuple(ends.shape[:-1]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"segment_reduce(): lengths must have the shape {tuple(data.shape[:axis])} of the dimensions before axis "
            f"{axis}, and one more; got {tuple(ends.shape[:-1])} and one more."
        )
    size, segments = data.shape[axis], ends.shape[-1]
    if not unsafe:
        text = f"segment_reduce(): the lengths must add up to {size}, the size of axis {axis}."
        refuse_where(ops.ne(ops.select(ends, -1, -1), size), lambda: RuntimeError(text))
    shape = tuple(data.shape)
    spots = ops.expand(ops.arange(size), (*shape[:axis], size))
    owner = ops.searchsorted(ops.contiguous(ends), spots, right=True)
    owner = ops.expand(ops.reshape(owner, (*shape[: axis + 1], *(1,) * (data.ndim - axis - 1))), shape)
    if not unsafe:
        return reduced(data, reduce, axis, owner, segments, initial, ops)
    # What no segment owns goes into one more, which is dropped.
    return ops.narrow(reduced(data, reduce, axis, owner, segments + 1, initial, ops), axis, 0, segments)


def reduced(data, reduce, axis, owner, segments, initial, ops):
    """The reductions of what each segment owns; `initial` takes part, and is what an empty segment has."""
    shape = (*data.shape[:axis], segments, *data.shape[axis + 1 :])
    start = ops.full(shape, NEUTRAL[reduce] if initial is None else initial, dtype=data.dtype)
    if reduce == "mean" and initial is not None:  # it is added, not counted
        total = ops.scatter_add(start, axis, owner, data)
        counts = ops.scatter_add(ops.zeros_like(start), axis, owner, ops.ones_like(data))
        return total / ops.clamp(counts, 1)
    kind = SCATTERED[reduce]
    return ops.scatter_reduce(start, axis, owner, data, kind, include_self=initial is not None)


def as_strided_scatter(self, src, size, stride, storage_offset=None, *, ops):
    """A copy of self with src at the elements that as_strided(size, stride, storage_offset) would show."""
    require_arrays("as_strided_scatter", input=self, src=src)
    if tuple(src.shape) != tuple(size):
        raise RuntimeError(f"as_strided_scatter(): src must have the shape {tuple(size)}, got {tuple(src.shape)}.")
    if not ops.is_contiguous(self):
        raise RuntimeError("as_strided_scatter(): the input must be contiguous; use input.contiguous().")
    offset = 0 if storage_offset is None else storage_offset
    reach = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1 if 0 not in size else 0
    if reach > self.size or any(step < 0 for step in stride) or offset < 0:
        raise RuntimeError(
            f"as_strided_scatter(): size {tuple(size)}, stride {tuple(stride)} and offset {offset} reach beyond the "
            f"{self.size} elements of the input."
        )
    places = ops.as_strided(ops.arange(self.size), size, stride, offset)
    if not src.size:
        return ops.clone(self)
    flat = ops.put(ops.reshape(self, (-1,)), places, ops.to(src, self.dtype))
    return ops.reshape(flat, self.shape)
