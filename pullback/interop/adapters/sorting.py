"""NumPy's functions that put elements in order; what they return as indices or truth values is constant."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from pullback.core.array_type import check
from pullback.core.numpy_types import AnyArray, ArrayLike, Axis, Integers, NoValue, Order, Out, SortKind
from pullback.interop.adapters.indexing import take_along_axis
from pullback.interop.adapters.reductions import without_nan
from pullback.interop.operands import array, astype, frozen, is_hidden, only, ops, tensor_of, values
from pullback.interop.registry import numpy_object, rule


def _flat(a: ArrayLike, axis: Axis) -> tuple[AnyArray, int]:
    a = array(a)
    return (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)


@rule("sort")
def sort(
    a: ArrayLike, axis: Axis = -1, kind: SortKind | None = None, order: Order = None, *, stable: bool | None = None
) -> AnyArray:
    """np.sort."""
    only("sort", "order", order, (None,))
    if kind is not None or stable is not None:
        np.sort(np.empty(0), -1, kind, stable=stable)  # NumPy's error for what is no kind
    a, axis = _flat(a, axis)
    if a.dtype.kind == "c":  # which operators do not order
        return take_along_axis(a, _complex_order(a, axis), axis)
    return ops.sort(a, axis)[0]


def _complex_order(a: AnyArray, axis: int) -> AnyArray:
    if is_hidden(a):
        return lexsort((np.imag(a), np.real(a)), axis)
    return np.argsort(frozen(a, "sort"), axis, kind="stable")


@rule("sort_complex")
def sort_complex(a: ArrayLike) -> AnyArray:
    """np.sort_complex: complex numbers, ordered by real part, then by imaginary part."""
    found = sort(a)
    if found.dtype.kind == "c":
        return found
    return astype(found, np.complex64 if found.dtype.char in "bhBH" else np.complex128)


@rule("argsort")
def argsort(
    a: ArrayLike, axis: Axis = -1, kind: SortKind | None = None, order: Order = None, *, stable: bool | None = None
) -> AnyArray:
    """np.argsort."""
    only("argsort", "order", order, (None,))
    a, axis = _flat(a, axis)
    if kind is not None and stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if not a.ndim:
        return np.argsort(np.empty(a.shape), axis, kind)  # NumPy's error, or no place at all
    return ops._numpy_argsort(a, axis, "stable" if stable else kind)


def _check_selection(kind: Any) -> None:
    if kind != "introselect":
        np.partition(np.empty(1), 0, kind=kind)  # NumPy's error for what is no kind


@rule("partition")
def partition(
    a: ArrayLike, kth: Integers, axis: Axis = -1, kind: Literal["introselect"] = "introselect", order: Order = None
) -> AnyArray:
    """np.partition."""
    only("partition", "order", order, (None,))
    _check_selection(kind)
    a, axis = _flat(a, axis)
    return take_along_axis(a, ops._order_of_partition(a, axis, values(kth, "partition").tolist()), axis)


def _constant(name: str) -> Callable[..., Any]:
    """The rule of a function whose result is indices, counts or truth values: nothing to differentiate."""
    function = numpy_object(name)

    def run(*args: object, **kwargs: object) -> Any:
        if name in OF_HIDDEN and is_hidden(*_spread((*args, *kwargs.values()))):
            return OF_HIDDEN[name](*args, **kwargs)
        kwargs = {key: _plain(x, name) for key, x in kwargs.items()}
        result = function(*(_plain(x, name) for x in args), **kwargs)
        return tuple(map(tensor_of, result)) if isinstance(result, tuple) else tensor_of(result)

    return run


def _plain(x: Any, name: str) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_plain(item, name) for item in x)
    return frozen(x, name) if hasattr(x, "requires_grad") else x


def _spread(given: Iterable[object]) -> list[Any]:
    return [y for x in given for y in (x if isinstance(x, (list, tuple)) else (x,))]


# -- where the numbers of many samples are not seen: the same in operators -------------------------------------------
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: Any = None) -> AnyArray:
    """np.searchsorted."""
    a, v = array(a), array(v)
    a = a if sorter is None else np.take(a, sorter)
    dtype = np.result_type(a, v)
    return ops.searchsorted(astype(a, dtype), astype(v, dtype), side=side)


def digitize(x: AnyArray, bins: ArrayLike, right: bool = False) -> AnyArray:
    """np.digitize; bins that differ between samples must increase."""
    bins, side = array(bins), "left" if right else "right"
    if not is_hidden(bins) and len(bins) > 1 and np.all(bins[1:] <= bins[:-1]) and bins[0] != bins[-1]:
        return len(bins) - searchsorted(bins[::-1], x, side)
    check(_examine_increasing, bins)
    return searchsorted(bins, x, side)


def _examine_increasing(bins: AnyArray) -> None:
    if np.any(np.diff(bins) < 0):
        raise ValueError("np.digitize: bins must increase, in every sample where they are batched.")


def isin(
    element: AnyArray,
    test_elements: AnyArray,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: SortKind | None = None,
) -> AnyArray:
    """np.isin."""
    return ops.isin(array(element), array(test_elements), invert=bool(invert))


def argpartition(
    a: AnyArray, kth: Integers, axis: Axis = -1, kind: Literal["introselect"] = "introselect", order: Order = None
) -> AnyArray:
    """np.argpartition."""
    only("argpartition", "order", order, (None,))
    _check_selection(kind)
    a, axis = _flat(a, axis)
    return ops._numpy_argpartition(a, axis, values(kth, "argpartition").tolist())


def lexsort(keys: Iterable[ArrayLike], axis: int = -1) -> AnyArray:
    """np.lexsort: by the last key, and by the others where it is equal."""
    first, *others = [array(key) for key in keys]
    found: AnyArray = ops.argsort(first, axis, stable=True)
    for key in others:
        step = ops.argsort(take_along_axis(key, found, axis), axis, stable=True)
        found = take_along_axis(found, step, axis)
    return found


def _nanarg(find: Callable[..., AnyArray], otherwise: float) -> Callable[..., Any]:
    def run(a: AnyArray, axis: Axis = None, out: Out = None, *, keepdims: bool | NoValue = False) -> AnyArray:
        a = array(a)
        check(_examine_known, np.all(np.isnan(a), axis) if a.dtype.kind in "fc" else np.False_)
        keepdims = keepdims is not np._NoValue and bool(keepdims)
        return find(without_nan(a, otherwise), axis, out, keepdims=keepdims)

    return run


def _examine_known(lost: AnyArray) -> None:
    if np.any(lost):
        raise ValueError("All-NaN slice encountered")


def unravel_index(indices: AnyArray, shape: int | Sequence[int], order: Order = "C") -> tuple[AnyArray, ...]:
    """np.unravel_index."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    check(functools.partial(_examine_range, "unravel_index", math.prod(sizes)), indices)
    found = []
    for size in sizes[::-1] if order == "C" else sizes:
        found.append(indices % size)
        indices = indices // size
    return tuple(found[::-1] if order == "C" else found)


def ravel_multi_index(
    multi_index: Sequence[ArrayLike], dims: Sequence[int], mode: str = "raise", order: Order = "C"
) -> Any:
    """np.ravel_multi_index."""
    modes = (mode,) * len(dims) if isinstance(mode, str) else mode
    found: Any = 0
    steps = [*zip(multi_index, dims, modes, strict=True)]
    for i, size, how in steps if order == "C" else steps[::-1]:
        place = array(i)
        if how == "raise":
            check(functools.partial(_examine_range, "ravel_multi_index", size), place)
        place = place % size if how == "wrap" else np.clip(place, 0, size - 1)
        found = found * size + place
    return found


def _examine_range(name: str, size: int, index: AnyArray) -> None:
    if np.any((index < 0) | (index >= size)):
        raise ValueError(f"np.{name}: an index is out of bounds for size {size}.")


OF_HIDDEN: dict[str, Callable[..., Any]] = {
    "argpartition": argpartition, "digitize": digitize, "isin": isin, "lexsort": lexsort,
    "nanargmax": _nanarg(np.argmax, -np.inf), "nanargmin": _nanarg(np.argmin, np.inf),
    "ravel_multi_index": ravel_multi_index, "searchsorted": searchsorted, "unravel_index": unravel_index,
}  # fmt: skip
CONSTANT = (
    "argpartition", "bitwise_count", "digitize", "isin", "isnat", "lexsort", "nanargmax", "nanargmin", "packbits",
    "ravel_multi_index", "searchsorted", "spacing", "unpackbits", "unravel_index",
)  # fmt: skip

for _name in CONSTANT:
    rule(_name)(_constant(_name))
