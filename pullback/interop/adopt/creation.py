"""Functions that make arrays, as adopted modules see them.

Inside a transform they give `Array`s, so that a buffer records what is written into it. Only memory that nobody else
knows of becomes one: what is written into another's memory through an Array would be read there without its gradient.
Integers and bools carry no gradient and stay plain, but for vmap, where they may become those of many samples.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS, SCALAR_FACES, Array, plain_until, program_run, show_as_plural, wrap_array
from pullback.core.array_type import layout_of
from pullback.core.cuts import WATCHED
from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike, Order
from pullback.core.tensor import Tensor, ndarray
from pullback.core.version import start_unsaved
from pullback.interop.adopt.dispatchers import REFUSALS, Dispatcher, concerns_us, first_tensor, of_lists
from pullback.interop.adopt.state import State
from pullback.interop.awaited import FILES
from pullback.interop.operands import SEQUENCES, frozen, in_order, is_hidden
from pullback.interop.unseen import unseen

FILES.add(__file__)

_current = modes.current
# While a method of a cloned class runs: True if our tensors take part in it. None elsewhere.
ours_take_part: ContextVar[bool | None] = ContextVar("pullback_ours_take_part", default=None)


def buffer(made: Any) -> Any:
    """A fresh array as one that records what is written into it, from whatever level; a read-only view as it is."""
    state = _current()
    if type(made) is ndarray and made.dtype.kind in ("fcbiu" if state.batched else "fc") and made.flags.writeable:
        level = state.level
        for inner in range(min(1, level), level + 1):
            made = wrap_array(made, inner)
            start_unsaved(made)
    return made


class Creation(Dispatcher):
    """np.zeros and its kin. `always` says whether outside of transforms too: see `clones`."""

    __slots__ = ("always",)

    def __init__(self, genuine: Callable[..., Any], always: bool = False) -> None:
        super().__init__(genuine)
        self.always = always

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> object:
        try:
            made = self.genuine(*args, **kwargs)
        except REFUSALS as error:
            if not concerns_us(error, args, kwargs):
                raise
        else:
            return buffer(made) if (WATCHED or self.always or _current().batched) and self.records() else made
        return self.on_tensors(args, kwargs)

    def records(self) -> bool:
        """True if what is made now is to record what is written into it."""
        if self.always:
            return ours_take_part.get() is not False
        return _current().level > plain_until.get() and State.on

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        made = of_lists(self.genuine, args, kwargs)
        return show_as_plural(made) if type(made) in SCALAR_FACES else made


class Uninitialized(Creation):
    """np.empty and np.empty_like. A recording is compared with another one, so zeros are in what it makes."""

    __slots__ = ("zeros",)

    def __init__(self, genuine: Callable[..., Any], always: bool = False) -> None:
        super().__init__(genuine, always)
        self.zeros = Creation(np.zeros if genuine is np.empty else np.zeros_like, always)

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if program_run.get() is None:
            return super().__call__(*args, **kwargs)
        prototype = [kwargs.pop("prototype")] if "prototype" in kwargs else []
        return self.zeros(*prototype, *args, **kwargs)


class Full(Creation):
    """np.full with a value that is a tensor."""

    __slots__ = ()

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return _full(*args, **kwargs)


def _full(shape: Any, fill_value: ArrayLike, dtype: Any = None, order: Any = "C", **options: Any) -> Any:
    value = _array(fill_value)
    made = buffer(np.zeros(shape, value.dtype if dtype is None else dtype, order, **options))
    made[...] = value
    return made


class Arange(Creation):
    """np.arange between tensors: as many numbers as between their values, each of which moves with the ends."""

    __slots__ = ()

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return _arange(*args, **kwargs)


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike = None, **options: Any) -> Any:
    start, stop = (0, start) if stop is None else (start, stop)
    ends: list[Any] = [frozen(x, "arange")[()] for x in (start, stop, step)]
    values = np.arange(*ends, dtype=dtype, **options)
    if not isinstance(start, Tensor) and not isinstance(step, Tensor):
        return buffer(values)  # the number of them, by which alone the end takes part, is constant between jumps
    return (start + step * np.arange(len(values))).astype(values.dtype)


class FromIterable(Creation):
    """np.fromiter: what runs through an iterator cannot be tried twice."""

    __slots__ = ()

    @unseen
    def __call__(self, iter: Any, dtype: Any, count: int = -1, **options: Any) -> object:
        if not self.records() or np.dtype(dtype).subdtype is not None or np.dtype(dtype).kind not in "fc":
            return self.genuine(iter, dtype, count, **options)
        items = list(iter if count < 0 else itertools.islice(iter, count))
        if first_tensor(items) is None:
            return buffer(self.genuine(items, dtype, count, **options))
        return _array(items).astype(dtype)


class Conversion(Creation):
    """np.array, np.asarray and their kin: an Array stays one, and a list of tensors becomes one.

    Of a plain array only a copy becomes an Array.
    """

    __slots__ = ("copies",)

    def __init__(self, genuine: Callable[..., Any], always: bool = False) -> None:
        super().__init__(genuine, always)
        self.copies = genuine is np.array

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> object:
        if args:
            given = args[0]
            if type(given) in _WHOLE and self.genuine in _RETURNING and _is_asked_as_it_is(given, *args[1:], **kwargs):
                return given
            if type(given) in ARRAYS or (type(given) is list and given and type(given[0]) in ARRAYS):
                return self.on_tensors(args, kwargs)  # at once, though NumPy's refusal would lead there too
        try:
            made = self.genuine(*args, **kwargs)
        except REFUSALS as error:
            if not concerns_us(error, args, kwargs):
                raise
        else:
            if not WATCHED and not self.always and not _current().batched:
                return made
            copied = self.copies and kwargs.get("copy", True) is True
            fresh = args and (copied or isinstance(args[0], _BY_VALUE))
            return buffer(made) if fresh and self.records() else made
        return self.on_tensors(args, kwargs)

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        if args:
            given, *rest = args
        else:
            given, rest = next(kwargs.pop(name) for name in ("object", "a") if name in kwargs), []
        dtype = rest[0] if rest else kwargs.get("dtype")
        with_none = isinstance(given, SEQUENCES) and any(x is None for x in given)
        if with_none or (dtype is not None and np.dtype(dtype).char == "O"):
            return _objects(given)
        if isinstance(order := kwargs.get("order"), str):
            kwargs["order"] = order.upper()
        if type(given) is ndarray:  # of objects
            given = given.tolist()
        if self.genuine is not np.array:
            kwargs.setdefault("order", _ORDERS.get(self.genuine.__name__))
        if kwargs.get("copy") is np._CopyMode.IF_NEEDED:  # which SciPy's wrappers say
            kwargs["copy"] = None
        kwargs.pop("like", None)  # a tensor among what is given says as much
        copy = kwargs.get("copy", self.genuine is np.array)
        make = np.array if self.genuine is np.array else np.asarray
        added = 0
        if not copy and isinstance(given, Tensor):
            added = kwargs.get("ndmin", 0) - given.ndim
            make, kwargs = np.asarray, {name: kwargs[name] for name in ("dtype", "order") if name in kwargs}
        made = _in_order(make(given, *rest, **kwargs, like=first_tensor((given,))), kwargs.get("order"))
        if added > 0:
            made = made[(None,) * added]  # a view, as NumPy's
        if copy is False and self.genuine is np.array and made is not given and isinstance(given, Tensor):
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return made.copy() if made is given and copy else made


_WHOLE = ARRAYS - SCALAR_FACES  # of a number, np.asarray makes an array
_RETURNING = (np.asarray, np.asanyarray)


def _is_asked_as_it_is(given: Array, dtype: DTypeLike = None, /, *more: object, **kwargs: Any) -> bool:
    """True if np.asarray, of an Array, returns it. SciPy asks this at the beginning of nearly every function."""
    if kwargs and dtype is None and len(kwargs) == 1:
        dtype, kwargs = kwargs.get("dtype", ndarray), {}
    return not more and not kwargs and (dtype is None or dtype == given.dtype)


class Checked(Conversion):
    """np.asarray_chkfinite."""

    __slots__ = ()

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        made = _checked(*args, **kwargs)
        if made.dtype.kind in "fc" and not is_hidden(made) and not np.all(np.isfinite(made)):
            raise ValueError("array must not contain infs or NaNs")
        return made


class Required(Conversion):
    """np.require: a copy only where the memory is not as it is wanted."""

    __slots__ = ()

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return _required(*args, **kwargs)


def _required(a: ArrayLike, dtype: DTypeLike = None, requirements: Any = None, **like: object) -> AnyArray:
    made = np.asarray(a, dtype, like=first_tensor((a,)))
    memory = layout_of(made)
    if memory is None or (found := np.require(memory, None, requirements)) is memory:
        return made
    return made.copy("F" if found.flags.f_contiguous else "C")


def _checked(a: ArrayLike, dtype: DTypeLike = None, order: Any = None) -> AnyArray:
    return np.asarray(a, dtype, order and order.upper(), like=first_tensor((a,)))


def _in_order(made: AnyArray, order: Order) -> AnyArray:
    """`made`, or a copy whose memory lies in the order "C" or "F" if that is asked for."""
    memory = layout_of(made)
    if memory is None or (memory.flags.f_contiguous if order == "F" else memory.flags.c_contiguous):
        return made
    return in_order(made, order)  # which leaves other orders as they are


_ORDERS = {"ascontiguousarray": "C", "asfortranarray": "F"}
_BY_VALUE = (*SEQUENCES, bool, int, float, complex)  # what an array is made of without sharing memory


def _objects(x: Any) -> np.ndarray[Any, Any]:
    """An array of objects, each a number or a tensor of one element, as NumPy makes them of numbers."""
    items = _nested(x)
    shape, first = [], items
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    made = np.empty(shape or 1, object)  # into one without dimensions NumPy would write what a tensor holds
    for index in np.ndindex(made.shape):
        made[index] = functools.reduce(operator.getitem, index if shape else (), items)
    return made.reshape(shape)


def _nested(x: object) -> Any:
    """Lists, as deep as `x` has dimensions, of its elements."""
    if isinstance(x, SEQUENCES) or (isinstance(x, (Tensor, ndarray)) and x.ndim):
        return [_nested(item) for item in x]
    return x


def _array(x: object) -> AnyArray:
    return np.asarray(x, like=first_tensor((x,)))
