"""Arrays made inside vmap, the same for all samples, that come to hold a value for each when such values are written.

`y = np.zeros(3); y[0] = x[0]` is how code for NumPy builds its results. Under `adopt()` the buffer belongs to the level
of vmap, so nobody outside knows of it, and it may become batched. What was made outside is of a lower level, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pullback.arrays.batched.array import BatchedArray
from pullback.arrays.batched.errors import ended, not_batched_target
from pullback.arrays.batched.values import everywhere
from pullback.core.array_type import array_type, memory_of, table_of
from pullback.core.tensor import Tensor, hold, ndarray
from pullback.graph.view import base_of, live_views


def make_batched(name: str, target: Tensor, args: Sequence[Any], level: int) -> None:
    """Let the target of an in-place operator, its base and all views of that hold a value for each sample."""
    beside = max(_batched_at(args, level), key=lambda x: x.batch.number)
    if not beside.batch.open:
        raise ended(beside.batch, name)
    base = base_of(target)
    owner = target if base is None else base
    shown = [owner, *live_views(owner)]
    if any(owner is x for x in beside.batch.shared):
        raise not_batched_target(name)  # a loop would find there what the last sample has written
    if any(x._requires_grad for x in shown) or (base is not None and all(x is not target for x in shown)):
        raise not_batched_target(name)
    arrays: list[Any] = [x._array for x in shown]
    if all(type(a) is ndarray and a.flags.writeable for a in arrays):
        made = array_type(beside).holding(beside, arrays)
    else:
        made = _around_others(name, beside, arrays)
    for x, array in zip(shown, made, strict=True):
        hold(x, array)


def _batched_at(args: Sequence[Any], level: int) -> Iterator[BatchedArray]:
    for x in args:
        for y in x if isinstance(x, (list, tuple)) else (x,):
            if isinstance(y, Tensor) and y._level == level and type(y._array) is BatchedArray:
                yield y._array


def _around_others(name: str, beside: BatchedArray, arrays: Sequence[Any]) -> Sequence[Any]:
    """Of arrays of outer transforms: copies of the base, of which the same parts are viewed, so that these go on."""
    memories = [memory_of(a) for a in arrays]
    base = memories[0]
    if base is None or not base.flags.c_contiguous:
        raise not_batched_target(name)
    values = everywhere(beside.batch, arrays[0])
    ops = table_of((values,))
    values = ops.clone(values)
    made = [BatchedArray(values, beside.batch)]
    for part in memories[1:]:
        if part is None:
            raise not_batched_target(name)
        offset = part.__array_interface__["data"][0] - base.__array_interface__["data"][0] if part.size else 0
        steps = (base.size, *(step // base.itemsize for step in part.strides))
        made.append(
            BatchedArray(
                ops.as_strided(values, (beside.batch.size, *part.shape), steps, offset // base.itemsize), beside.batch
            )
        )
    return made
