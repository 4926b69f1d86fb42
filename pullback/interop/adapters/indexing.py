"""NumPy's functions that choose elements."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.numpy.overlap import refuse_overlap
from pullback.core.array_face import ARRAYS, Array
from pullback.core.array_type import check, layout_of
from pullback.core.errors import with_article
from pullback.core.numpy_types import (
    AnyArray,
    ArrayLike,
    Arrays,
    Axes,
    Axis,
    Casting,
    Integers,
    Mask,
    Mode,
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
    in_order,
    index_values,
    is_hidden,
    needs_grad,
    only,
    operand,
    ops,
    order_of,
    tensor_of,
    values,
)
from pullback.interop.operands import values as plain_values
from pullback.interop.registry import numpy_object, rule


@rule("where")
def where(condition: Any, x: ArrayLike | None = None, y: ArrayLike | None = None, /) -> Arrays:
    """np.where; with the condition alone, the indices where it holds."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("np.where: either both or neither of x and y must be given.")
    condition = array(condition)
    if condition.dtype.kind != "b":
        condition = condition != 0
    return ops.where(condition, *(v if issubclass(type(v), (int, float, complex)) else array(v) for v in (x, y)))


@rule("nonzero")
def nonzero(a: ArrayLike) -> tuple[AnyArray, ...]:
    """np.nonzero."""
    return tuple(ops.nonzero(array(a), as_tuple=True))


@rule("flatnonzero")
def flatnonzero(a: ArrayLike) -> AnyArray:
    """np.flatnonzero."""
    return nonzero(ops.reshape(array(a), (-1,)))[0]


@rule("argwhere")
def argwhere(a: ArrayLike) -> AnyArray:
    """np.argwhere."""
    return ops.argwhere(array(a))


@rule("take")
def take(a: ArrayLike, indices: Integers, axis: Axes = None, out: Out = None, mode: str = "raise") -> AnyArray:
    """np.take."""
    only("take", "mode", mode, ("raise", "wrap", "clip"))
    a, index = array(a), index_values(indices, "take")
    if not index.size and isinstance(indices, (list, tuple)):
        index = index.astype(np.intp)  # of nothing, as NumPy reads it
    a = tensor_of(a) if is_hidden(index) and not isinstance(a, Tensor) else a
    if axis is None:
        a, axis = ops.reshape(a, (-1,)), 0
    (axis,) = axes_of(axis, a.ndim)
    n = a.shape[axis]
    if index.dtype.kind not in "iub":
        raise TypeError(f"np.take: indices must be integers, got dtype {index.dtype}.")
    index = index.astype(np.intp)
    if mode != "raise":
        index = index % n if mode == "wrap" else np.clip(index, 0, n - 1)
    return deliver("take", a[(slice(None),) * axis + (index,)], out)


@rule("take_along_axis")
def take_along_axis(arr: ArrayLike, indices: Integers, axis: Axis = -1) -> AnyArray:
    """np.take_along_axis."""
    arr, indices = array(arr), index_values(indices, "take_along_axis")
    arr = tensor_of(arr) if is_hidden(indices) and not isinstance(arr, Tensor) else arr
    if axis is None:
        arr, axis = ops.reshape(arr, (-1,)), 0
    (axis,) = axes_of(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError(f"np.take_along_axis: arr has shape {tuple(arr.shape)}, the indices have {indices.shape}.")
    places = np.ogrid[tuple(slice(n) for n in arr.shape)]
    return arr[tuple(indices if i == axis else place for i, place in enumerate(places))]


@rule("compress")
def compress(condition: Mask, a: ArrayLike, axis: Axes = None, out: Out = None) -> AnyArray:
    """np.compress."""
    mask = values(condition, "compress")
    if mask.ndim != 1:
        raise ValueError(f"np.compress: condition must be a 1-d array, got {_described(condition)}.")
    return take(a, np.flatnonzero(mask), axis, out)


def _described(given: Any) -> str:
    shape = np.shape(given)
    return f"the shape {tuple(shape)}" if shape else with_article(given)


@rule("extract")
def extract(condition: Mask, arr: ArrayLike) -> AnyArray:
    """np.extract."""
    return take(arr, np.flatnonzero(values(condition, "extract")))


@rule("delete")
def delete(arr: ArrayLike, obj: Any, axis: Axes = None) -> AnyArray:
    """np.delete."""
    arr = array(arr)
    if axis is None:
        arr, axis = ops.reshape(arr, (-1,)), 0
    (axis,) = axes_of(axis, arr.ndim)
    obj = obj if isinstance(obj, slice) or (isinstance(obj, (list, tuple)) and not obj) else values(obj, "delete")
    kept = np.delete(np.arange(arr.shape[axis]), obj)
    if isinstance(obj, slice) or (not isinstance(obj, (list, tuple)) and obj.size == 1 and obj.dtype != bool):
        return in_order(ops.index_select(arr, axis, kept), order_of(arr))  # both parts are copied
    return arr[along(arr.ndim, axis, kept)]  # an index, and the order in memory that it gives


@rule("bincount")
def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> AnyArray:
    """np.bincount; differentiable in the weights, which it sums in double precision."""
    if weights is not None:
        weights = array(weights)
        weights = weights if weights.dtype.kind == "c" else weights.astype(np.float64)
    if is_hidden(x):
        return ops.bincount(x, weights, operator.index(minlength))
    x = values(x, "bincount")
    count = len(np.bincount(x, minlength=minlength))
    weights = np.ones(x.shape, int) if weights is None else weights
    if weights.shape != x.shape:
        raise ValueError(f"np.bincount: x has shape {x.shape}, the weights have {tuple(weights.shape)}.")
    return ops.index_add(np.zeros(count, weights.dtype), 0, x, weights)


@rule("choose")
def choose(a: ArrayLike, choices: Sequence[ArrayLike], out: Out = None, mode: str = "raise") -> AnyArray:
    """np.choose: at each place, the element of choices[a]."""
    only("choose", "mode", mode, ("raise", "wrap", "clip"))
    choices = _in_common(choices)
    a = index_values(a, "choose")
    if mode != "raise":
        a = a % len(choices) if mode == "wrap" else np.clip(a, 0, len(choices) - 1)
    check(functools.partial(_within, len(choices)), a)
    result: AnyArray = np.copy(choices[0])
    for i, choice in enumerate(choices[1:], start=1):
        result = ops.where(a == i, choice, result)
    shape = np.broadcast_shapes(a.shape, result.shape)
    return deliver("choose", result if result.shape == shape else np.copy(ops.broadcast_to(result, shape)), out)


def _in_common(choices: Sequence[ArrayLike]) -> list[AnyArray]:
    """The choices as arrays of the dtype that all have in common, for which Python's numbers do not count."""
    choices = [c if type(c) in (int, float, complex) else array(c) for c in choices]
    dtype = np.result_type(*(getattr(c, "dtype", c) for c in choices))
    return [astype(array(c), dtype, copy=False) for c in choices]


def _within(count: int, a: AnyArray) -> None:
    if a.size and not (a.min() >= 0 and a.max() < count):
        raise ValueError(f"np.choose: a must be from 0 to {count - 1} for {count} choices, got {a.min()} to {a.max()}.")


@rule("select")
def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: Numeric = 0) -> AnyArray:
    """np.select: the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select: give one choice for each of {len(condlist)} conditions, got {len(choicelist)}.")
    *choices, result = _in_common([*choicelist, default])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = ops.where(array(condition), choice, result)
    return in_order(result, "C")


@rule("piecewise")
def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: object, **kw: object) -> AnyArray:
    """np.piecewise: each function is called on the elements where its condition holds, and on no others."""
    x = array(x)
    single = not isinstance(condlist, (list, tuple)) or (bool(condlist) and np.ndim(condlist[0]) == 0 and x.ndim > 0)
    conditions = [values(c, "piecewise").astype(bool) for c in ([condlist] if single else condlist)]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(conditions, axis=0))
    if len(funclist) != len(conditions):
        n = len(conditions)
        raise ValueError(f"np.piecewise: with {n} conditions, give {n} or {n + 1} functions, got {len(funclist)}.")
    result = ops.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if condition.any():
            part = function(x[condition], *args, **kw) if callable(function) else function
            result = ops.setitem(result, condition, part)
    return result


@rule("diagonal")
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> AnyArray:
    """np.diagonal."""
    if isinstance(a, Array):
        return a.diagonal(offset, axis1, axis2)
    return ops.diagonal(array(a), offset, axis1, axis2)


@rule("linalg.diagonal")
def matrix_diagonal(x: ArrayLike, /, *, offset: int = 0) -> AnyArray:
    """np.linalg.diagonal."""
    return ops.diagonal(array(x), offset, -2, -1)


@rule("diag")
def diag(v: ArrayLike, k: int = 0) -> AnyArray:
    """np.diag."""
    v = array(v)
    return v.diagonal(k) if type(v) in ARRAYS and v.ndim == 2 else ops.diag(v, k)


@rule("diagflat")
def diagflat(v: ArrayLike, k: int = 0) -> AnyArray:
    """np.diagflat."""
    return ops.diagflat(array(v), k)


@rule("tril")
def tril(m: ArrayLike, k: int = 0) -> AnyArray:
    """np.tril."""
    return _triangle(ops.tril, m, k)


@rule("triu")
def triu(m: ArrayLike, k: int = 0) -> AnyArray:
    """np.triu."""
    return _triangle(ops.triu, m, k)


def _triangle(operator: Callable[..., AnyArray], m: ArrayLike, k: int) -> AnyArray:
    m = array(m)
    if m.ndim == 1:  # as many rows of it, in NumPy
        m = ops.broadcast_to(m, (m.shape[0], m.shape[0]))
    return operator(m, k)


@rule("ix_")
def ix_(*args: ArrayLike) -> tuple[AnyArray, ...]:
    """np.ix_."""
    return np.ix_(*(values(x, "ix_") for x in args))


# -- into arrays ----------------------------------------------------------------------------------------------------


@rule("insert")
def insert(arr: ArrayLike, obj: slice | Integers, values: ArrayLike, axis: Axes = None) -> AnyArray:
    """np.insert; differentiable in the values too."""
    arr = array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    (axis,) = axes_of(axis, arr.ndim)
    n = arr.shape[axis]
    where = obj if isinstance(obj, slice) else plain_values(obj, "insert")
    new = astype(array(values), arr.dtype)
    if not isinstance(where, slice) and where.ndim == 0:
        new = np.moveaxis(np.reshape(new, (*(1,) * (arr.ndim - new.ndim), *new.shape)), 0, axis)
        count = new.shape[axis]
    else:  # one element or slice for each index, as many as the values have for a single one
        count = np.zeros(n)[where].size if isinstance(where, slice) or where.dtype == bool else where.size
        if count == 1:
            new = np.reshape(new, (*(1,) * (arr.ndim - new.ndim), *new.shape))
            count = new.shape[axis]
    new = np.broadcast_to(new, [count if i == axis else m for i, m in enumerate(arr.shape)])
    order = np.insert(np.arange(n), where, n + np.arange(count))
    return np.take(np.concatenate([arr, new], axis), order, axis)


def _filling(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a rule that writes into a Tensor; into an ndarray NumPy itself writes, if no gradient goes there."""

    def enter(write: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(write)
        def fill(target: Any, *args: object, **kwargs: object) -> None:
            if isinstance(target, Tensor):
                write(target, *args, **kwargs)
                return
            for x in (*args, *kwargs.values()):
                if isinstance(x, (Tensor, list, tuple)) and needs_grad(given := array(x)):
                    raise would_store(given)
            numpy_object(name)(
                target,
                *(plain_values(x, name) if isinstance(x, (Tensor, list)) else x for x in args),
                **{key: plain_values(x, name) if isinstance(x, Tensor) else x for key, x in kwargs.items()},
            )

        rule(name)(fill)
        return fill

    return enter


@_filling("copyto")
def copyto(dst: Array, src: Any, casting: Casting = "same_kind", where: Mask = True) -> None:
    """np.copyto."""
    src = operand(src)
    if not np.can_cast(
        np.result_type(src) if type(src) in (bool, int, float, complex) else src.dtype, dst.dtype, casting
    ):
        raise TypeError(f"np.copyto: cannot cast from {src.dtype} to {dst.dtype} according to the rule {casting!r}.")
    dst[...] = src if where is True else np.where(index_values(where, "copyto"), src, dst)


@_filling("put")
def put(a: Array, ind: Integers, v: ArrayLike, mode: Mode = "raise") -> None:
    """np.put."""
    only("put", "mode", mode, ("raise", "wrap", "clip"))
    places, v = np.ravel(plain_values(ind, "put")), np.ravel(array(v))
    if places.size and v.size:
        kept, wrong = np.arange(places.size) % v.shape[0], None
        if mode == "raise":
            outside = np.flatnonzero((places < -a.size) | (places >= a.size))
            wrong = outside[0] if outside.size else None
        found = np.arange(a.size).take(places[:wrong], mode=mode)
        if found.size and (wrong is None or _written_where_it_is(a, v)):
            write_flat(a, found, v, kept[:wrong])
        if wrong is not None:  # NumPy, too, has written to the places before
            raise IndexError(f"np.put: index {places[wrong]} is out of bounds for an array of {a.size} elements.")


def _written_where_it_is(a: Array, v: AnyArray) -> bool:
    """True if np.put writes into the memory of `a` itself, and not into a copy, which an error leaves unused."""
    memory, other = layout_of(a), layout_of(v)
    if memory is None or not memory.flags.c_contiguous:
        return False
    return other is None or not np.shares_memory(memory, other)


def write_flat(a: Array, places: np.ndarray[Any, Any], v: AnyArray, kept: np.ndarray[Any, Any]) -> None:
    """a.flat[places] = v[kept], where the last of several values for one place is the one that stays."""
    first = np.unique(places[::-1], return_index=True)[1]
    last = len(places) - 1 - first
    a[np.unravel_index(places[last], a.shape) if a.ndim else ...] = np.reshape(v[kept[last]], (-1,) if a.ndim else ())


@_filling("place")
def place(arr: Array, mask: ArrayLike, vals: ArrayLike) -> None:
    """np.place: one value after the other where the mask holds."""
    places, vals = np.flatnonzero(plain_values(mask, "place")), np.ravel(array(vals))
    if places.size and not vals.size:
        raise ValueError("np.place: cannot insert from an empty array.")
    if vals.size == 1:
        arr[np.reshape(plain_values(mask, "place"), arr.shape).astype(bool)] = vals[0]  # which a pattern understands
    elif places.size:
        refuse_overlap(
            "np.place", lambda x, y: np.place(x, np.reshape(mask, x.shape), y), layout_of(arr), layout_of(vals)
        )
        write_flat(arr, places, vals, np.arange(places.size) % vals.shape[0])


@_filling("putmask")
def putmask(a: Array, /, mask: Mask, values: ArrayLike) -> None:
    """np.putmask: at each place where the mask holds, the value of the same place."""
    mask, new = index_values(mask, "putmask"), np.ravel(array(values))
    if mask.size != a.size:
        raise ValueError("np.putmask: mask and data must be the same size.")
    if is_hidden(mask):
        if new.size:
            all_new = np.reshape(np.take(new, np.arange(a.size) % new.size), a.shape)
            a[...] = np.where(np.reshape(mask, a.shape), all_new, a)
        return
    places = np.flatnonzero(mask)
    if new.size == 1:
        a[np.reshape(mask, a.shape).astype(bool)] = new[0]  # which a pattern understands
    elif places.size and new.size:
        write_flat(a, places, new, places % new.shape[0])


@_filling("fill_diagonal")
def fill_diagonal(a: Array, val: ArrayLike, wrap: bool = False) -> None:
    """np.fill_diagonal."""
    probe = np.zeros(a.shape, bool)
    np.fill_diagonal(probe, True, wrap)
    places, new = np.flatnonzero(probe), np.ravel(array(val))
    write_flat(a, places, new, np.arange(places.size) % new.shape[0])


@_filling("put_along_axis")
def put_along_axis(arr: Array, indices: Any, values: ArrayLike, axis: Axis) -> None:
    """np.put_along_axis."""
    indices = index_values(indices, "put_along_axis")
    if is_hidden(indices) and axis is not None:
        (axis,) = axes_of(axis, arr.ndim)
        shape = [n if i == axis else m for i, (n, m) in enumerate(zip(indices.shape, arr.shape, strict=True))]
        new = cast(np.broadcast_to(array(values), shape), arr.dtype, "put_along_axis")
        places = np.broadcast_to(indices, shape)
        arr[...] = ops.scatter(arr, axis, np.where(places < 0, places + arr.shape[axis], places), new)
        return
    places = np.take_along_axis(np.arange(arr.size).reshape(arr.shape), indices, axis)
    new = np.ravel(np.broadcast_to(array(values), places.shape))
    if places.size:
        write_flat(arr, places.ravel(), new, np.arange(places.size))
