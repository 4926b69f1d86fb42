"""A value that is equal for functions that do the same: of one code, which reads equal things.

A function that is written inside of another one is a new one at each call of that. A program of it serves its likes.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import repeat
from threading import local
from types import CellType, FunctionType, GeneratorType, MethodType
from typing import Any

import numpy as np

from pullback.core.tensor import ndarray
from pullback.graph.held_objects import is_users_class
from pullback.graph.held_records import NOTHING, Held

_ELEMENTS = 1 << 14  # that an array may have whose contents are compared
_PLAIN = frozenset({bool, int, str, bytes, type(None), type(...), range})
_KNOWN = (dict, list, tuple, partial, FunctionType, CellType, MethodType)  # whose records tell all of them


class _UnlikeError(Exception):
    """Nothing tells of an object what it does, so it is like no other."""


def likeness(functions: Sequence[Any], records: Mapping[int, Held], arguments: Sequence[Any]) -> Hashable | None:
    """A value that is equal for functions that do the same, with records of all that they reach; None if none tells.

    `arguments` are objects in whose places others come when the functions run.
    """
    numbers = {here: nr for nr, here in enumerate(records)}
    given = {id(x): nr for nr, x in enumerate(arguments)}

    def of(x: Any) -> Hashable:
        here = id(x)
        if here in given:
            return ("argument", given[here])
        if here in numbers:
            return ("object", numbers[here])
        return _of_leaf(x)

    try:
        return (tuple(map(of, functions)), *[tuple(_of_record(held, of)) for held in records.values()])
    except _UnlikeError:
        return None


def _of_leaf(x: Any) -> Hashable:
    kind = type(x)
    if kind in _PLAIN:
        return (kind, x)
    if kind is float or kind is complex:
        return (kind, np.array(x).tobytes())
    if issubclass(kind, np.generic):
        return (kind, x.dtype.str, x.tobytes())
    if issubclass(kind, ndarray):
        if x.dtype.hasobject or x.size > _ELEMENTS:
            raise _UnlikeError
        return (kind, x.dtype.str, x.shape, x.strides, x.tobytes())
    return _Itself(x)


def _of_record(held: Held, of: Any) -> Iterator[Hashable]:
    holder, items = held.holder, held.items
    kind: Any = type(holder)
    yield kind
    if isinstance(holder, (set, frozenset, GeneratorType, ContextVar, local)):
        raise _UnlikeError
    if held.of_module:  # names of a module or of a user's class, by which it is itself another one
        if not isinstance(holder, dict):
            yield _Itself(holder)
        yield tuple((name, None if items[name] is NOTHING else of(items[name])) for name in sorted(items))
        return
    if isinstance(holder, FunctionType):
        yield _Itself(holder.__code__)
    elif not (isinstance(holder, _KNOWN) or is_users_class(kind)):
        yield _Itself(holder)  # who knows what else it has
    if isinstance(items, dict):
        yield tuple((_of_leaf(key), of(x)) for key, x in items.items())
    else:
        yield tuple(map(of, items))
    yield tuple((name, of(x)) for name, (x, _) in held.attributes.items())


class _Itself:
    """An object that is known by its identity, which may go; what has no weak references lives as long as this."""

    __slots__ = ("_here", "_now")

    def __init__(self, what: Any) -> None:
        self._here = id(what)
        self._now: Any
        try:
            self._now = weakref.ref(what)
        except TypeError:
            self._now = partial(next, repeat(what))

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and (mine := self._now()) is not None and mine is other._now()

    def __hash__(self) -> int:
        return self._here
