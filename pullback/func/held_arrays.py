"""Other arrays in the place of those that an object holds: in a copy of it, and of all that leads to them.

An object may be reached in several ways: by a back reference, a bound method, a second name. All of them must lead to
the one copy, or the old arrays would be used, silently. So the objects that are reachable are walked, and each that
leads to a replaced array is copied, once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, MutableMapping
from copy import copy
from dataclasses import FrozenInstanceError
from types import FunctionType
from typing import Any

import numpy as np

from pullback.core.array_type import SCALARS, is_array, memory_of
from pullback.core.errors import type_name
from pullback.core.tensor import Tensor
from pullback.graph.held_objects import IMMUTABLE, LEAVES, attributes_of, names_in, parts_of, rebuilt

_CALLED = "func.functional_call"


def with_arrays(whole: Any, given: Mapping[str, Any]) -> Any:
    """`whole` with other arrays at these paths; a copy, unless there are none."""
    return Substitution(whole, given).copied(whole) if given else whole


class Substitution:
    """Says what is put where, which objects lead there, and their copies."""

    def __init__(self, whole: Any, given: Mapping[str, Any]) -> None:
        self.holders: dict[int, Any] = {}  # of replaced arrays, by identity; they live as long as this
        self.puts: dict[int, dict[str, Any]] = {}  # for each holder the new values, by name
        self.links: dict[int, dict[str, Any]] = {}  # for each holder what the paths go on to, by name
        self.tied: dict[int, list[Any]] = {}  # for each replaced array the new ones
        self.copies: dict[int, Any] = {}
        self.under_way: set[int] = set()
        for name, x in given.items():
            self._resolve(whole, name, x, given)
        self.leads = self._leading(whole)

    def _resolve(self, whole: Any, name: str, x: Any, given: Mapping[str, Any]) -> None:
        holder, path, names = whole, type(whole).__name__, name.split(".")
        for i, part in enumerate(names):
            self.holders[id(holder)] = holder
            if i and (short := ".".join(names[:i])) in given:
                where = f"{type(whole).__name__}.{short}"
                raise ValueError(f"{_CALLED}: {where} is given, and so is a part of it; give one of the two.")
            path = f"{path}.{part}"
            found = _held(holder, part, path)
            if i < len(names) - 1:
                self.links.setdefault(id(holder), {})[part] = holder = found
        puts = self.puts.setdefault(id(holder), {})
        if part in puts and puts[part] is not x:
            raise ValueError(f"{_CALLED}: {path} is given twice, with another array by another path; give it once.")
        puts[part] = x
        if issubclass(type(found), (np.ndarray, Tensor)):
            self.holders[id(found)] = found
            self.tied.setdefault(id(found), []).append(x)

    def _leading(self, whole: Any) -> set[int]:
        """The objects, by identity, that hold a replaced array or lead to one that does."""
        parents: dict[int, list[int]] = {}
        seen, todo = {id(whole)}, [whole]
        kept = self.kept = [whole]  # some are made by looking (cells, views of dicts) and must not give their id away
        while todo:
            x = todo.pop()
            here = id(x)
            for part in (*parts_of(x), *self.links.get(here, {}).values()):
                if id(part) not in self.tied and issubclass(type(part), LEAVES):
                    continue
                parents.setdefault(id(part), []).append(here)
                if id(part) not in seen:
                    seen.add(id(part))
                    kept.append(part)
                    if id(part) not in self.tied:
                        todo.append(part)
        leads, ids = set(), [*self.puts, *self.tied]
        while ids:
            here = ids.pop()
            if here not in leads:
                leads.add(here)
                ids += parents.get(here, ())
        return leads

    def copied(self, x: Any) -> Any:
        """The copy of an object on the way to an array, the new array for a replaced one, anything else itself."""
        here = id(x)
        if here not in self.leads:
            return x
        if here in self.tied:
            first, *others = self.tied[here]
            if any(y is not first for y in others):
                raise ValueError(
                    f"{_CALLED}: an array that the object holds at several places is given several times, by different "
                    "arrays; give all of its places, or one of them."
                )
            return first
        if here in self.copies:
            return self.copies[here]
        if here in self.under_way:
            raise TypeError(
                f"{_CALLED}: an immutable {type_name(x)} that leads to an array holds itself, so it cannot be copied."
            )
        self.under_way.add(here)
        puts = self.puts.get(here, {})
        links = {name: self.copied(part) for name, part in self.links.get(here, {}).items()} if _frozen(x) else {}
        made = self.copies[here] = self._rebuilt(x, {**links, **puts}) if _frozen(x) else self._shallow(x)
        if not _frozen(x):
            self._fill(x, made, {*puts, *self.links.get(here, ())})
            for name, part in self.links.get(here, {}).items():
                _put(made, name, self.copied(part))
            for name, new in puts.items():
                _put(made, name, new)
        return made

    def _shallow(self, x: Any) -> Any:
        """A copy of what can be changed once it is made."""
        return _shallow(x)

    def _rebuilt(self, x: Any, puts: Mapping[str, Any]) -> Any:
        """A copy of what cannot be changed once it is made."""
        if isinstance(x, tuple):
            fields = getattr(x, "_fields", ())
            places = {fields.index(name) if name in fields else int(name): new for name, new in puts.items()}
            items = [places[i] if i in places else self.copied(part) for i, part in enumerate(x)]
            return type(x)(*items) if fields else type(x)(items)
        return rebuilt(x, self.copied)

    def _fill(self, x: Any, made: Any, done: set[str]) -> None:
        """Let a shallow copy lead to copies."""
        if isinstance(x, dict):
            for key, part in x.items():
                if str(key) not in done and id(part) in self.leads:
                    made[key] = self.copied(part)
        elif isinstance(x, (list, deque)):
            for i, part in enumerate(x):
                if str(i) not in done and id(part) in self.leads:
                    made[i] = self.copied(part)
        elif isinstance(x, set):
            made.clear()
            made.update(map(self.copied, x))
        for name, part, setter in attributes_of(x):
            if name not in done and id(part) in self.leads:
                setter(made, self.copied(part))


def _frozen(x: Any) -> bool:
    return isinstance(x, IMMUTABLE)


def _shallow(x: Any) -> Any:
    made = None if isinstance(x, FunctionType) else copy(x)
    if made is None or made is x:
        raise TypeError(
            f"{_CALLED}: {x!r} leads to an array that is to be replaced, but cannot be copied, and would use the old "
            "array. Hold a bound method or an attribute instead of a function that captures the object."
        )
    return made


def arrays_held(*holders: Any) -> list[np.ndarray]:
    """The ndarrays that functions, and what else holds something, lead to; globals that a function names too.

    The first of very many alone.
    """
    found, seen = [], {id(holders)}
    kept: list[Any] = [holders]  # some are made by looking, and must not give their id away
    for x in kept:
        if is_array(x):
            memory = memory_of(x)
            found += [] if memory is None else [memory]
        elif not issubclass(type(x), LEAVES) and len(kept) < _MANY:
            for part in (*parts_of(x), *_globals_of(x)):
                if type(part) not in SCALARS and id(part) not in seen:
                    seen.add(id(part))
                    kept.append(part)
    return found


_MANY = 10_000


def _globals_of(x: Any) -> Iterator[Any]:
    """The values of globals that the code of a function reads."""
    if isinstance(x, FunctionType):
        yield from (x.__globals__[name] for name in names_in(x.__code__)[0] if name in x.__globals__)


def _held(holder: Any, name: str, where: str) -> Any:
    try:
        if isinstance(holder, Mapping):
            return holder[name]
        if isinstance(holder, (list, tuple)) and name.isdecimal():
            return holder[int(name)]
        return getattr(holder, name)
    except (AttributeError, KeyError, IndexError):
        known = list(holder) if isinstance(holder, Mapping) else list(getattr(holder, "__dict__", ()))
        raise AttributeError(f"{_CALLED}: there is no {where}{f'; there are {known}' if known else ''}.") from None


def _put(made: Any, name: str, x: Any) -> None:
    if isinstance(made, MutableMapping):
        made[name] = x
    elif isinstance(made, list) and name.isdecimal():
        made[int(name)] = x
    else:
        try:
            setattr(made, name, x)
        except FrozenInstanceError:  # a frozen dataclass: the copy is nobody's yet
            object.__setattr__(made, name, x)
