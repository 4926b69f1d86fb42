"""Rules for indexing with square brackets, and by index arrays along a dimension."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.errors import unknown_shape
from pullback.arrays.batched.rules import RULES, Rule, flat, laid_out, refuse_as_kernel, rule, with_leading
from pullback.arrays.batched.values import (
    aligned,
    as_array,
    everywhere,
    in_columns,
    is_batched,
    rank_of,
    run,
    shape_of,
    shifted,
)
from pullback.core.array_type import SCALARS, TENSOR, refuse_where
from pullback.core.errors import OperatorError
from pullback.core.tensor import ndarray
from pullback.dispatch.mixed import on_wrapped


# -- square brackets: the index is the same for all elements -----------------------------------------------------------
def in_batch(batch: Batch, index: Any, ndim: int) -> tuple[Any, ...]:
    """The index with the batch dimension in front: whole, or counted where NumPy would put it behind index arrays."""
    items = index if isinstance(index, tuple) else (index,)
    found = [i for i, item in enumerate(items) if _is_array(item)]
    if not found:
        return (slice(None), *items)
    places = [i for i, item in enumerate(items) if _is_array(item) or (item is not None and _is_integer(item))]
    if places[-1] - places[0] + 1 == len(places):  # side by side: there NumPy puts the dimensions that they make
        return (slice(None), *items)
    rank = np.broadcast(*[_counted(items[i]) for i in places]).ndim
    return (np.arange(batch.size).reshape((-1,) + (1,) * rank), *items)


def _is_array(item: Any) -> bool:
    return type(item) in (ndarray, list, bool, np.bool_)


def _is_integer(item: Any) -> bool:
    return not isinstance(item, slice) and item is not Ellipsis and not _is_array(item)


def _counted(item: Any) -> Any:
    """An item of an index as integers: NumPy takes the places of a mask for as many."""
    array = np.asarray(item)
    return array.nonzero()[0] if array.dtype.kind == "b" else array


def _region(shape: tuple[int, ...], index: Any) -> tuple[int, ...]:
    """The shape of what an index shows."""
    shown: ndarray = np.broadcast_to(np.empty((), np.int8), shape)[index]
    return shown.shape


@rule("slice_view")
def _slice_view(batch: Batch, x: BatchedArray, index: Any) -> Any:
    return run("slice_view", x.values, (slice(None), *(index if isinstance(index, tuple) else (index,))))


@rule("advanced_index")
def _advanced_index(batch: Batch, x: BatchedArray, index: Any) -> Any:
    return run("advanced_index", x.values, in_batch(batch, index, x.ndim))


def _placing_region(name: str) -> Rule:
    def placed(batch: Batch, x: Any, shape: Any, index: Any) -> Any:
        # A gradient of what the index shows has its shape.
        same = name == "slice_backward" and is_batched(batch, x)
        values = x.values if same else everywhere(batch, x, len(_region(tuple(shape), index)))
        if name == "slice_backward" and in_columns(values):
            out = np.zeros((*shape, batch.size), values.dtype).transpose((len(shape), *range(len(shape))))
            out[in_batch(batch, index, len(shape))] = values
            return out
        return run(name, values, (batch.size, *shape), in_batch(batch, index, len(shape)))

    return placed


RULES.update({name: _placing_region(name) for name in ("slice_backward", "index_accumulate")})


@rule("setitem")
def _setitem(batch: Batch, x: Any, index: Any, value: Any) -> Any:
    return run("setitem", everywhere(batch, x), in_batch(batch, index, rank_of(x)), _fitted(batch, x, index, value))


@rule("index_put")
def _index_put(batch: Batch, x: Any, index: Any, value: Any, accumulate: bool) -> Any:
    places = in_batch(batch, index, rank_of(x))
    return run("index_put", everywhere(batch, x), places, _fitted(batch, x, index, value), accumulate)


def _fitted(batch: Batch, x: Any, index: Any, value: Any) -> Any:
    """A value as it is written at an index: leading dimensions of size 1 that are one too many go."""
    if not is_batched(batch, value):
        return value
    rank = len(_region(shape_of(x), index))
    values = aligned(batch, value, rank)
    extra = values.ndim - 1 - rank
    if extra > 0 and all(n == 1 for n in values.shape[1 : 1 + extra]):
        values = run("reshape", values, (batch.size, *values.shape[1 + extra :]))
    return values


# -- index arrays along a dimension ------------------------------------------------------------------------------------
def _paired(name: str, tensors: tuple[int, ...]) -> Rule:
    """A rule that reads or writes by an index with a place for each element: all arguments side by side."""

    def by_index(batch: Batch, x: Any, dim: int, *rest: Any) -> Any:
        args = [x, dim, *rest]
        rank = rank_of(x)
        for i in tensors:
            args[i] = everywhere(batch, args[i], 0 if rank else 1)
        result = run(name, args[0], shifted(dim, rank, name), *args[2:])
        return result if rank else flat(batch, result)

    return by_index


for _name, _tensors in (
    ("scatter", (0, 2, 3)), ("scatter_value", (0, 2)), ("scatter_with", (0, 2, 3)), ("scatter_add", (0, 2, 3)),
    ("scatter_reduce", (0, 2, 3)), ("gather", (0, 2)),
):  # fmt: skip
    RULES[_name] = _paired(_name, _tensors)


def _placing(name: str) -> Rule:
    """A rule that places or adds elements in zeros of a shape, by an index with a place for each element."""

    def by_index(batch: Batch, x: Any, shape: Any, dim: int, index: Any, *rest: Any) -> Any:
        rank = 0 if shape else 1
        sizes = (batch.size, *(shape or (1,)))
        given, places = everywhere(batch, x, rank), everywhere(batch, index, rank)
        values = run(name, given, sizes, shifted(dim, len(shape), "gather"), places, *rest)
        return values if shape else flat(batch, values)

    return by_index


for _name in ("gather_backward", "placed_along"):
    RULES[_name] = _placing(_name)


# An index that differs between elements is one into all elements in a row: along one dimension of batch.size * n.
def _in_row(batch: Batch, x: Any, dim: int) -> Any:
    """The values with `dim`, counted among theirs, behind the batch dimension and in one with it."""
    values = run("movedim", everywhere(batch, x), dim, 1)
    return run("reshape", values, (batch.size * values.shape[1], *values.shape[2:]))


def _out_of_row(batch: Batch, row: Any, dim: int) -> Any:
    values = run("reshape", row, (batch.size, row.shape[0] // max(batch.size, 1), *row.shape[1:]))
    return run("movedim", values, 1, dim)


def _places(batch: Batch, index: Any, size: int, name: str) -> Any:
    """The places in a row of arrays of that size, from places in each."""
    values = everywhere(batch, index, 1)
    wrong = run("logical_or", run("lt", values, -size), run("ge", values, size))
    refuse_where(wrong, lambda: IndexError(f"{name}: an index is out of range for dimension of size {size}."))
    values = run("where", run("lt", values, 0), run("add", values, size), values)
    first = np.arange(batch.size).reshape((-1,) + (1,) * (values.ndim - 1)) * size
    return run("reshape", run("add", values, first), (-1,))


@rule("index_select")
def _index_select(batch: Batch, x: Any, dim: int, index: Any) -> Any:
    rank = rank_of(x)
    if rank_of(index) > 1:
        refuse_as_kernel("index_select", batch, (x, dim, index))
    if not is_batched(batch, index):
        if rank:
            return run("index_select", x.values, shifted(dim, rank, "index_select"), index)
        return flat(batch, run("index_select", aligned(batch, x, 1), 1, index))
    if not is_batched(batch, x) and rank:
        dim = shifted(dim, rank, "index_select") - 1
        count = index.values.shape[1] if index.ndim else 1
        found = run("index_select", x, dim, run("reshape", index.values, (batch.size * count,)))
        shape = shape_of(x)
        found = run("reshape", found, (*shape[:dim], batch.size, count, *shape[dim + 1 :]))
        return run("movedim", found, dim, 0)
    place = shifted(dim, rank, "index_select")
    row = _in_row(batch, x if rank else BatchedArray(everywhere(batch, x, 1), batch), place)
    n = shape_of(x)[place - 1] if rank else 1
    found = _out_of_row(batch, run("index_select", row, 0, _places(batch, index, n, "index_select")), place)
    return found if rank else flat(batch, found)


@rule("index_select_backward")
def _index_select_backward(batch: Batch, x: Any, shape: Any, dim: int, index: Any) -> Any:
    sizes = (batch.size, *(shape or (1,)))
    place = shifted(dim, len(shape), "index_select")
    if not is_batched(batch, index):
        values = run("index_select_backward", everywhere(batch, x, len(sizes) - 1), sizes, place, index)
        return values if shape else flat(batch, values)
    row = _in_row(batch, x if shape else BatchedArray(everywhere(batch, x, 1), batch), place)
    n = sizes[place]
    others = [size for d, size in enumerate(sizes) if d not in (0, place)]
    found = run("index_select_backward", row, (batch.size * n, *others), 0, _places(batch, index, n, "index_select"))
    found = _out_of_row(batch, found, place)
    return found if shape else flat(batch, found)


def _writing(name: str, source: bool) -> Rule:
    """index_add and its kin: (self, dim, index, source or value, more)."""

    def written(batch: Batch, x: Any, dim: int, index: Any, value: Any, *rest: Any) -> Any:
        rank = rank_of(x)
        place, sizes = shifted(dim, rank, name), shape_of(x) or (1,)
        whole = everywhere(batch, x, max(rank, 1))
        if source:
            value = everywhere(batch, value, max(rank, 1))
        if not is_batched(batch, index) and (source or not is_batched(batch, value)):
            found = run(name, whole, place, index, value, *rest)
            return found if rank else flat(batch, found)
        if not source and is_batched(batch, value):  # a number for each element
            count = max(index.size if hasattr(index, "size") else 1, 1)
            shape = [*sizes]
            shape[place - 1] = count
            value = run("expand", everywhere(batch, value, len(sizes)), (batch.size, *shape), False)
            return written_row("index_copy", batch, whole, place, index, value, sizes[place - 1], rank)
        if source:
            return written_row(name, batch, whole, place, index, value, sizes[place - 1], rank, *rest)
        places = _places(batch, index, sizes[place - 1], name)
        row = run(name, _in_row(batch, BatchedArray(whole, batch), place), 0, places, value)
        found = _out_of_row(batch, row, place)
        return found if rank else flat(batch, found)

    return written


def written_row(
    name: str, batch: Batch, whole: Any, place: int, index: Any, value: Any, n: int, rank: int, *rest: Any
) -> Any:
    """Write into all elements in a row."""
    rows = [_in_row(batch, BatchedArray(x, batch), place) for x in (whole, value)]
    found = _out_of_row(batch, run(name, rows[0], 0, _places(batch, index, n, name), rows[1], *rest), place)
    return found if rank else flat(batch, found)


RULES.update({name: _writing(name, True) for name in ("index_add", "index_copy", "index_reduce")})
RULES["index_fill"] = laid_out(_writing("index_fill", False))


# -- the flattened array -----------------------------------------------------------------------------------------------
def _row(batch: Batch, x: Any) -> Any:
    """All elements of an array in a row, batched or not."""
    if is_batched(batch, x):
        return BatchedArray(run("reshape", x.values, (batch.size, x.size)), batch)
    return run("reshape", as_array(x), (-1,))


def _shown(batch: Batch, x: BatchedArray, shape: Any) -> Any:
    return run("reshape", x.values, (batch.size, *shape))


@rule("take")
def _take(batch: Batch, x: Any, index: Any) -> Any:
    return _shown(batch, run("index_select", _row(batch, x), 0, _row(batch, index)), shape_of(index))


@rule("take_backward")
def _take_backward(batch: Batch, x: Any, shape: Any, index: Any) -> Any:
    n = int(np.prod(shape))
    return _shown(batch, run("index_select_backward", _row(batch, x), (n,), 0, _row(batch, index)), shape)


@rule("put")
def _put(batch: Batch, x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    rows = _row(batch, x), 0, _row(batch, index), _row(batch, source)
    written = run("index_add", *rows, 1) if accumulate else run("index_copy", *rows)
    return _shown(batch, written, shape_of(x))


# -- masks -------------------------------------------------------------------------------------------------------------
def _unless_number(batch: Batch, x: Any) -> Any:
    return x if type(x) in SCALARS else everywhere(batch, x)


@rule("diagonal_scatter")
def _diagonal_scatter(batch: Batch, x: Any, source: Any, offset: int, dim1: int, dim2: int) -> Any:
    dims = [shifted(dim, rank_of(x), "diagonal_scatter") for dim in (dim1, dim2)]
    return run("diagonal_scatter", everywhere(batch, x), _unless_number(batch, source), offset, *dims)


# Kernels whose results have shapes that depend on the values: what users call them, what to write instead.
BY_VALUES = {
    "argwhere": ("nonzero", "Use nonzero_static(size=n), or pullback.where with three arguments."),
    "unique": ("unique", "Sort instead, and compare neighbours."),
    "consecutive": ("unique_consecutive", "Compare neighbours: x[1:] != x[:-1]."),
    "repeat_positions": ("repeat_interleave", "Give numbers of repetitions that are the same for all."),
}


def _refusing(kernel: str) -> Rule:
    def refuse(batch: Batch, *args: Any) -> Any:
        raise unknown_shape(*BY_VALUES[kernel])

    return refuse


RULES.update({kernel: _refusing(kernel) for kernel in BY_VALUES})


def _selected(batch: Batch, mask: Any, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """(where a mask that is the same for all elements of the batch is True in an array of that shape, its shape)."""
    if type(mask) is not ndarray:
        raise unknown_shape("masked_select (x[mask])", "Keep the shape: pullback.where(mask, x, 0).")
    whole = np.broadcast_shapes(tuple(shape), mask.shape)
    return np.flatnonzero(np.broadcast_to(mask, whole)), whole


@rule("masked_select")
def _masked_select(batch: Batch, x: Any, mask: Any) -> Any:
    places, whole = _selected(batch, mask, shape_of(x))
    rows = run("expand", everywhere(batch, x, len(whole)), (batch.size, *whole), False)
    return run("index_select", run("reshape", rows, (batch.size, int(np.prod(whole)))), 1, places)


@rule("masked_select_backward")
def _masked_select_backward(batch: Batch, grad: Any, shape: Any, mask: Any) -> Any:
    places, whole = _selected(batch, mask, shape)
    rows = run("index_select_backward", everywhere(batch, grad), (batch.size, int(np.prod(whole))), 1, places)
    return run("reshape", rows, (batch.size, *whole))


# -- looking for values ------------------------------------------------------------------------------------------------
@rule("masked_fill")
@laid_out
def _masked_fill(batch: Batch, x: Any, mask: Any, value: Any) -> Any:
    rank = max(rank_of(x), rank_of(mask))
    whole, mask = everywhere(batch, x, rank), aligned(batch, mask, rank)
    if not is_batched(batch, value):
        return run("masked_fill", whole, mask, value)
    if value.ndim:
        refuse_as_kernel("masked_fill", batch, (x, mask, value))
    return run("where", mask, run("to_copy", aligned(batch, value, rank), x.dtype, None), whole)


@rule("masked_scatter")
def _masked_scatter(batch: Batch, x: Any, mask: Any, source: Any) -> Any:
    return on_wrapped(_scattered, x, mask, source)


def _scattered(x: Any, mask: Any, source: Any) -> Any:
    mask = TENSOR.expand(mask, x.shape)
    row = TENSOR.reshape(mask, (-1,))
    refuse_where(TENSOR.sum(row) > prod(source.shape), lambda: OperatorError("masked_scatter: source is too short."))
    places = TENSOR.clamp(TENSOR.cumsum(row, 0) - 1, 0, max(prod(source.shape) - 1, 0))
    return TENSOR.where(mask, TENSOR.reshape(TENSOR.take(source, places), x.shape), x)


@rule("isin")
def _isin(batch: Batch, x: Any, among: Any, assume_unique: bool, invert: bool) -> Any:
    if not is_batched(batch, among):
        return run("isin", x.values, among, assume_unique, invert)
    found = on_wrapped(lambda x, row: TENSOR.any(TENSOR.eq(TENSOR.unsqueeze(x, -1), row), -1), x, _row(batch, among))
    return run("logical_not", found) if invert else found


@rule("searchsorted")
def _searchsorted(batch: Batch, edges: Any, x: Any, right: bool, sorter: Any, out_int32: bool) -> Any:
    rank, single = rank_of(edges), rank_of(edges) == 1
    if not is_batched(batch, edges) and not is_batched(batch, sorter) and single:
        return run("searchsorted", edges, x.values, right, sorter, out_int32)
    shape = shape_of(x)
    values = (
        run("reshape", everywhere(batch, x), (batch.size, -1 if batch.size else 0)) if single else everywhere(batch, x)
    )
    sorter = everywhere(batch, sorter)
    found = run("searchsorted", everywhere(batch, edges, rank), values, right, sorter, out_int32)
    return run("reshape", found, (batch.size, *shape))


RULES["unravel_index"] = with_leading("unravel_index", (0,))


@rule("nonzero_static")
def _nonzero_static(batch: Batch, x: BatchedArray, size: int, fill_value: int) -> Any:
    if not x.ndim or not x.size or size < 0:
        refuse_as_kernel("nonzero_static", batch, (x, size, fill_value))
    row = run("ne", run("reshape", x.values, (batch.size, x.size)), 0)
    order = run("argsort", row, 1, True, True)  # the places that are not zero come first, and in order
    count = run("sum", row, 1, True, None)
    places = np.minimum(np.arange(size), x.size - 1)
    flat_places = run("index_select", order, 1, places)
    rows = run("stack", list(run("unravel_index", flat_places, x.shape)), -1)
    there = run("unsqueeze", run("lt", np.arange(size), count), -1)
    return run("where", there, rows, fill_value)
