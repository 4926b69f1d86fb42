"""The description of batched arrays as an array type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.batched import areas as _areas  # noqa: F401 - enters the rules
from pullback.arrays.batched.array import BatchedArray
from pullback.arrays.batched.buffers import make_batched
from pullback.arrays.batched.calls import call_on_batched
from pullback.arrays.batched.errors import ended, not_batched_target
from pullback.arrays.batched.indexing import in_batch
from pullback.arrays.batched.kernels import BATCHED, held_in
from pullback.arrays.batched.kernels import innermost as innermost_batch
from pullback.arrays.batched.values import aligned, everywhere, in_columns, is_batched
from pullback.core import array_type as types
from pullback.core.array_type import TRANSFORMED, ArrayType, innermost, layout_of, memory_of, register_array_type
from pullback.core.errors import InplaceError, ReadError
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.version import Counter
from pullback.dispatch.outer_levels import constant_part
from pullback.dispatch.targets import assigned, write_array
from pullback.explain.call_site import call_site


class BatchedType(ArrayType):
    """Arrays with a value for each element of a batch."""

    rank = TRANSFORMED
    many = may_index = True

    def detached(self, x: BatchedArray) -> Any:
        if not _is_differentiated(x.values):
            return x
        values = x.values.detach() if isinstance(x.values, Tensor) else types.array_type(x.values).detached(x.values)
        return BatchedArray(values, x.batch)

    def shown(self, x: BatchedArray, level: int) -> str:
        values, dim = x.values, 0
        if type(values) is ndarray:  # shown as it lies in memory
            dim = sum(stride > values.strides[0] for stride in values.strides) if values.size else 0
            values = wrap(np.moveaxis(values, 0, dim))
        return f"BatchedTensor(lvl={level}, bdim={dim}, value={values!r})"

    def carries_derivative(self, x: BatchedArray) -> bool:
        return _is_differentiated(x.values)

    def components(self, x: BatchedArray) -> Iterable[tuple[frozenset[int], Any, str]]:
        yield frozenset(), x, "values"

    def counters(self, x: BatchedArray) -> Iterable[Counter]:
        return () if type(x.values) is ndarray else types.counters_inside(x.values)

    def only_part(self, x: BatchedArray) -> ndarray | None:
        values = x.values
        return values if type(values) is ndarray else types.array_type(values).only_part(values)

    def add_at(self, x: BatchedArray, index: Any, value: Any) -> bool:
        if not is_batched(x.batch, value):
            return False
        return types.array_type(x.values).add_at(x.values, in_batch(x.batch, index, x.ndim), value.values)

    def touched(self, x: BatchedArray) -> Any:
        return BatchedArray(types.touched_in(x.values), x.batch)

    def read(self, x: BatchedArray, why: str) -> Any:
        if not x.batch.open:
            raise ended(x.batch, why)
        call = call_site()
        of_library = call.library == "scipy" or why.startswith("scipy.")
        who = why
        if of_library and call.name != why:  # the user wrote another call, in whose code this one stands
            who = f"{call.name or 'SciPy'}, in whose code there is {why.partition(' ')[0]},"
        advice = _OF_SCIPY if of_library else _OF_PROGRAMS
        if why == types.AS_NDARRAY and call.name in _OF_CONVERSIONS:
            who, advice = _OF_CONVERSIONS[call.name]
        raise ReadError(
            f"{who} looks at the numbers of a batched value of {x.batch.called} (shape {tuple(x.shape)}), which has "
            f"{x.batch.size} of them at once.{call.where()}{advice}"
        )

    def check(self, examine: Any, arrays: Sequence[Any]) -> None:
        if (around := held_in(arrays)) is not None:
            types.array_type(around).check(examine, arrays)
            return
        batch = innermost_batch(arrays)
        # Each is examined with all its samples; what is the same for all stands beside each.
        inside = [everywhere(batch, array) if _has_dimensions(array) else array for array in arrays]
        inside = [innermost(array) for array in inside]
        types.type_of(inside).check(examine, inside)

    def accepts(self, x: BatchedArray) -> bool:
        return False  # it belongs to a level, which the Tensors around it know

    def lift_constant(self, x: Any, constant: Any) -> BatchedArray:
        values = everywhere(x.batch, constant)
        return BatchedArray(types.array_type(values).copy(values), x.batch)

    def copy(self, x: BatchedArray) -> BatchedArray:
        return BatchedArray(types.array_type(x.values).copy(x.values), x.batch)

    def assign(self, name: str, x: BatchedArray, value: Any) -> BatchedArray:
        if is_batched(x.batch, value):
            value = aligned(x.batch, value, x.ndim)
        now = _written(x.values, name, value if value.shape == x.values.shape else everywhere(x.batch, value, x.ndim))
        return x if now is x.values else BatchedArray(now, x.batch)

    def memory(self, x: BatchedArray) -> ndarray | None:
        """That of the first element: where views lie in their base is the same in all."""
        whole = memory_of(x.values)
        return whole[0, ...] if whole is not None and len(whole) else None

    def layout(self, x: BatchedArray) -> ndarray | None:
        """That of one sample alone, though in columns the others lie between its elements."""
        whole = layout_of(x.values)
        if whole is None or not len(whole):
            return None
        first, apart = whole[0, ...], x.batch.size * whole.itemsize
        if not in_columns(whole) or any(step % apart for step in first.strides):
            return first
        return np.lib.stride_tricks.as_strided(first, strides=[step // x.batch.size for step in first.strides])

    def is_view(self, result: Any, source: Any) -> bool:
        if type(result) is BatchedArray and type(source) is BatchedArray:
            return types.array_type(result.values).is_view(result.values, source.values)
        return False

    def holding(self, x: BatchedArray, arrays: Sequence[ndarray]) -> Sequence[Any]:
        """Each array once for each element, in one memory as they were."""
        low, high = np.lib.array_utils.byte_bounds(arrays[0])
        row = -(-(high - low) // 16) * 16  # so that the elements of each are aligned
        memory = np.zeros((x.batch.size, row), np.uint8)
        made = []
        for a in arrays:
            offset = a.__array_interface__["data"][0] - low if a.size else 0
            made.append(np.ndarray((x.batch.size, *a.shape), a.dtype, memory, offset, (row, *a.strides)))
        made[0][...] = arrays[0]
        return [BatchedArray(values, x.batch) for values in types.array_type(x.values).holding(x.values, made)]

    def device(self, x: BatchedArray) -> str:
        return types.array_type(x.values).device(x.values)

    def call(self, op: Any, arity: int) -> Any:
        return call_on_batched(op, arity)

    def prepare_target(self, name: str, target: Tensor, args: Sequence[Any], level: int) -> bool:
        if type(target._array) is not BatchedArray:
            make_batched(name, target, args, level)
        return False

    def root_gradient(self, tensor: Tensor, gradient: Any) -> Any:
        if not isinstance(gradient, Tensor) or gradient._level != tensor._level:
            return gradient if type(gradient) is BatchedArray else self.lift_constant(tensor._array, gradient)
        if type(gradient._array) is BatchedArray or gradient._requires_grad:
            return gradient
        return wrap(self.lift_constant(tensor._array, gradient._array), tensor._level)

    def unwritable(self, name: str, target: Tensor, level: int) -> InplaceError:
        return not_batched_target(name)


_OF_PROGRAMS = (
    "Choose between values with np.where or pullback.where instead of `if`, and by np.maximum instead of max(); "
    "compute with arrays instead of float(), int() or item(); index an ndarray by pullback.asarray(a)[i]. To write "
    "values into an array, call pullback.adopt() once and make it by np.zeros inside the function, or write into "
    "np.zeros_like(x), or join the values by np.stack([...])."
)
_JOIN = (
    "Write x.astype(dtype) of one value and np.stack([...]) of several; or call pullback.adopt(), with which NumPy's "
    "function takes them. NumPy itself evaluates the index of an ndarray: there write "
    "pullback.asarray(a)[np.stack([0, i])]."
)
_TAKE = "NumPy itself evaluates the index. Write np.take(pullback.asarray(a), i, axis)."
# Calls that want an ndarray, by their name at the user's line: who is said to look, and what to write instead.
_OF_CONVERSIONS = {
    "np.array": ("np.array", _JOIN),
    "np.asarray": ("np.asarray", _JOIN),
    "ndarray": (
        "The index of an ndarray",
        "NumPy itself evaluates it. Write pullback.asarray(a)[i], np.stack for a list in i, np.where for a mask.",
    ),
    "ndarray.take": ("ndarray.take", _TAKE),
    "np.take": ("np.take", _TAKE),
}
_OF_SCIPY = (
    "It decides by numbers, of which each sample has its own. Call it once outside of vmap on the arrays of all "
    "samples, where it takes them (axis=), or in a loop over the samples, and np.stack what it gives."
)


def _is_differentiated(x: Any) -> bool:
    """True if an array has a place in a graph, or a derivative, at any level."""
    while isinstance(x, Tensor):
        if x._requires_grad:
            return True
        x = x._array
    return _is_differentiated(x.values) if type(x) is BatchedArray else types.carries_derivative(x)


def _has_dimensions(x: Any) -> bool:
    return type(x) is BatchedArray or (types.is_array(x) and bool(x.ndim))


def _written(part: Any, name: str, value: Any) -> Any:
    if type(part) is ndarray:
        write_array(name, part, constant_part(value))
        return part
    return part.copy_(value) if isinstance(part, Tensor) else assigned(name, part, value)


register_array_type(BatchedArray, BatchedType(BATCHED))
