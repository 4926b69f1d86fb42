"""Records of what objects and arrays held at a call: has it changed since, and how to have it again."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from operator import is_
from types import CellType, FunctionType
from typing import Any

import numpy as np

from pullback.core import slots
from pullback.core.errors import GradientError
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.held_objects import Place, attributes_of, is_watched, items_of, places_of
from pullback.graph.saved import Fingerprint
from pullback.graph.snapshot import MANY, copy_of

NO_DERIVATIVE = "so that the derivative would be that of another function."


class Held:
    """The contents of an object at the call; of a module's globals, those that functions read.

    What the functions themselves change while they run, a counter, a log, a cache, is their `own`: it stays shared.
    """

    __slots__ = ("attributes", "holder", "items", "of_module", "own")

    def __init__(self, holder: Any, items: Any, attributes: Mapping[str, tuple[Any, Any]], of_module: bool) -> None:
        self.holder, self.items, self.attributes, self.of_module = holder, items, attributes, of_module
        self.own: set[str | None] = set()  # names of attributes or globals; None stands for all items

    def again(self, holder: Any) -> Held:
        """A record of a copy as it is now."""
        if self.of_module:
            scope = holder if isinstance(holder, dict) else vars(holder)
            return Held(holder, {name: scope.get(name, NOTHING) for name in self.items}, {}, True)
        return Held(holder, items_of(holder), {name: (x, put) for name, x, put in attributes_of(holder)}, False)

    def changes(self) -> set[str | None]:
        """The names under which there is something else now, None for items."""
        if self.of_module:
            return {name for name, x in self.items.items() if not self.is_still(name, x)} - self.own
        now = {name: x for name, x, _ in attributes_of(self.holder)}
        before = {name: x for name, (x, _) in self.attributes.items()}
        found: set[str | None] = {
            name for name in now | before if not _alike(now.get(name, NOTHING), before.get(name, NOTHING))
        }
        if not is_watched(self.holder):
            return {name for name in found - self.own if name and isinstance(before.get(name), (ndarray, Tensor))}
        return (found if _same(self.items, items_of(self.holder)) else found | {None}) - self.own

    def is_still(self, name: str, x: Any) -> bool:
        """True if a global is what it was; `adopt()`, since then, does not count."""
        now = self.scope.get(name, NOTHING)
        return _alike(now, x) or slots.genuine(now) is slots.genuine(x)

    def has_numbers(self, name: str | None) -> bool:
        """True if there is a number with a derivative, or what may hold one, where something has changed."""
        if name is not None:
            scope = self.scope if self.of_module else {key: x for key, x, _ in attributes_of(self.holder)}
            return _may_be_numbers(scope.get(name))
        now = items_of(self.holder)
        before = set(map(id, self.parts()))
        return any(_may_be_numbers(x) for x in (now.values() if isinstance(now, dict) else now) if id(x) not in before)

    @property
    def scope(self) -> Any:
        """The names of a module or a class."""
        return self.holder if isinstance(self.holder, dict) else vars(self.holder)

    def put(self, name: str | None, x: Any) -> None:
        """Put something under a name that has changed; None stands for all items."""
        holder = self.holder
        if self.of_module:
            if x is not NOTHING:
                (dict.__setitem__ if isinstance(holder, dict) else setattr)(holder, str(name), x)
        elif name is not None:
            self.attributes[name][1](holder, x) if name in self.attributes else object.__setattr__(holder, name, x)
        elif isinstance(holder, dict):
            dict.clear(holder)
            dict.update(holder, x)
        elif isinstance(holder, CellType):
            holder.cell_contents = x[0]
        elif isinstance(holder, (list, deque, set)):
            holder.clear()
            getattr(holder, "update" if isinstance(holder, set) else "extend")(x)

    def left(self) -> Iterator[Place]:
        """(key or name, value, how to replace it) of what has come since the call."""
        holder, changed = self.holder, self.changes()
        if self.of_module:
            for name in changed & self.scope.keys():
                yield name, self.scope[name], partial(self.put, name)
            return
        for name, x, setter in list(attributes_of(holder)):
            if name in changed:
                yield name, x, partial(setter, holder)
        if None in changed:
            before = set(map(id, self.parts()))
            yield from ((key, x, put) for key, x, put in places_of(holder) if id(x) not in before)

    def parts(self) -> Iterator[Any]:
        """The contents at the call."""
        for x in self.items.values() if isinstance(self.items, dict) else self.items:
            if x is not NOTHING:
                yield x
        for x, _ in self.attributes.values():
            yield x

    def items_then(self) -> Any:
        """The items that a copy gets."""
        if self.of_module:
            return {name: x for name, x in self.items.items() if name not in self.own}
        return items_of(self.holder) if None in self.own else self.items


def _same(before: Any, now: Any) -> bool:
    if len(before) != len(now):
        return False
    if isinstance(before, dict):
        return before.keys() == now.keys() and all(map(_alike, before.values(), map(now.__getitem__, before)))
    return all(map(is_, before, now)) or all(map(_alike, before, now))


def _alike(a: Any, b: Any) -> bool:
    """True if two objects are one, or the same number other than 0, which has two signs."""
    return a is b or (type(a) is type(b) and type(a) in (int, float, str) and bool(a) and bool(a == b))


NOTHING = object()  # what a global is that has not been assigned yet


def _may_be_numbers(x: Any) -> bool:
    kind = type(x)
    if issubclass(kind, (ndarray, np.generic)):
        return x.dtype.kind in "fcO"
    return not issubclass(kind, (int, str, bytes, type(None), type, FunctionType))


class Contents:
    """The contents of an array: a copy, which all share for whom it had the same contents; or a fingerprint."""

    __slots__ = ("array", "before")

    def __init__(self, array: ndarray) -> None:
        self.array = array
        self.before: Any = array
        if not array.flags.writeable and not issubclass(type(array.base), ndarray):
            return
        if array.size > MANY:
            self.before = Fingerprint(array)
            return
        last = _copies.get(id(array))
        if last is None or last.dtype != array.dtype or not np.array_equal(last, array):
            last = _copies[id(array)] = copy_of(array)
        self.before = last

    def is_copy(self) -> bool:
        return type(self.before) is not Fingerprint

    def has_changed(self) -> bool:
        if type(self.before) is Fingerprint:
            return not self.before.fits(self.array)
        return self.before is not self.array and not _equal(self.before, self.array)

    def again(self, name: str) -> ndarray:
        """The contents, in memory of their own that is laid out as the array's is."""
        if type(self.before) is not Fingerprint:
            made = np.empty_like(self.array)
            made[...] = self.before
            return made
        raise GradientError(
            f"{name}: an array of shape {self.array.shape}, {self.array.dtype}, that the function reads from its "
            "closure, an object or a global has been written into since the call. It is too large to be copied at each "
            f"call, {NO_DERIVATIVE} Pass it as an argument, or give the function a copy of its own."
        )


_copies: weakref.WeakValueDictionary[int, ndarray] = weakref.WeakValueDictionary()


def _equal(a: ndarray, b: ndarray) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM"))


def owner_of(array: Any) -> ndarray:
    """The ndarray in whose memory `array` lies."""
    while issubclass(type(array.base), ndarray):
        array = array.base
    return array  # type: ignore[no-any-return]


def at_its_place(x: ndarray, owner: ndarray, memory: ndarray) -> ndarray:
    """The view of `memory` that `x` is of its owner's memory."""
    if x is owner:
        return memory
    offset = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return ndarray(x.shape, x.dtype, memory, offset, x.strides)
