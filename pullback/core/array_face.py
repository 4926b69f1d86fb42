"""The second face of a tensor: `Array`, met by code for NumPy, and `Scalar`, where NumPy gives a number.

Both are Tensors without further state; only the class differs, and with it what methods, Python's operators, indexing
and NumPy's functions mean. Operators (`pullback.sin`) mean the same on both faces, and give Arrays where an Array is
among their arguments. The methods come from `pullback.interop.array`.

Code for NumPy asks `isinstance(x, np.ndarray)` and `isinstance(x[0], float)`, so `__class__` answers as an ndarray's
and a number's would. C code looks at the type and is not deceived. Code of this package asks for Tensors first.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pullback.core.array_type import ARRAY_TYPES, REGISTERED
from pullback.core.tensor import AROUND_NDARRAY, AROUND_OTHERS, TENSORS, NestedTensor, Tensor, ndarray, new, wrap
from pullback.core.types import RawArray
from pullback.core.version import counter_of

_become = object.__dict__["__class__"].__set__


def _seen_as_array(self: Any) -> type:
    return ndarray


def _seen_as_number(self: Any) -> type:
    return self._array.dtype.type  # type: ignore[no-any-return]


if TYPE_CHECKING:
    from pullback.core.array_methods import ArrayMethods, NumberMethods

    class _Arrays(ArrayMethods, Tensor):
        """Holds what the class is given from above, by `pullback.interop.array`: stubs have it."""
else:
    _Arrays, NumberMethods = Tensor, object


class Array(_Arrays):
    """A Tensor that behaves as an ndarray: NumPy's methods, defaults, copies and views.

    Parameters
    ----------
    *args, **kwargs
        Refused: transforms make Arrays of the ndarrays they are given, and `adopt()` those of creation functions.

    Examples
    --------
    >>> pb.func.grad(lambda x: x.std(ddof=1))(np.array([1.0, 3.0])).round(4)  # x is an Array, with NumPy's ddof
    array([-0.7071,  0.7071])
    """

    __slots__ = ()
    __class__ = property(_seen_as_array, _become)


class Scalar(Array, NumberMethods):
    """A single number that is being differentiated, as NumPy's scalars immutable: `m *= 2` makes a new one.

    Parameters
    ----------
    *args, **kwargs
        Refused: Arrays give Scalars where ndarrays give numbers.

    Examples
    --------
    >>> def f(x):
    ...     m = x.mean()  # a Scalar
    ...     before = m
    ...     m *= 2  # a new one
    ...     return m + before
    >>> pb.func.grad(f)(np.array([1.0, 3.0]))
    array([1.5, 1.5])
    """

    __slots__ = ()
    __class__ = property(_seen_as_number, _become)


class NestedArray(Array, NestedTensor):
    """An Array around something other than an ndarray."""

    __slots__ = ()
    __class__ = property(_seen_as_array, _become)


class NestedScalar(Scalar, NestedArray):
    """A Scalar around something other than an ndarray."""

    __slots__ = ()
    __class__ = property(_seen_as_number, _become)


ARRAYS = frozenset([Array, Scalar, NestedArray, NestedScalar])
SCALAR_FACES = frozenset([Scalar, NestedScalar])
NESTED = frozenset([NestedTensor, NestedArray, NestedScalar])  # of both faces, around others than ndarrays
AROUND_NDARRAYS = frozenset([Tensor, Array, Scalar])
_ARRAY: dict[type, type] = {Tensor: Array, NestedTensor: NestedArray}
_SINGLE: dict[type, type] = {
    Tensor: Scalar, NestedTensor: NestedScalar, Array: Scalar, NestedArray: NestedScalar,
}  # fmt: skip
_PLURAL: dict[type, type] = {Scalar: Array, NestedScalar: NestedArray}
ARRAY_TYPES.update(dict.fromkeys(ARRAYS, TENSORS))
AROUND_OTHERS.update({Array: NestedArray, Scalar: NestedScalar})
AROUND_NDARRAY.update({NestedArray: Array, NestedScalar: Scalar})


def as_given(x: Any) -> Any:
    """The array that a transform takes for its argument `x`: of an Array that stands for an ndarray, what is in it."""
    if type(x) not in ARRAYS or x._level or x._requires_grad:
        return x
    kind = REGISTERED.get(type(x._array))
    return x if kind is None or not kind.for_ndarrays else x._array


def given_back(like: Any, raw: Any) -> Any:
    """The opposite: what a transform gives back of an array that stands for an ndarray, with the face of `like`."""
    kind = REGISTERED.get(type(raw))
    if kind is None or not kind.for_ndarrays:
        return raw
    if type(like) not in ARRAYS:
        return wrap(raw)
    return wrap_array(raw, 0, type(like) in SCALAR_FACES and not raw.shape)


def is_single(raw: Any) -> bool:
    """True if a kernel's result is a single number where NumPy gives one, not an array of no dimension."""
    kind = type(raw)
    return kind in SCALAR_FACES if kind in ARRAYS else kind is not ndarray and not raw.ndim


def show_as_array(fresh: Any, single: bool = False) -> Any:
    """Give a tensor that nobody else knows yet NumPy's face, and return it: that of a number if it is `single`."""
    face = (_SINGLE if single else _ARRAY).get(type(fresh))
    if face is not None:
        _become(fresh, face)
    return fresh


def show_as_plural(fresh: Any) -> Any:
    """Give a Scalar that nobody else knows yet the face of an Array of no dimension, and return it."""
    _become(fresh, _PLURAL.get(type(fresh), type(fresh)))
    return fresh


def show_as_tensor(fresh: Any) -> Any:
    """Give an Array that nobody else knows yet PyTorch's face, and return it."""
    _become(fresh, NestedTensor if issubclass(type(fresh), NestedTensor) else Tensor)
    return fresh


def stands_for_ndarray(x: Any) -> bool:
    """True of an Array that a trace has in the place of an ndarray."""
    return type(x) in ARRAYS and not x._level and program_run.get() is not None


def wrap_array(data: RawArray, level: int, single: bool = False) -> Any:
    """A fresh Array, or Scalar, of `level` around an array, outside any graph."""
    out = wrap(data, level)
    _become(out, (_SINGLE if single else _ARRAY)[type(out)])
    return out


def wrap_as(like: Tensor, data: RawArray, level: int) -> Tensor:
    """A fresh tensor of `level` around an array, outside any graph, with the face of another tensor."""
    kind = type(like)
    return wrap_array(data, level, kind in SCALAR_FACES) if kind in ARRAYS else wrap(data, level)


def as_array(x: Any) -> Any:
    """`x` with NumPy's face: itself, or another tensor in its place in the graph that shares its memory."""
    return x if type(x) in ARRAYS else _twin(x, _ARRAY[type(x)])


def as_tensor(x: Any) -> Any:
    """`x` with PyTorch's face: itself, or another tensor in its place in the graph that shares its memory."""
    return _twin(x, NestedTensor if isinstance(x, NestedTensor) else Tensor) if type(x) in ARRAYS else x


def faced_as(like: Tensor, x: Tensor) -> Any:
    """`x` with the face of another tensor: PyTorch's, NumPy's, or that of a number where `like` is one."""
    if type(like) not in ARRAYS:
        return as_tensor(x)
    if type(like) in SCALAR_FACES and type(x) not in SCALAR_FACES and not x.ndim:
        return show_as_array(_twin(x, type(x)), True)
    return as_array(x)


@contextmanager
def shown_as_tensors(values: Iterable[Any]) -> Iterator[None]:
    """Arrays among these have PyTorch's face inside, for code that is written for Tensors; the objects stay."""
    arrays = [(x, type(x)) for x in values if type(x) in ARRAYS]
    try:
        for x, kind in arrays:
            _become(x, NestedTensor if issubclass(kind, NestedTensor) else Tensor)
        yield
    finally:
        for x, kind in arrays:
            _become(x, (AROUND_NDARRAY if type(x._array) is ndarray else AROUND_OTHERS).get(kind, kind))


def _twin(x: Any, kind: type) -> Any:
    twin: Any = new(kind)
    twin._counter = counter_of(x)
    twin._array, twin._fn, twin._extra = x._array, x._fn, x._extra
    twin._level, twin._requires_grad = x._level, x._requires_grad
    return twin


def unlabelled(x: Any) -> Any:
    """The tensor in another library's array with labels, as of xarray, which a function may return; `x` itself else."""
    if isinstance(x, (Tensor, ndarray)):
        return x
    inside = getattr(x, "data", None)
    return inside if isinstance(inside, Tensor) else x


def surfaced(x: Any, level: int) -> Any:
    """`x` without the wrappers of levels that are over: what was made inside a transform, and kept, is a constant.

    A program may do so without knowing: a table that it computes once, at the first call, and keeps.
    """
    while isinstance(x, Tensor) and x._level > level and issubclass(type(x._array), (Tensor, ndarray)):
        if type(x) is Tensor:  # of code for Tensors, which gets one
            return in_memory_of(x, wrap(x._array))
        x = x._array
    return x


def in_memory_of(x: Tensor, fresh: Tensor) -> Tensor:
    """A fresh Tensor over the memory of `x`: what is written into one is known to both."""
    fresh._counter = x._counter
    return fresh


# The level of transforms above which `adopt()` lets np.zeros and its kin make Arrays, in this thread or task: inside a
# function of plain ndarrays with rules of its own, that at which it was called.
plain_until: contextvars.ContextVar[int] = contextvars.ContextVar("pullback_plain_until", default=0)
# In this thread or task the trace, or the run of a program some steps of which are functions of ndarrays; else None.
program_run: contextvars.ContextVar[object] = contextvars.ContextVar("pullback_program_run", default=None)
