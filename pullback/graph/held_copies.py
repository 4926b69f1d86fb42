"""Copies of objects that hold what has changed, which hold what was there before."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from copy import copy
from types import CellType, FunctionType, ModuleType
from typing import Any

from pullback.core.errors import GradientError, type_name
from pullback.core.tensor import ndarray
from pullback.graph.held_objects import IMMUTABLE, attributes_of, is_watched, rebuilt
from pullback.graph.held_records import NO_DERIVATIVE, NOTHING, Held


def refusal(name: str, what: str) -> GradientError:
    """The error for what has changed and cannot be had back."""
    return GradientError(
        f"{name}: {what} has changed since the call. The function reads it and runs again, but it cannot be copied, "
        f"{NO_DERIVATIVE} Pass what the function reads of it as an argument."
    )


class Copies:
    """Copies of objects that lead to something else than what is there now."""

    def __init__(self, name: str, records: Mapping[int, Held], leads: set[int], replaced: Mapping[int, Any]) -> None:
        self.name, self.records, self.leads, self.replaced = name, records, leads, replaced
        self.copies: dict[int, Any] = {}
        self.modules: dict[int, ModuleType] = {}  # in whose dicts copied globals are
        self.todo: list[tuple[Held, Any]] = []

    def of(self, x: Any) -> Any:
        """The copy, or `x` itself where it does not lead to a change."""
        made = self._copied(x)
        while self.todo:
            held, copied = self.todo.pop()
            (self._fill_scope if held.of_module else self._fill)(held, copied)
        return made

    def _copied(self, x: Any) -> Any:
        here = id(x)
        if here in self.replaced:
            return self.replaced[here]
        if here not in self.leads:
            return x
        if here not in self.copies:
            held = self.records[here]
            frozen = isinstance(x, IMMUTABLE)
            self.copies[here] = made = rebuilt(x, self._copied) if frozen else self._shell(held)
            if not frozen or held.attributes:
                self.todo.append((held, made))
        return self.copies[here]

    def _shell(self, held: Held) -> Any:
        """A copy that is yet to hold copies."""
        x = held.holder
        if isinstance(x, type):
            return self._subclass(x)
        if isinstance(x, ModuleType):
            self._copied(vars(x))
            made = self.modules[id(vars(x))]
            made.__class__ = type(x)  # which may have a `__getattr__`
            return made
        if held.of_module:
            module = self.modules[id(x)] = ModuleType(x.get("__name__", ""))
            vars(module).update({name: part for name, part in x.items() if held.items.get(name) is not NOTHING})
            return vars(module)
        if isinstance(x, CellType):
            return CellType()
        if isinstance(x, FunctionType):
            cells = tuple(map(self._copied, held.items)) or None
            function = FunctionType(x.__code__, self._copied(x.__globals__), x.__name__, None, cells)
            function.__qualname__, function.__doc__, function.__module__ = x.__qualname__, x.__doc__, x.__module__
            return function
        return self._copy(x)

    def _subclass(self, cls: type) -> Any:
        """A class in the place of another, for copies of its objects: what has changed is put there."""
        try:
            return type(cls)(cls.__name__, (cls,), {"__slots__": (), "__module__": cls.__module__})
        except Exception as error:  # whatever a class makes of a subclass
            raise refusal(self.name, f"the class {cls.__qualname__}, or what it holds,") from error

    def _copy(self, x: Any) -> Any:
        try:
            made, why = copy(x), None
            if (kind := self._copied(type(x))) is not type(x):
                object.__setattr__(made, "__class__", kind)
        except Exception as error:  # noqa: BLE001 - whatever a class makes of being copied
            made, why = x, error
        if made is not x:
            return made
        raise refusal(self.name, f"an object of type {type_name(x)}, or what it holds,") from why

    def _fill_class(self, made: type) -> None:
        cls: type = made.__mro__[1]
        done: set[str] = set()
        for base in cls.__mro__:
            held = self.records.get(id(base))
            for name, part in held.items_then().items() if held else ():
                now = vars(base).get(name, NOTHING)
                then = part if part is NOTHING else self._copied(part)
                if then is now:
                    continue
                if name in done and not self._may_use_super():
                    continue
                if name in done or then is NOTHING:  # which super() reaches; or is to be there no longer
                    raise refusal(self.name, f"{name!r} of the class {base.__qualname__}")
                setattr(made, name, then)
            done |= vars(base).keys()

    def _may_use_super(self) -> bool:
        functions = (x.holder for x in self.records.values() if isinstance(x.holder, FunctionType))
        return any("super" in function.__code__.co_names for function in functions)

    def _fill_scope(self, held: Held, made: Any) -> None:
        if isinstance(made, type):
            self._fill_class(made)
            return
        for name, part in held.items_then().items():  # none for a module, whose names have a record of their own
            copied = part if part is NOTHING else self._copied(part)
            if copied is not part or (part is not NOTHING and not held.is_still(name, part)):
                made[name] = copied

    def _fill(self, held: Held, made: Any) -> None:
        x, items = held.holder, held.items_then()
        if isinstance(x, dict):
            dict.clear(made)
            dict.update(made, {key: self._copied(part) for key, part in items.items()})
        elif isinstance(x, (list, deque)):
            made.clear()
            made.extend(map(self._copied, items))
        elif issubclass(type(x), ndarray):
            for i, part in enumerate(items):
                made.reshape(-1)[i] = self._copied(part)
        elif isinstance(x, set):
            made.clear()
            made.update(map(self._copied, items))
        elif isinstance(x, CellType) and items:
            made.cell_contents = self._copied(items[0])
        for name, _, _ in list(attributes_of(made)):
            if name not in held.attributes and name not in held.own and is_watched(x):
                delattr(made, name)
        for name, (part, setter) in held.attributes.items():
            if name not in held.own:
                setter(made, self._copied(part))
