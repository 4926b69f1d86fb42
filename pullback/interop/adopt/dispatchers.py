"""Dispatchers: what an adopted module sees in place of functions that cannot take our tensors by themselves.

Each calls the genuine function and nothing else, unless one of our tensors is among the arguments: then its subclass
says what to do. Programs may treat it as the function that it stands for: equal to it and of the same hash, with its
name, signature and documentation, and a pickle of it is one of the genuine function.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import Any, Self

import numpy as np

from pullback.core.errors import DetachingError
from pullback.core.tensor import Tensor, ndarray
from pullback.interop.awaited import FILES, AwaitedError
from pullback.interop.functions import array_function
from pullback.interop.holders import Holder
from pullback.interop.operands import SEQUENCES, array, needs_grad
from pullback.interop.unseen import unseen

FILES.add(__file__)

# What NumPy makes of a refusal, or raises before it comes to one.
REFUSALS = (DetachingError, TypeError, ValueError)


def concerns_us(error: Exception, args: Iterable[object], kwargs: dict[str, Any]) -> bool:
    """True if a call failed because of one of our tensors: among the arguments, or out of a function among them."""
    awaited = isinstance(error, AwaitedError) or isinstance(error.__cause__, AwaitedError)
    return awaited or first_tensor(args, kwargs) is not None


class Dispatcher:
    """A function, and what stands for it where our tensors are among the arguments."""

    # What a call reads is in slots, and there is no __getattr__, which would make every read of them slow.
    __slots__ = ("__dict__", "genuine")
    genuine: Callable[..., Any]

    def __new__(cls, genuine: Callable[..., Any], *_: object) -> Self:
        kind: Any = cls
        made: Self = object.__new__(_referable(kind) if slots_like(genuine) else kind)
        return made

    def __init__(self, genuine: Callable[..., Any]) -> None:
        object.__setattr__(self, "genuine", genuine)
        names = [*functools.WRAPPER_ASSIGNMENTS, *(name for name in dir(genuine) if name not in _OWN)]
        # What is None too, as `__closure__` may be.
        shown(self).update(
            {name: getattr(genuine, name) for name in names if hasattr(genuine, name)}, __wrapped__=genuine
        )

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> object:
        try:
            return self.genuine(*args, **kwargs)
        except REFUSALS as error:
            if not concerns_us(error, args, kwargs):
                raise
        return self.on_tensors(args, kwargs)

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """The result where our tensors are among the arguments, or in lists among them."""
        raise NotImplementedError

    def __get__(self, instance: object, owner: type | None = None) -> object:
        kind = type(self.genuine)
        binds = instance is not None and hasattr(kind, "__get__") and kind is not MethodType  # which is bound already
        return MethodType(self, instance) if binds else self

    __class__ = property(lambda self: type(self.genuine))
    __globals__ = property(lambda self: self.genuine.__globals__)  # __dict__ is searched for what a function holds

    def __eq__(self, other: object) -> bool:
        return self is other or self.genuine == other  # bound methods are equal, and not the same

    def __hash__(self) -> int:
        return hash(self.genuine)

    def __repr__(self) -> str:
        return repr(self.genuine)

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.itemgetter(0), ((self.genuine,),)


# The attributes of a dispatcher, whatever `__dict__` says.
shown: Callable[[Any], dict[str, Any]] = vars(Dispatcher)["__dict__"].__get__


def slots_like(genuine: object) -> tuple[str, ...]:
    """The slot for weak references where the function has one too: numba knows a function by such a reference."""
    return ("__weakref__",) if type(genuine).__weakrefoffset__ else ()


@functools.cache
def _referable(kind: type) -> type:
    return type(kind.__name__, (kind,), {"__slots__": ("__weakref__",)})


_OWN = frozenset(dir(Dispatcher)) | {"__weakref__", "__builtins__"}  # the last marks what is a namespace


class WithLists(Dispatcher):
    """A function that finds our tensors by NumPy's protocol, but not in lists: `np.sum([t, u])`."""

    __slots__ = ()

    def on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return of_lists(self.genuine, args, kwargs)


def of_lists(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The rule of a function of NumPy, on the arguments with arrays in place of lists that hold our tensors."""
    joined = _of_sequences if function.__name__ in _OF_SEQUENCES else joined_list
    given = {name: joined(x) for name, x in kwargs.items()}
    return array_function(first_tensor(args, kwargs), function, (), [joined(x) for x in args], given)


# These take a sequence of arrays, each of which may be a list.
_OF_SEQUENCES = {"concatenate", "concat", "stack", "hstack", "vstack", "dstack", "column_stack", "block", "meshgrid"}


def joined_list(x: object) -> object:
    """One array of a list that holds our tensors; anything else as it is."""
    return array(x) if isinstance(x, SEQUENCES) and first_tensor(x) is not None else x


def _of_sequences(x: object) -> object:
    return [joined_list(item) for item in x] if isinstance(x, SEQUENCES) else x


# What most arguments are; no tensor is in them.
PLAIN = frozenset([int, float, complex, bool, str, type(None), slice, np.float64, np.int64])


def first_tensor(values: Iterable[Any], more: dict[str, Any] | None = None) -> Any:
    """One of our tensors among these values, or in containers among them; None if there is none."""
    for x in values if not more else (*values, *more.values()):
        if type(x) in PLAIN:
            continue
        if isinstance(x, Tensor):
            return x
        if issubclass(type(x), Holder):
            found = first_tensor(x.held())
        elif isinstance(x, SEQUENCES):
            found = first_tensor(x)
        elif isinstance(x, dict):
            found = first_tensor(x.values())
        elif type(x) is ndarray and x.dtype.char == "O":
            found = first_tensor(x.flat)
        else:
            continue
        if found is not None:
            return found
    return None


def at_stake(x: Any) -> bool:
    """True if a gradient, or a tangent, would be lost with this argument."""
    if type(x) in PLAIN:
        return False
    if isinstance(x, Tensor):
        return bool(needs_grad(x))
    if issubclass(type(x), Holder):  # which may stand for a dict, as a dok_array is one
        return at_stake(x.held())
    if isinstance(x, (*SEQUENCES, dict)):
        return any(map(at_stake, x.values() if isinstance(x, dict) else x))
    return False
