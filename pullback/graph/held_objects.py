"""The parts of objects: items, attributes, cells, globals; for those who replace something wherever it is held."""

from __future__ import annotations

import dis
import functools
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, TypeAlias

import numpy as np

from pullback.core.tensor import Tensor, ndarray
from pullback.explain.call_site import is_users_file


class Whole:
    """Base of what is not looked into: whoever holds it gives it all that may be another in a copy."""

    __slots__ = ()


LEAVES = (
    np.ndarray, np.generic, np.ufunc, Tensor, str, bytes, bytearray, int, float, complex, type, ModuleType, type(None),
    range, slice, Whole,
)  # fmt: skip
_BUILTIN = (BuiltinFunctionType, MethodWrapperType)  # array.dot among them, a method of what it holds
_CACHED = type(functools.lru_cache(len))
_OF_CLASSES = (staticmethod, classmethod, property)
IMMUTABLE = (
    tuple, frozenset, MethodType, *_BUILTIN, functools.partial, weakref.ref, _CACHED, *_OF_CLASSES,
)  # fmt: skip
_CONTAINERS = (
    dict, list, tuple, set, frozenset, deque, SimpleNamespace, FunctionType, CellType, MethodType, GeneratorType,
    ContextVar, threading.local,
)  # fmt: skip


def items_of(x: Any) -> tuple[Any, ...] | dict[Any, Any]:
    """The things that a container, a function, a method holds, besides attributes."""
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, (list, tuple, set, frozenset, deque)):
        return tuple(x)
    if isinstance(x, _BUILTIN):
        return () if x.__self__ is None or isinstance(x.__self__, (ModuleType, type)) else (x.__self__,)
    if isinstance(x, CellType):
        try:
            return (x.cell_contents,)
        except ValueError:  # not filled yet
            return ()
    for kind, items in _ITEMS:
        if isinstance(x, kind):
            return items(x)
    return tuple(x.flat) if issubclass(type(x), ndarray) and x.dtype == object else ()


_ITEMS: tuple[tuple[Any, Callable[[Any], tuple[Any, ...]]], ...] = (
    (FunctionType, lambda x: x.__closure__ or ()),
    (MethodType, lambda x: (x.__func__, x.__self__)),
    (functools.partial, lambda x: (x.func, x.args, x.keywords)),
    (weakref.ref, lambda x: (x(),)),
    (_CACHED, lambda x: (x.__wrapped__,)),
    ((staticmethod, classmethod), lambda x: (x.__func__,)),
    (property, lambda x: (x.fget, x.fset, x.fdel)),
    (GeneratorType, lambda x: tuple(x.gi_frame.f_locals.values()) if x.gi_frame else ()),
    (ContextVar, lambda x: (x.get(),) if x in copy_context() else ()),
)


Place: TypeAlias = tuple[Any, Any, Callable[[Any], object]]  # a key or a name, the value, how to put another there


def places_of(x: Any) -> Iterator[Place]:
    """(key, value, how to replace it) of the items that a container or a cell holds."""
    if isinstance(x, CellType):
        yield from ((None, part, functools.partial(setattr, x, "cell_contents")) for part in items_of(x))
    elif isinstance(x, ContextVar):
        yield from ((None, part, x.set) for part in items_of(x))
    elif isinstance(x, dict) or issubclass(type(x), (list, deque, ndarray)):
        pairs = (
            x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, (list, deque)) else np.ndenumerate(x)
        )
        for key, part in list(pairs):
            yield key, part, functools.partial(x.__setitem__, key)


def attributes_of(x: Any) -> Iterator[tuple[str, Any, Callable[[Any, Any], None]]]:
    """(name, value, how to set it in a copy) of what an object holds in its `__dict__`, slots and defaults."""
    if isinstance(x, IMMUTABLE) and not isinstance(x, tuple):
        return
    for name, part in list((getattr(x, "__dict__", None) or {}).items()):
        yield name, part, functools.partial(_set_in_dict, name)
    if isinstance(x, FunctionType):
        for name in ("__defaults__", "__kwdefaults__"):
            if (part := getattr(x, name)) is not None:
                yield name, part, functools.partial(_set, name)
    kind: Any = type(x)
    for name, slot in _slots(kind):
        try:
            yield name, slot.__get__(x), slot.__set__
        except AttributeError:  # not set
            continue


@functools.lru_cache(maxsize=1024)
def _slots(kind: Any) -> list[tuple[str, MemberDescriptorType]]:
    homes = [vars(cls) for cls in kind.__mro__ if "__slots__" in vars(cls)]
    slots = [(name, slot) for home in homes for name, slot in home.items() if type(slot) is MemberDescriptorType]
    return [(name, slot) for name, slot in slots if name != "__weakref__"]


def parts_of(x: Any) -> Iterator[Any]:
    """Yield all that an object holds."""
    items = items_of(x)
    yield from items.values() if isinstance(items, dict) else items
    for _, part, _ in attributes_of(x):
        yield part


def _set_in_dict(name: str, made: Any, part: Any) -> None:
    made.__dict__[name] = part


def _set(name: str, made: Any, part: Any) -> None:
    setattr(made, name, part)


def rebuilt(x: Any, copied: Callable[[Any], Any]) -> Any:
    """A copy, of copies, of what cannot be changed once it is made."""
    if isinstance(x, functools.partial):
        keywords = {name: copied(part) for name, part in x.keywords.items()}
        return type(x)(copied(x.func), *map(copied, x.args), **keywords)
    parts = [copied(part) for part in items_of(x)]
    if isinstance(x, (tuple, frozenset)):
        kind = copied(type(x))
        return kind(*parts) if hasattr(x, "_fields") else kind(parts)
    if isinstance(x, (MethodType, *_OF_CLASSES)):
        return type(x)(*parts)
    if isinstance(x, _CACHED):
        return functools.lru_cache(**x.cache_parameters())(parts[0])
    return weakref.ref(parts[0]) if isinstance(x, weakref.ref) else getattr(parts[0], x.__name__)


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """(the globals that code reads or assigns, the attributes)."""
    reads, names = set(), set(code.co_names)
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"):
            reads.add(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, others = names_in(inner)
            reads |= more
            names |= others
    return frozenset(reads), frozenset(names)


def is_of_library(function: FunctionType) -> bool:
    """True if a function stands under its name in a module that is not the user's: what it holds is no parameter.

    What a library has made around a function of the user's bears that function's names.
    """
    return "<locals>" not in function.__qualname__ and _stands_in_library(function)


@functools.lru_cache(maxsize=4096)  # of what modules have, which stays
def _stands_in_library(function: FunctionType) -> bool:
    found: Any = sys.modules.get(function.__module__)
    if is_users_file(function.__code__.co_filename) or function.__module__ == "__main__" or is_users_module(found):
        return False
    for name in function.__qualname__.split("."):
        if type(found) is ModuleType and name not in vars(found) and found.__name__.partition(".")[0] == "pullback":
            found = getattr(found, name, None)  # which is made when it is first asked for
        else:
            found = getattr(found, "__dict__", {}).get(name)
    return found is function


def is_watched(x: Any) -> bool:
    """True if any attribute of an object may be a parameter: those of other libraries hold caches too."""
    kind: Any = type(x)
    return _are_watched(kind)


@functools.lru_cache(maxsize=1024)
def _are_watched(kind: Any) -> bool:
    if issubclass(kind, (*_CONTAINERS, *IMMUTABLE)) or kind.__module__.partition(".")[0] in ("numpy", "scipy"):
        return True
    return is_users_class(kind)


@functools.lru_cache(maxsize=1024)
def is_users_class(kind: Any) -> bool:
    """True if a class is the user's own."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ == "__main__" or (file is not None and is_users_file(file))


def numbers_in(name: str, x: Any, put: Callable[[Any], object], seen: set[int]) -> Iterator[Place]:
    """The places of numbers that may have a derivative, in something that has been put somewhere."""
    kind = type(x)
    of_numpy = issubclass(kind, (ndarray, np.generic, Tensor)) and x.dtype.kind in "fc"
    if of_numpy or issubclass(kind, (float, complex)):
        yield name, x, put
        return
    if id(x) in seen:
        return
    seen.add(id(x))
    if isinstance(x, tuple):
        parts = list(x)
        make = type(x)._make if hasattr(x, "_fields") else type(x)  # type: ignore[attr-defined]

        def put_part(i: int, part: Any) -> None:
            parts[i] = part
            put(make(parts))

        for i, part in enumerate(x):
            yield from numbers_in(name, part, functools.partial(put_part, i), seen)
    for _, part, put_item in places_of(x):
        yield from numbers_in(name, part, put_item, seen)
    if is_watched(x):
        for _, part, setter in list(attributes_of(x)):
            yield from numbers_in(name, part, functools.partial(setter, x), seen)


def is_users_module(x: Any) -> bool:
    """True if `x` is a module, and the user's own."""
    return isinstance(x, ModuleType) and is_users_file(getattr(x, "__file__", None) or "<frozen ")
