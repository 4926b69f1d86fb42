"""NumPy's functions that choose elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS
from pullback.core.call_site import call_site
from pullback.core.errors import DetachingError
from pullback.core.tensor import Tensor
from pullback.interop.operands import array, axes_of, deliver, floating, needs_grad, only, ops, values
from pullback.interop.registry import numpy_object, rule
from pullback.interop.suggest import unsupported


@rule("where")
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
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
def nonzero(a: Any) -> Any:
    """np.nonzero."""
    return tuple(ops.nonzero(array(a), as_tuple=True))


@rule("flatnonzero")
def flatnonzero(a: Any) -> Any:
    """np.flatnonzero."""
    return nonzero(ops.reshape(array(a), (-1,)))[0]


@rule("argwhere")
def argwhere(a: Any) -> Any:
    """np.argwhere."""
    return ops.argwhere(array(a))


@rule("take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """np.take."""
    only("take", "mode", mode, ("raise", "wrap", "clip"))
    a, index = array(a), values(indices, "take")
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
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """np.take_along_axis."""
    arr, indices = array(arr), values(indices, "take_along_axis")
    if axis is None:
        arr, axis = ops.reshape(arr, (-1,)), 0
    (axis,) = axes_of(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError(f"np.take_along_axis: arr has shape {tuple(arr.shape)}, the indices have {indices.shape}.")
    places = np.ogrid[tuple(slice(n) for n in arr.shape)]
    return arr[tuple(indices if i == axis else place for i, place in enumerate(places))]


@rule("compress")
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """np.compress."""
    return take(a, np.flatnonzero(values(condition, "compress")), axis, out)


@rule("extract")
def extract(condition: Any, arr: Any) -> Any:
    """np.extract."""
    return take(arr, np.flatnonzero(values(condition, "extract")))


@rule("delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """np.delete."""
    arr = array(arr)
    if axis is None:
        arr, axis = ops.reshape(arr, (-1,)), 0
    (axis,) = axes_of(axis, arr.ndim)
    kept = np.delete(np.arange(arr.shape[axis]), obj if isinstance(obj, slice) else values(obj, "delete"))
    return ops.index_select(arr, axis, kept)


@rule("bincount")
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """np.bincount; differentiable in the weights."""
    x = values(x, "bincount")
    count = len(np.bincount(x, minlength=minlength))
    weights = np.ones(x.shape, int) if weights is None else floating(array(weights))
    if weights.shape != x.shape:
        raise ValueError(f"np.bincount: x has shape {x.shape}, the weights have {tuple(weights.shape)}.")
    return ops.index_add(np.zeros(count, weights.dtype), 0, x, weights)


@rule("choose")
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """np.choose: at each place, the element of choices[a]."""
    only("choose", "mode", mode, ("raise",))
    choices = [array(c) for c in choices]
    a = values(a, "choose")
    if a.size and not (a.min() >= 0 and a.max() < len(choices)):
        raise ValueError(f"np.choose: there are {len(choices)} choices, and a goes from {a.min()} to {a.max()}.")
    result = choices[0]
    for i, choice in enumerate(choices[1:], start=1):
        result = ops.where(a == i, choice, result)
    return deliver("choose", ops.broadcast_to(result, np.broadcast_shapes(a.shape, result.shape)), out)


@rule("select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """np.select: the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select: {len(condlist)} conditions for {len(choicelist)} choices.")
    result = array(default)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = ops.where(array(condition), array(choice), result)
    return result


@rule("piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """np.piecewise: each function is called on the elements where its condition holds, and on no others."""
    x = array(x)
    single = not isinstance(condlist, (list, tuple)) or (bool(condlist) and np.ndim(condlist[0]) == 0 and x.ndim > 0)
    conditions = [values(c, "piecewise").astype(bool) for c in ([condlist] if single else condlist)]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(conditions, axis=0))
    if len(funclist) != len(conditions):
        raise ValueError(f"np.piecewise: {len(funclist)} functions for {len(conditions)} conditions.")
    result = ops.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if condition.any():
            part = function(x[condition], *args, **kw) if callable(function) else function
            result = ops.setitem(result, condition, part)
    return result


@rule("diagonal")
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """np.diagonal."""
    if type(a) in ARRAYS:
        return a.diagonal(offset, axis1, axis2)
    return ops.diagonal(array(a), offset, axis1, axis2)


@rule("linalg.diagonal")
def matrix_diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """np.linalg.diagonal."""
    return ops.diagonal(array(x), offset, -2, -1)


@rule("diag")
def diag(v: Any, k: Any = 0) -> Any:
    """np.diag."""
    v = array(v)
    return v.diagonal(k) if type(v) in ARRAYS and v.ndim == 2 else ops.diag(v, k)


@rule("diagflat")
def diagflat(v: Any, k: Any = 0) -> Any:
    """np.diagflat."""
    return ops.diagflat(array(v), k)


@rule("tril")
def tril(m: Any, k: Any = 0) -> Any:
    """np.tril."""
    return _triangle(ops.tril, m, k)


@rule("triu")
def triu(m: Any, k: Any = 0) -> Any:
    """np.triu."""
    return _triangle(ops.triu, m, k)


def _triangle(operator: Any, m: Any, k: Any) -> Any:
    m = array(m)
    if m.ndim == 1:  # as many rows of it, in NumPy
        m = ops.broadcast_to(m, (m.shape[0], m.shape[0]))
    return operator(m, k)


@rule("ix_")
def ix_(*args: Any) -> Any:
    """np.ix_."""
    return np.ix_(*(values(x, "ix_") for x in args))


FILLING = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")


def _filling(name: str) -> Callable[..., Any]:
    """The rule of a function that writes into an ndarray; into a Tensor, pullback has its own ways."""

    def fill(target: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(target, Tensor):
            raise unsupported(f"np.{name}")
        if any(map(needs_grad, (*args, *kwargs.values()))):
            raise DetachingError(
                f"np.{name} would write a Tensor that requires grad into an ndarray, which cannot hold its gradient "
                f"(so would np.full and np.full_like, which call it).{call_site().where()}Make a Tensor with "
                "np.broadcast_to, np.where or np.full_like(t, value), or write into a Tensor."
            )
        plain = [values(x, name) if isinstance(x, Tensor) else x for x in args]
        kwargs = {key: values(x, name) if isinstance(x, Tensor) else x for key, x in kwargs.items()}
        return numpy_object(name)(target, *plain, **kwargs)

    return fill


for _name in FILLING:
    rule(_name)(_filling(_name))
