"""The methods of ufuncs: `np.add.reduce(t)`, `accumulate`, `reduceat`, `outer`, `at`, for every ufunc that has a rule.

What an operator does at once (sums, products, extrema) goes to that; all else applies the ufunc pair by pair, as NumPy
does, from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core.array_type import layout_of
from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import (
    AnyArray,
    ArrayLike,
    Axes,
    DTypeLike,
    Index,
    Integers,
    Mask,
    NoValue,
    Numeric,
    Out,
)
from pullback.core.tensor import Tensor
from pullback.interop.conversion import would_store
from pullback.interop.operands import (
    along,
    array,
    astype,
    axes_of,
    cast,
    deliver,
    index_values,
    is_hidden,
    moveaxis,
    needs_grad,
    ops,
    tensor_of,
    values,
)
from pullback.interop.registry import FUNCTIONS, load_adapters


def reduce(
    ufunc: np.ufunc,
    a: ArrayLike,
    axis: Axes = 0,
    dtype: DTypeLike = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Numeric | NoValue | None = np._NoValue,
    where: Mask = True,
) -> Any:
    """ufunc.reduce; by the function that NumPy has for it, if it has one: np.add.reduce is np.sum."""
    unset = initial is None or initial is np._NoValue
    if ufunc in REDUCTIONS:
        load_adapters()
        given: dict[str, object] = {} if dtype is None else {"dtype": dtype}
        given |= {} if unset else {"initial": initial}
        given |= {} if where is True else {"where": where}
        return FUNCTIONS[REDUCTIONS[ufunc]](array(a), axis=axis, out=out, keepdims=keepdims, **given)
    name = f"{ufunc.__name__}.reduce"
    a = array(a)
    if dtype is None and a.dtype.kind in "biu" and out is not None:
        kept = (out[0] if isinstance(out, tuple) else out).dtype
        dtype = kept if kept.kind in "fc" else None  # in which NumPy computes then
    a = a if dtype is None else cast(a, dtype, name)
    axes = axes_of(axis, a.ndim) if a.ndim or axis not in (0, -1) else ()
    like = ufunc.reduce(np.ones((1,) * a.ndim, a.dtype), axes)  # refuses what NumPy refuses
    if ufunc is np.logaddexp and where is True and unset and axes and a.size:
        return deliver(name, ops.logsumexp(a, axes, bool(keepdims)), out)
    start = ufunc.identity if initial is np._NoValue else initial
    if where is not True and start is None:
        raise ValueError(f"np.{name} has no identity, so to use a where mask initial must be given.")
    rows = _rows(a, axes)
    masks = None if where is True else _rows(np.broadcast_to(index_values(where, name), a.shape), axes)
    if unset and masks is None and rows.shape[0]:
        result, rows = rows[0], rows[1:]
    elif start is None:
        raise ValueError(f"np.{name} has no identity, and axis {axis} of shape {tuple(a.shape)} has no elements.")
    else:
        result = np.broadcast_to(astype(array(start), a.dtype), rows.shape[1:])
    for i, row in enumerate(rows):
        following = ufunc(result, row)
        result = following if masks is None else np.where(masks[i], following, result)
    result = astype(result, like.dtype)
    if keepdims:
        result = np.reshape(result, [1 if i in axes else n for i, n in enumerate(a.shape)])
    return deliver(name, result, out)


def _rows(a: AnyArray, axes: Sequence[int]) -> AnyArray:
    """`a` with the dimensions of `axes` as one, the first."""
    moved = moveaxis(a, axes, range(len(axes)))
    return np.reshape(moved, (-1 if a.size else int(np.prod(moved.shape[: len(axes)])), *moved.shape[len(axes) :]))


def accumulate(ufunc: np.ufunc, a: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Out = None) -> AnyArray:
    """ufunc.accumulate: the results of reduce over ever more elements."""
    name = f"{ufunc.__name__}.accumulate"
    a = array(a)
    a = a if dtype is None else cast(a, dtype, name)
    axis = normalize_axis_index(axis, a.ndim)
    if ufunc in ACCUMULATIONS:
        result = getattr(ops, ACCUMULATIONS[ufunc])(a, axis)
        return deliver(name, result[0] if isinstance(result, tuple) else result, out)
    rows = moveaxis(a, axis, 0)
    if not rows.shape[0]:
        return deliver(name, a, out)
    results = [rows[0]]
    for i in range(1, rows.shape[0]):
        results.append(ufunc(results[-1], rows[i]))
    return deliver(name, np.stack([astype(r, results[-1].dtype) for r in results], axis), out)


def reduceat(
    ufunc: np.ufunc, a: ArrayLike, indices: Integers, axis: int = 0, dtype: DTypeLike = None, out: Out = None
) -> AnyArray:
    """ufunc.reduceat: reduce over the segments that begin at `indices`."""
    name = f"{ufunc.__name__}.reduceat"
    a, starts = array(a), values(indices, name)
    a = a if dtype is None else cast(a, dtype, name)
    axis = normalize_axis_index(axis, a.ndim)
    n = a.shape[axis]
    starts = starts.astype(np.intp) if starts.dtype.kind == "b" else starts
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise TypeError(f"np.{name}: indices must be a vector of integers, got {indices!r}.")
    if starts.size and not (starts.min() >= 0 and starts.max() < n):
        raise IndexError(f"np.{name}: index {starts[(starts < 0) | (starts >= n)][0]} out-of-bounds in [0, {n}).")
    ends = np.maximum(np.append(starts[1:], n), starts + 1)  # one element where the next index is not larger
    if ufunc is np.add and starts.size:
        where = np.concatenate([np.arange(*ends_of) for ends_of in zip(starts, ends, strict=True)])
        shape = [*a.shape]
        shape[axis] = len(starts)
        taken: AnyArray = np.take(a, where, axis)
        taken = taken if a.dtype.kind in "fc" else astype(taken, np.add.reduce(np.empty(1, a.dtype)).dtype)
        segment = np.repeat(np.arange(len(starts)), ends - starts)
        return deliver(name, ops.index_add(np.zeros(shape, taken.dtype), axis, segment, taken), out)
    parts = [reduce(ufunc, a[along(a.ndim, axis, slice(*e))], axis) for e in zip(starts, ends, strict=True)]
    return deliver(name, np.stack(parts, axis) if parts else a[along(a.ndim, axis, slice(0))], out)


def outer(ufunc: np.ufunc, a: ArrayLike, b: ArrayLike, **kwargs: object) -> object:
    """Every element of `a` with every element of `b`: ufunc(a[..., None, None], b)."""
    a, b = array(a), array(b)
    return ufunc(np.reshape(a, (*a.shape, *(1,) * b.ndim)), b, **kwargs)


def at(ufunc: np.ufunc, a: Any, indices: Any, *b: ArrayLike) -> None:
    """ufunc.at: `a[indices] = ufunc(a[indices], b)`, once for each time that an element is named, in their order."""
    name = f"{ufunc.__name__}.at"
    if ufunc.signature is not None or ufunc.nout != 1 or ufunc.nin > 2:
        raise ValueError(f"np.{name}: only ufuncs of one or two numbers with one result can be applied in place.")
    index = tuple(_index(i, name) for i in indices) if isinstance(indices, tuple) else _index(indices, name)
    if not isinstance(a, Tensor):
        for tensor in filter(needs_grad, map(array, b)):
            raise would_store(tensor)
        return ufunc.at(a, index, *(values(x, name) for x in b))
    if is_hidden(*(index if isinstance(index, tuple) else (index,))):
        _at_hidden(ufunc, name, a, index, b)
        return None
    places = np.asarray(np.arange(a.size).reshape(a.shape)[index])
    a = a if a.ndim else np.reshape(a, (1,))  # a view
    parts = [np.ravel(np.broadcast_to(_apart(array(x), a), places.shape)) for x in b]
    places = places.ravel()
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    new = np.append(True, sorted_places[1:] != sorted_places[:-1]) if len(order) else np.zeros(0, bool)
    since = np.arange(len(order)) - np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    for turn in range(int(since.max(initial=-1)) + 1):  # the elements named for the first time, for the second, ...
        these = np.sort(order[since == turn])
        target = np.unravel_index(places[these], a.shape)
        a[target] = cast(ufunc(a[target], *(p[these] for p in parts)), a.dtype, name)
    return None


def _apart(x: AnyArray, a: AnyArray) -> AnyArray:
    """`x`, or its copy if it lies in the memory of `a`: NumPy, too, reads what was there before the first write."""
    memory, mine = layout_of(a), layout_of(x)
    shared = memory is not None and mine is not None and np.shares_memory(memory, mine)
    return np.copy(x) if shared else x


def _index(i: object, name: str) -> Any:
    return i if i is None or i is Ellipsis or isinstance(i, (slice, int)) else index_values(i, name)


def _at_hidden(ufunc: np.ufunc, name: str, a: Any, index: Index, b: Sequence[ArrayLike]) -> None:
    """The same where nobody sees which elements are named: by sums, in which the order does not count."""
    if ufunc not in (np.add, np.subtract):
        raise UnsupportedError(
            f"np.{name}: under vmap, with indices that differ between samples, only np.add.at and np.subtract.at have "
            "a rule; name each element once and write a[index] = ... instead."
        )
    places = tensor_of(np.arange(a.size).reshape(a.shape))[index]
    new: AnyArray = np.ravel(np.broadcast_to(array(b[0]), places.shape))
    new = cast(-new if ufunc is np.subtract else new, a.dtype, name)
    sums = ops.index_add(ops.reshape(a, (-1,)), 0, ops.reshape(places, (-1,)), new)
    a[...] = ops.reshape(sums, a.shape)


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "outer": outer,
    "at": at,
}
REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.logical_and: np.all,
    np.logical_or: np.any,
}  # fmt: skip
ACCUMULATIONS = {
    np.add: "cumsum", np.multiply: "cumprod", np.logaddexp: "logcumsumexp", np.maximum: "cummax", np.minimum: "cummin",
}  # fmt: skip
