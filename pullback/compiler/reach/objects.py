"""Objects that a function reaches: how each kind is looked into, and what is watched of it."""

from __future__ import annotations

import functools
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import Enum
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.compiler.reach.kinds import (
    BUILTIN,
    CONSTANTS,
    GETTERS,
    is_function_in_c,
    is_librarys_class,
    is_librarys_file,
    is_librarys_module,
    is_librarys_own,
    is_ours,
    is_read_by_library,
    outside,
    scope_of,
    slots_of,
    tells,
    unfollowed,
)
from pullback.compiler.reach.places import (
    ArrayForm,
    Cell,
    Entries,
    Field,
    Items,
    Kind,
    Named,
    TensorForm,
    Variable,
    contents_of,
    field_of,
)
from pullback.compiler.reach.reads import reads_of
from pullback.compiler.reach.values import shown
from pullback.compiler.reach.walk import Site, Walk, named
from pullback.core import slots
from pullback.core.tensor import Tensor, ndarray
from pullback.explain.call_site import is_users_file
from pullback.graph.held_objects import is_of_library
from pullback.graph.held_records import NOTHING

_MANY_ITEMS = 1000  # of a container, each of which is compared at each call


_HOOKS = "is a hook, which a program would not run"
_MEMORY = "tells of an array's memory, which is another one in a trace"
# Attributes that code asks for, and why no program can follow what comes of it.
_SEEN_BY_NONE = {
    **dict.fromkeys(("register_hook", "register_post_accumulate_grad_hook", "saved_tensors_hooks"), _HOOKS),
    **dict.fromkeys(("flags", "base", "ctypes", "__array_interface__", "may_share_memory", "shares_memory"), _MEMORY),
}


class StandsFor:
    """Of an object that is called in the place of a function, `_function`, and reads what that reads."""

    _function: Callable[..., Any]


def look_into(walk: Walk, x: Any, said: str, site: Site) -> None:
    """Watch an object, and note what it holds."""
    for kind, look in _LOOKS:
        if issubclass(type(x), kind):
            look(walk, x, said, site)
            return
    _object(walk, x, said, site)


def _tensor(walk: Walk, x: Tensor, said: str, site: Site) -> None:
    walk.tensors.append(x)
    walk.watch(TensorForm(x, said), NOTHING)


def _array(walk: Walk, x: ndarray, said: str, site: Site) -> None:
    if x.dtype == object:
        _items(walk, x, said, site)
    elif x.dtype.hasobject:
        walk.refuse(said, "is an array of objects, in which no watch can look", site)
    else:
        walk.arrays.append(x)
        walk.watch(ArrayForm(x, said), NOTHING)
        walk.watches.add_contents(x, said)
        if type(x) is not ndarray:
            _object(walk, x, said, site)


def _items(walk: Walk, x: Any, said: str, site: Site) -> None:
    base = _base(x)
    count = x.size if base is ndarray else base.__len__(x)
    if count > _MANY_ITEMS:
        walk.refuse(said, f"has {count:,} items, each of which would be compared at each call", site)
        return
    made = Items(x, said, _flat if base is ndarray else base.__iter__)
    walk.watch(made)
    _parts(walk, made.was, said, site)
    if type(x) is not base:
        _object(walk, x, said, site)


def _flat(x: ndarray) -> Iterator[Any]:
    return iter(x.flat)


def _entries(walk: Walk, x: Any, said: str, site: Site) -> None:
    if x is sys.modules:
        walk.refuse(said, "has modules that are not named in the code", site)
        return
    made = Entries(x, said)
    if (count := len(made.keys)) > _MANY_ITEMS:
        walk.refuse(said, f"has {count:,} items, each of which would be compared at each call", site)
        return
    walk.watch(made)
    if issubclass(type(x), defaultdict):
        factory = vars(defaultdict)["default_factory"].__get__
        walk.watch(Field(x, factory, f"the default of {said}", x.default_factory))
        walk.reached(x.default_factory, f"the default of {said}", site)
    for key, part in zip(made.keys, made.was, strict=True):
        walk.reached(key, f"a key of {said}", site)
        walk.reached(part, f"the item {shown(key)} of {said}", site)
    if type(x) not in (dict, MappingProxyType):
        _object(walk, x, said, site)


def _fixed(walk: Walk, x: Any, said: str, site: Site) -> None:
    """Look into a tuple, which nobody can change, but what it holds."""
    base = _base(x)
    _parts(walk, base.__iter__(x), said, site)
    if type(x) is not base:
        _object(walk, x, said, site)


def _parts(walk: Walk, parts: Any, said: str, site: Site) -> None:
    for nr, part in enumerate(parts):
        if type(part) not in CONSTANTS:  # of long ones
            walk.reached(part, f"item {nr} of {said}", site)


def _base(x: Any) -> Any:
    """The container of Python's that an object is, whose methods run no code of the user's."""
    return next(base for base in (list, set, deque, tuple, frozenset, ndarray) if issubclass(type(x), base))


def _slice(walk: Walk, x: slice, said: str, site: Site) -> None:
    _parts(walk, (x.start, x.stop, x.step), said, site)


def _function(walk: Walk, x: FunctionType, said: str, site: Site) -> None:
    code = x.__code__
    librarys, users = is_librarys_file(code.co_filename), is_users_file(code.co_filename)
    if librarys and is_of_library(x):
        walk.of_library(x, said, site)
        return
    if users:  # of a package that is installed, the line of who calls it is told
        site = (code.co_filename, code.co_firstlineno)
    for name in () if librarys else ("__code__", "__defaults__", "__kwdefaults__"):
        walk.watch(Named(x, name, f"`{name}` of the function {x.__qualname__}"), x)
    for parts in (x.__defaults__, x.__kwdefaults__):
        walk.reached(parts, f"the defaults of {x.__qualname__}", site)
    _closure(walk, x, site, librarys)
    if librarys:
        return
    walk.namespaces[id(x.__globals__)] = x.__globals__
    reads = reads_of(code)
    walk.every = walk.every or reads.by_pattern
    for what, line in reads.leaves.items():
        walk.refuse(what, "is set, which a program would not do", (code.co_filename, line) if users else site)
    for attribute, line in reads.names.items():
        if attribute in _SEEN_BY_NONE:
            walk.refuse(f"`{attribute}`", _SEEN_BY_NONE[attribute], (code.co_filename, line) if users else site)
        walk.name(attribute, (code.co_filename, line) if users else site)
    if x.__dict__.keys() - {"__wrapped__"}:
        walk.space(x.__dict__, f"the function {x.__qualname__}", site)
    else:
        walk.bare.append(x)
    for read in reads.places:
        walk.read(x, read, (code.co_filename, read.line) if users else site)


def _closure(walk: Walk, x: FunctionType, site: Site, all_of_it: bool) -> None:
    """Watch the variables of a closure; in the user's own the code says what becomes of them."""
    for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
        value, whose = contents_of(cell), f"the variable `{name}` of {x.__qualname__}"
        if walk.is_new(cell) and not is_ours(x.__code__.co_filename):  # ours get no other contents
            walk.watch(Cell(cell, whose, value), value)
        if all_of_it and value is not NOTHING:
            walk.escaped(value, whose, site)


def _method(walk: Walk, x: MethodType, said: str, site: Site) -> None:
    walk.escaped(x.__func__, said, site)
    walk.escaped(x.__self__, f"the {type(x.__self__).__name__}", site)


def _builtin(walk: Walk, x: Any, said: str, site: Site) -> None:
    if x.__self__ is None or issubclass(type(x.__self__), (ModuleType, type)):
        walk.of_library(x, said, site)
    else:
        walk.reached(x.__self__, f"the {type(x.__self__).__name__} of {said}", site)


def _partial(walk: Walk, x: Any, said: str, site: Site) -> None:
    walk.escaped(x.func, f"the function of {said}", site)
    for parts in (x.args, x.keywords):
        walk.reached(parts, f"the arguments of {said}", site)


def _wrapped(walk: Walk, x: Any, said: str, site: Site) -> None:
    for name in ("fget", "fset", "fdel", "func", "__func__"):
        walk.reached(getattr(x, name, None), said, site)


def _variable(walk: Walk, x: ContextVar[Any], said: str, site: Site) -> None:
    made = Variable(x, f"the value of {said}")
    walk.watch(made)
    walk.reached(made.was, made.said, site)


def _module(walk: Walk, x: ModuleType, said: str, site: Site) -> None:
    scope = object.__getattribute__(x, "__dict__")
    walk.namespaces[id(scope)] = scope
    if "__getattr__" in scope and not is_librarys_module(x):
        walk.refuse(named(x), "finds its attributes by code of its own", site)
    walk.space(scope, named(x), site).of_library = is_librarys_module(x)


def _class(walk: Walk, x: type, said: str, site: Site) -> None:
    walk.look_at_class(x, site, constructed=True)


def _ufunc(walk: Walk, x: np.ufunc, said: str, site: Site) -> None:
    if all(set(types) <= set("O->") for types in x.types):
        walk.refuse(said, "hides the function of which np.frompyfunc made it", site)


def _object(walk: Walk, x: Any, said: str, site: Site) -> None:
    """Look into an object of a class: at its attributes, and at what the class says of them."""
    if (stood_for := slots.genuine(x)) is not x:  # while `adopt()` is in force
        walk.reached(stood_for, said, site)
        return
    kind: Any = type(x)
    librarys = is_librarys_class(kind)
    if is_function_in_c(x) or (librarys and (tells(x) or outside(x) or is_librarys_own(x))):
        walk.of_library(x, said, site)
        return
    if librarys and kind in GETTERS:
        walk.every = True
        return
    if why := unfollowed(x):
        walk.refuse(said, why, site)
        return
    if not librarys:
        walk.look_at_class(kind, site)
        walk.watch(Kind(x, f"the class of {said}", kind), kind)
    if (scope := scope_of(x)) is not None:
        space = walk.space(scope, said, site)
        space.owner = x
        if is_read_by_library(kind):
            space.whole, space.without = True, ("_random_state",)  # `rvs` reads this one, which is refused
        if issubclass(kind, Enum):
            walk.reached(scope.get("_value_"), said, site)
    for base in kind.__mro__:
        for name, slot in slots_of(base):
            whose, value = f"the attribute `{name}` of {said}", field_of(slot.__get__, x)
            if not (librarys and getattr(kind, "never_changes", False)):
                walk.watch(Field(x, slot.__get__, whose, value), value)
            walk.reached(value, whose, site)


def _stands_for(walk: Walk, x: StandsFor, said: str, site: Site) -> None:
    walk.escaped(x._function, said, site)


_LOOKS: tuple[tuple[Any, Callable[[Walk, Any, str, Site], None]], ...] = (
    (StandsFor, _stands_for),
    (Tensor, _tensor),
    (ndarray, _array),
    (FunctionType, _function),
    (MethodType, _method),
    (BUILTIN, _builtin),
    (functools.partial, _partial),
    (type, _class),
    (ModuleType, _module),
    ((dict, MappingProxyType), _entries),
    ((list, set, deque), _items),
    ((tuple, frozenset), _fixed),
    (slice, _slice),
    ((property, staticmethod, classmethod, functools.cached_property), _wrapped),
    (ContextVar, _variable),
    (np.ufunc, _ufunc),
    (np.dtype, lambda *_: None),
)
