"""Adapts arguments of NumPy's functions to operators, and results to what NumPy's callers expect (`out`, dtype).

An adapter calls an operator only where a Tensor is among its arguments, and NumPy's function where all may be plain:
an operator would make a Tensor of a constant, at a level of its own, and drag it through the rest of the computation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Rational
from typing import Any, Literal
from typing import cast as cast_type

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.core import modes
from pullback.core.array_face import ARRAYS, SCALAR_FACES, Array
from pullback.core.array_type import (
    CONSTANTS,
    REGISTERED,
    SCALARS,
    TENSOR,
    array_type,
    carries_derivative,
    innermost,
    layout_of,
)
from pullback.core.cuts import WATCHED, note_operator
from pullback.core.errors import DetachingError, OperatorError, UnsupportedError, type_name, with_article
from pullback.core.numpy_types import (
    AnyArray,
    ArrayLike,
    ArrayOperators,
    Axes,
    Casting,
    DTypeLike,
    Index,
    Numeric,
    Order,
    Out,
)
from pullback.core.overrides import takes_part
from pullback.core.tensor import NestedTensor, Tensor, ndarray, wrap
from pullback.explain.call_site import call_site
from pullback.interop.adopt.rules import RULES
from pullback.interop.adopt.state import to_record_writes

ops: ArrayOperators = cast_type(
    "ArrayOperators", TENSOR
)  # what adapters compute with: pullback's operators, on Tensors of any level
READY = CONSTANTS | ARRAYS | {Tensor, NestedTensor}  # what operators take as it is
_NUMERIC = frozenset("biufc")


def operand(x: Any) -> Numeric:
    """`x` for an operator: a Tensor, an ndarray, or a number, whose dtype stays weak."""
    return x if type(x) in READY and type(x) is not ndarray else array(x)


def number(x: Any) -> Any:
    """`x`, as a number where it is a Fraction or of a user's subclass: an IntEnum counts for the dtype, as in NumPy."""
    kind = type(x)
    if kind in READY:
        return x
    if issubclass(kind, (int, float)):
        return np.asarray(x)[()]
    return float(x) if issubclass(kind, Rational) and not issubclass(kind, Integral) else x


SEQUENCES = (list, tuple, deque)  # of which NumPy makes arrays


def array(x: Any) -> AnyArray:
    """`x` as a Tensor or an ndarray; lists that hold Tensors are stacked."""
    if isinstance(x, Tensor) or type(x) in REGISTERED or (type(x) is ndarray and x.dtype.kind in _NUMERIC):
        return x  # type: ignore[no-any-return]  # one of these it is
    if isinstance(x, SEQUENCES):
        return build(x)
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        raise UnsupportedError(
            f"{with_article(x)} beside a Tensor would lose its {'mask' if hasattr(x, 'mask') else 'meaning of *'}; "
            "convert it yourself: np.asarray(x), or x.filled(value)."
        )
    if takes_part(type(x)):
        return x  # type: ignore[no-any-return]  # the operator asks its class
    made: np.ndarray[Any, Any] = np.asarray(number(x))
    if made.dtype.kind not in _NUMERIC:
        raise TypeError(
            f"expected a Tensor, an array of numbers or a number beside a Tensor, got {type_name(x)} of dtype "
            f"{made.dtype}: convert it to numbers."
        )
    return made


def build(items: Sequence[object]) -> AnyArray:
    """A nested list as one array: an ndarray if no Tensor is in it, else a Tensor, recorded."""
    if not _holds_tensor(items):
        return array(np.asarray(items))
    parts = [array(x) for x in items]
    if len({p.shape for p in parts}) > 1:
        raise OperatorError(
            f"a list of arrays of different shapes {[tuple(p.shape) for p in parts]} cannot become one array."
        )
    return ops.stack(parts)


def _holds_tensor(items: Iterable[object]) -> bool:
    if SCALARS.issuperset(map(type, items)):
        return False
    return any(isinstance(x, Tensor) or (isinstance(x, SEQUENCES) and _holds_tensor(x)) for x in items)


def floating(a: AnyArray) -> AnyArray:
    """`a`, integers and bools as float64, as NumPy's means and variances have it."""
    return a.astype(float) if a.dtype.kind in "biu" else a


def values(x: object, name: str, use: str = "uses it as indices, counts or truth values") -> np.ndarray[Any, Any]:
    """The plain array of an argument through which no gradient goes, such as an index; refuses what requires grad.

    `use` tells what the function does with it.
    """
    if isinstance(x, SEQUENCES):
        return np.asarray([values(item, name, use) for item in x])
    return _bottom(x, name, use) if isinstance(x, Tensor) else np.asarray(x)


def is_hidden(*given: object) -> bool:
    """True if one has no numbers to show, for it is many samples at once, while operators compute with all of them."""
    return any(isinstance(x, Tensor) and array_type(innermost(x)).may_index for x in given)


def index_values(x: Any, name: str) -> AnyArray:
    """The same of an index or a mask; a Tensor stays one where it has no numbers to show, but operators take it."""
    return x if is_hidden(x) else values(x, name)


def frozen(x: object, name: str) -> np.ndarray[Any, Any]:
    """The plain array of `x`, for results that are constant almost everywhere (indices, counts, truth values)."""
    if not isinstance(x, Tensor):
        return np.asarray(x)
    if WATCHED:
        note_operator(_full(name), x)
    return _bottom(x, name)


def _full(name: str) -> str:
    """The whole name of a function of NumPy, or of the one in SciPy whose rule has this name."""
    if name.partition(".")[0] in ("np", "scipy"):
        return name
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        return next((full for full in RULES if full.rpartition(".")[2] == name), name)
    return f"np.{name}"


# PyTorch's words, which people look for. What it advises loses the gradient, so that comes last.
CANT_CALL_NUMPY = "Can't call numpy() on Tensor that requires grad: "


def _bottom(x: Tensor, name: str, use: str = "") -> np.ndarray[Any, Any]:
    """The plain array of a Tensor; where there is a `use`, one that requires grad is refused."""
    if use and needs_grad(x):
        raise DetachingError(
            f"{CANT_CALL_NUMPY}{_full(name)} {use}, and would lose its gradient."
            f"{call_site().where()}Give it the plain values: t.detach().numpy()."
        )
    if is_hidden(x):
        array_type(inside := innermost(x)).read(inside, _full(name))  # which raises, by this name
    data = x.numpy(force=not use)
    if not issubclass(type(data), ndarray):
        raise UnsupportedError(
            f"{_full(name)} needs the values of its argument, and a Tensor around {with_article(data)} has none yet."
        )
    return data


def tensor_of(result: ArrayLike) -> Array:
    """A plain result of NumPy as a Tensor of its own, at the level in use, so that it can be written into."""
    return cast_type("Array", wrap(np.array(result), modes.current().level))


def refuse(name: str, argument: str, instead: str) -> UnsupportedError:
    """The error for an argument that the rule of np.`name` does not take."""
    return UnsupportedError(f"np.{name}: argument {argument!r} is not supported on a Tensor: {instead}.")


def only(name: str, argument: str, value: object, allowed: Iterable[object], instead: str = "omit it") -> None:
    """Refuse an argument of np.`name` unless its value is among those `allowed`."""
    if not any(value is a or (type(value) is type(a) and value == a) for a in allowed):
        raise refuse(name, argument, f"got {value!r}; {instead}")


# Functions whose stubs take ndarrays alone.
moveaxis: Callable[..., AnyArray] = np.moveaxis
astype: Callable[..., AnyArray] = np.astype
copyto: Callable[..., None] = np.copyto


def cast(x: AnyArray, dtype: DTypeLike, name: str, casting: Casting = "same_kind") -> AnyArray:
    """`x` in `dtype` if `casting` allows it; None changes nothing."""
    if dtype is None or x.dtype == np.dtype(dtype):
        return x
    dtype = np.dtype(dtype)
    if dtype.kind not in _NUMERIC:
        raise TypeError(f"np.{name}: a Tensor cannot have dtype {dtype}.")
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(f"np.{name}: cannot cast from {x.dtype} to {dtype} according to the rule {casting!r}.")
    return x.astype(dtype)


def deliver(name: str, result: AnyArray, out: Out, casting: Casting = "same_kind") -> AnyArray:
    """`result`, written into `out` if that is given: recorded for a Tensor; an ndarray may not lose a gradient."""
    if isinstance(out, tuple):  # a ufunc's methods hand on a tuple of one
        (out,) = out
    if out is None:
        return result
    if not isinstance(out, (Tensor, ndarray)) or type(out) in SCALAR_FACES:
        raise TypeError(f"np.{name}: argument 'out' must be a Tensor or an ndarray, got {type_name(out)}.")
    if isinstance(result, Tensor):
        if not np.can_cast(result.dtype, out.dtype, casting):
            raise TypeError(f"np.{name}: cannot cast from {result.dtype} to out's {out.dtype} by the rule {casting!r}.")
        if np.broadcast_shapes(result.shape, out.shape) != tuple(out.shape):
            raise OperatorError(f"np.{name}: the result has shape {tuple(result.shape)}, out has {tuple(out.shape)}.")
        if isinstance(out, Tensor):
            out.copy_(result)
            return out
    if needs_grad(result):
        raise DetachingError(
            f"np.{name} would write a result that requires grad into an ndarray (a *= t, out=a), which cannot hold a "
            f"gradient.{call_site().where()}{to_record_writes(getattr(result, '_level', 0) > 0)} Or write it out of "
            "place (a = a * t)."
        )
    copyto(out, frozen(result, name), casting=casting)
    return out


def needs_grad(x: object) -> bool:
    """True if a gradient, or a tangent, would be lost with `x`, at any level."""
    while isinstance(x, Tensor):
        if x._requires_grad and modes.current().records(x._level):
            return True
        x = x._array
    return carries_derivative(x)


def axes_of(axis: Axes | np.ndarray[Any, Any], ndim: int) -> tuple[int, ...]:
    """`axis` (None for all, an int or a tuple) as a tuple of nonnegative ints."""
    return tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)


def along(ndim: int, axis: int, item: Index) -> tuple[Any, ...]:
    """The index that takes `item` along one axis and everything along the others."""
    index: list[Index] = [slice(None)] * ndim
    index[normalize_axis_index(axis, ndim)] = item
    return tuple(index)


def in_order_of(x: AnyArray, like: object) -> AnyArray:
    """A fresh `x`, its elements laid out in memory as those of `like`, of as many dimensions: NumPy's order K."""
    memory = layout_of(like)
    if memory is None or memory.ndim < 2 or memory.ndim != x.ndim:
        return x
    steps = np.empty_like(memory, shape=x.shape).strides  # as NumPy lays out what it makes
    found = layout_of(x)
    if found is not None and found.strides == steps:
        return x
    return laid_out(x, sorted(range(x.ndim), key=lambda axis: -steps[axis]))


def order_of(x: object) -> Literal["C", "F"]:
    """NumPy's order A: "F" where the elements of `x` lie in Fortran's order and not in C's, else "C"."""
    memory = layout_of(x)
    return "F" if memory is not None and memory.flags.fnc else "C"


def in_order(x: AnyArray, order: Order) -> AnyArray:
    """`x`, its elements laid out in memory in C's order, or in Fortran's, if that is asked for; itself if they are."""
    if order == "C" and isinstance(x, Tensor):
        return ops.contiguous(x)
    if order != "F" or ((memory := layout_of(x)) is not None and memory.flags.f_contiguous):
        return x
    return laid_out(x, range(x.ndim)[::-1])


def laid_out(x: AnyArray, axes: Sequence[int]) -> AnyArray:
    """A copy of `x` in memory that goes through the axes in this order, the last one fastest."""
    if not isinstance(x, Tensor):
        return x
    moved = ops.permute(x, tuple(axes))
    made = ops.contiguous(moved)  # itself if it lies so
    return ops.permute(ops.clone(moved) if made is moved else made, tuple(np.argsort(axes).tolist()))
