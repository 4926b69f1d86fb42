"""The walk from a function to all that it reaches: what code names, and the namespaces in which that is looked up.

Where code takes steps from a name at once, these are followed: `config.RATE`. Of any other object that is reached,
whatever attribute some code names is one that may be read. So there are rounds: what is reached last may have what was
named first.
"""

from __future__ import annotations

import functools
import os
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from pullback.compiler.reach.kinds import (
    BUILTIN,
    CONSTANTS,
    UNSEEN,
    is_discreet,
    is_librarys_class,
    is_librarys_module,
    is_module,
    is_read_by_library,
    outside,
    tells,
)
from pullback.compiler.reach.places import Field, Item, Keys, Named, Watch, contents_of, field_of
from pullback.compiler.reach.reads import Attribute, Key, Read, modules_named, reads_of
from pullback.compiler.reach.values import shown
from pullback.compiler.reach.watches import Watches
from pullback.core.pytree import _REGISTERED
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.held_records import NOTHING

_MANY = 200  # places with state, and five times as many with functions, classes and modules
_ASKING = (getattr, hasattr, setattr, delattr)
# Methods that run where a class is called, or a subclass made, and when what it has made is gone.
_CONSTRUCTION = ("__new__", "__init__", "__post_init__", "__init_subclass__", "__set_name__", "__del__")
# Those that run where a library copies, or saves, an object.
_COPYING = frozenset({
    "__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__", "__getstate__", "__setstate__", "__copy__",
    "__deepcopy__", "__replace__", "__sizeof__", "__dir__",
})  # fmt: skip
# What a class has besides, which nothing runs that is done with an object.
_SILENT = frozenset({
    *_CONSTRUCTION, "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__annotations__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__",
    "__parameters__", "__orig_bases__", "__match_args__", "__dataclass_fields__", "__dataclass_params__",
    "__abstractmethods__", "__subclasshook__", "__classdictcell__", "__type_params__",
})  # fmt: skip
_TEXT = ("__repr__", "__setattr__", "__delattr__")  # of which those of a dataclass give a text, or raise
# Attributes by which code gets at others that it does not name.
_ALL_ATTRIBUTES = frozenset({"__dict__", "__getattribute__", "__getstate__", "__reduce__", "__reduce_ex__"})
_INSIDE = frozenset({
    "__globals__", "__closure__", "__subclasses__", "cell_contents", "f_back", "f_globals", "f_locals", "gi_frame",
})  # fmt: skip
_OF_ARRAYS = ("shape", "dtype", "ndim", "size", "T", "real", "imag")  # which NumPy asks an object for that is like one
# What a Tensor has beside its numbers that code may read: `grad` is read live, as these are.
_GRADIENTS = {"grad_sample": lambda x: x._extra and x._extra.grad_sample}
_GRAPH = frozenset({"grad_fn", "_base", "next_functions"})

Site: TypeAlias = tuple[str, int]  # a file, and a line in it


class Refusal(NamedTuple):
    """Something that a function reaches, and no watch can follow.

    Attributes
    ----------
    what : str
    why : str
    filename : str
        Where the user's code reads it.
    lineno : int
    """

    what: str
    why: str
    filename: str
    lineno: int


class TooMuchError(Exception):
    """There are more places than a quick test has time for."""


class _Space:
    """A namespace of which attributes are read by name: that of an object, a function, a class or a module."""

    def __init__(self, scope: Mapping[str, Any], whose: str, site: Site) -> None:
        self.scope, self.whose, self.site = scope, whose, site
        self.whole = False  # whether code may read all of it
        self.called = False  # whether it is that of a class which is called
        self.of_class = type(scope) is MappingProxyType
        self.of_library = False  # a module that nobody adds names to
        self.owner: Any = None  # the object, if it may get another namespace
        self.without: tuple[str, ...] = ()  # of what is read as a whole
        self.looked = 0  # so many of the names that code reads have been looked up

    def matters(self, name: Any) -> bool:
        """True if code may read an attribute that it does not name."""
        if not isinstance(name, str) or name in self.without:
            return False
        if self.called and name in _CONSTRUCTION:
            return True
        return (self.whole and name not in _SILENT) or (self.of_class and _is_implicit(name))


def _is_implicit(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _SILENT | _COPYING


class Walk:
    """All that has been reached, and what is still to be looked into."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.arrays: list[ndarray] = []
        self.watches = Watches()
        self.refused: dict[Refusal, None] = {}
        self.told: dict[Refusal, None] = {}
        self.todo: deque[tuple[Any, str, Site]] = deque()
        self.every = False  # whether code may read attributes of objects that it does not name
        self.asks = False  # whether it asks objects for attributes that they may lack
        self.bare: list[FunctionType] = []  # functions without attributes
        self.namespaces: dict[int, dict[str, Any]] = {}  # of the user's functions and modules, by their ids
        self._names: dict[str, Site] = {}  # of attributes that it reads of objects which it does not name
        self._spaces: dict[int, _Space] = {}
        self._of_classes: dict[int, _Space] = {}
        self._seen: dict[int, Any] = {}
        self._free = 0  # watches on what hardly ever changes

    def refuse(self, what: str, why: str, site: Site) -> None:
        """Note that nobody can follow something."""
        self.refused[Refusal(what, why, *site)] = None

    def watch(self, watch: Watch, value: Any = None) -> None:
        """Add a watch on a place with this value."""
        self._free += issubclass(type(value), (FunctionType, type, ModuleType, *BUILTIN, np.ufunc)) or value is NOTHING
        self.watches.add(watch)
        if len(self.watches) - self._free > _MANY or self._free > 5 * _MANY:
            raise TooMuchError(f"reaches more than {_MANY} places that may change")

    def is_new(self, x: Any) -> bool:
        """True the first time; it lives as long as the walk then, so that no other object has its id."""
        if id(x) in self._seen:
            return False
        self._seen[id(x)] = x
        return True

    def reached(self, x: Any, said: str, site: Site) -> None:
        """Note an object, to be looked into unless nobody can change it."""
        if type(x) not in CONSTANTS and x is not NOTHING and self.is_new(x):
            self.todo.append((x, said, site))

    # -- namespaces ----------------------------------------------------------------------------------------------
    def item(self, scope: Any, key: Any, said: str) -> Any:
        """Watch an item of a dict, or that there is none; gives it, `NOTHING` if there is none."""
        value = scope.get(key, NOTHING)
        if not self.watches.knows(id(scope), key):
            self.watch(Item(scope, key, said, value), value)
        return value

    def space(self, scope: Mapping[str, Any], whose: str, site: Site) -> _Space:
        """Have names looked up in a namespace."""
        return self._spaces.setdefault(id(scope), _Space(scope, whose, site))

    def look_by_name(self) -> bool:
        """Look up what code reads by name; True if there is something new."""
        known = -1
        while known < len(self._names) and not self.todo:  # what is found may name more
            known = len(self._names)
            self._look_up_names()
            self._look_at_tensors()
        return bool(self.todo)

    def _look_up_names(self) -> None:
        for space in [*self._spaces.values()]:
            names = [*self._names.items()][space.looked :]
            space.looked += len(names)
            for name, site in names:
                if name in space.scope:
                    self._attribute(space, name, space.site if space.of_class else site)
            if self.every and not space.of_library:
                space.whole = True
            for name in [*space.scope] if space.whole or space.of_class else ():
                if space.matters(name):
                    self._attribute(space, name, space.site)

    def _attribute(self, space: _Space, name: str, site: Site) -> None:
        said = f"the attribute `{name}` of {space.whose}"
        known = self.watches.knows(id(space.scope), name, "followed")
        value = self.item(space.scope, name, said)
        if known:
            return
        if issubclass(type(value), classmethod) and _calls_its_class(value):
            self._construct(site)
        if name not in _TEXT or not _is_generated(value):
            self.reached(value, said, site)

    def _construct(self, site: Site) -> None:
        """Note that code may call a class which it does not name."""
        for name in _CONSTRUCTION:
            self._names.setdefault(name, site)

    def _look_at_tensors(self) -> None:
        """Look up what else than their numbers code reads of Tensors."""
        for name in self._names.keys() & _GRADIENTS.keys():
            for x in [*self.tensors]:
                if not self.watches.knows(name, id(x)):
                    said, value = f"`{name}` of a Tensor", field_of(_GRADIENTS[name], x)
                    self.watch(Field(x, _GRADIENTS[name], said, value))
                    self.reached(value, said, self._names[name])
        for name in self._names.keys() & _GRAPH if self.tensors else ():
            self.refuse(f"`{name}`", "shows the graph of a Tensor", self._names[name])

    def end(self) -> None:
        """Watch which names there are, once it is known which of them count."""
        if "rvs" in self._names:
            self.refuse("`rvs`", "draws random numbers", self._names["rvs"])
        for function in self.bare if self.asks else ():
            self.space(function.__dict__, f"the function {function.__qualname__}", ("", 0))
        names = frozenset(self._names)
        for space in [*self._spaces.values()]:
            if not space.of_library:
                matters = functools.partial(_matters, names, space)
                self.watch(Keys(space.scope, space.whose, matters, space.owner), NOTHING)

    def look_at_class(self, cls: Any, site: Site, constructed: bool = False) -> None:
        """Look into a class: at what runs implicitly, and what code names; if it is called, at what makes an object."""
        if is_librarys_class(cls):
            if constructed:
                self.of_library(cls, f"the class {cls.__name__}", site)
            return
        own = []
        for base in cls.__mro__:
            if not is_librarys_class(base):
                own.append(base)
            elif why := outside(base):
                self.refuse(f"the class {cls.__qualname__}", f"{why}, as a {base.__name__}", site)
        if self.is_new(cls.__mro__):
            self.watch(Named(cls, "__mro__", f"the bases of the class {cls.__qualname__}"), cls)
            for base in own:
                if id(base) not in self._of_classes:
                    self._look_at_own(base, site)
                self._of_classes[id(base)].whole |= is_read_by_library(cls)
            self.look_at_class(type(cls), site, constructed)
        for base in own if constructed else ():
            self._of_classes[id(base)].called = True

    def _look_at_own(self, cls: Any, site: Site) -> None:
        scope = vars(cls)
        for name in ("__getattr__", "__getattribute__"):
            if name in scope:
                code = getattr(scope[name], "__code__", None)
                where = (code.co_filename, code.co_firstlineno) if code else site
                self.refuse(f"`{name}` of the class {cls.__qualname__}", "finds attributes by code of its own", where)
        if "__array__" in scope:
            for name in _OF_ARRAYS:
                self.name(name, site)
        for function in _REGISTERED.get(cls, ()):
            self.reached(function, f"how a {cls.__qualname__} is taken apart", site)
        self._of_classes[id(cls)] = self.space(scope, f"the class {cls.__qualname__}", site)

    # -- what code names -----------------------------------------------------------------------------------------
    def name(self, name: str, site: Site) -> None:
        """Note an attribute that code names."""
        self._names.setdefault(name, site)
        if name == "__class__":
            self._construct(site)
        elif name in _ALL_ATTRIBUTES:
            self.every = True
        elif name in _INSIDE:
            self.refuse(f"`{name}`", "shows the inside of functions and frames", site)

    def read(self, function: FunctionType, read: Read, site: Site) -> None:
        """Look up what one place in the code of a function reads; `site` is where the user knows it."""
        code, scope = function.__code__, function.__globals__
        if read.root == "module":
            self._imported(read, scope, site)
            return
        if read.root == "global":
            said = f"the global `{read.name}` of {os.path.basename(code.co_filename)}"  # noqa: PTH119
            value = self.item(scope, read.name, said)
            if value is NOTHING:
                said = f"the built-in `{read.name}`"
                value = self.item(cast(Any, function).__builtins__, read.name, said)
        elif read.name in code.co_freevars:
            value = contents_of((function.__closure__ or ())[code.co_freevars.index(read.name)])
            said = f"the variable `{read.name}` of {function.__qualname__}"
            if read.name == "__class__" and issubclass(type(value), type):  # for super()
                self.look_at_class(value, site)
                return
        else:  # a variable of the function itself, which functions in it read
            self._note(read.steps, site)
            return
        self._follow(value, said, read, site)

    def _imported(self, read: Read, scope: Mapping[str, Any], site: Site) -> None:
        """Look up a module that is imported when the function runs, and what is taken from it."""
        found = [*modules_named(read.name, read.level, scope)]
        for name in found[:1] if read.steps else found:
            value = self.item(sys.modules, name, f"the module {name}")
            self._follow(value, f"the module {name}", read, site)

    def _note(self, steps: Iterable[Attribute | Key], site: Site) -> None:
        for step in steps:
            if isinstance(step, Attribute):
                self.name(str(step), site)

    def _follow(self, x: Any, said: str, read: Read, site: Site) -> None:
        """Follow the steps that code takes at once; from there on the object may go anywhere."""
        for nr, step in enumerate(read.steps):
            if x is NOTHING:
                return
            if isinstance(step, Attribute) and is_module(x):
                said, x = f"`{step}` of {named(x)}", self._of_module(x, str(step), site)
            elif isinstance(step, Key) and type(x) is dict and type(step.key) in CONSTANTS:
                said = f"the item {shown(step.key)} of {said}"
                x = self.item(x, step.key, said)
            else:
                self._note(read.steps[nr:], site)
                if isinstance(step, Attribute) and type(x) is FunctionType:
                    self.space(x.__dict__, said, site)
                if isinstance(step, Attribute) and issubclass(type(x), type) and not is_librarys_class(x):
                    self.look_at_class(x, site)
                    return
                break
        if x is not NOTHING:
            self.escaped(x, said, site, read)

    def _of_module(self, module: Any, name: str, site: Site) -> Any:
        """The attribute of a module, which is watched."""
        scope, said = object.__getattribute__(module, "__dict__"), f"`{name}` of {named(module)}"
        self.namespaces[id(scope)] = scope
        if name not in scope:
            if is_librarys_module(module):  # some make it when it is first asked for
                value = getattr(module, name, NOTHING)
                if name not in scope:
                    return value
            elif "__getattr__" in scope:
                self.refuse(said, "is found by code of the module's own", site)
        return self.item(scope, name, said)

    def escaped(self, x: Any, said: str, site: Site, read: Read | None = None) -> None:
        """Note an object that code has in hand, and may give to others."""
        if type(x) is BuiltinFunctionType and x in _ASKING:
            if read is None or read.asked is None:
                self.refuse(said, "is asked for an attribute whose name is not written in the code", site)
            else:
                self.name(read.asked, site)
                self.asks = True
        elif issubclass(type(x), type):
            given = read is None or read.given
            if x is type and given:
                self._construct(site)
            self.look_at_class(x, site, constructed=given)
        else:
            self.reached(x, said, site)

    def of_library(self, x: Any, said: str, site: Site) -> None:
        """Note a function, a class or an object of a library, which is not looked into."""
        why = UNSEEN.get(x) if type(x) is BuiltinFunctionType else None
        if tells(x):
            self.told[Refusal(said, "tells somebody something", *site)] = None
        elif why := why or outside(x):
            self.refuse(said, why, site)
        elif not is_discreet(x):
            self.every = True


def _is_generated(function: Any) -> bool:
    """True if `dataclasses` has written a method."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return type(function) is FunctionType and code is not None and code.co_filename == "<string>"


def _calls_its_class(method: Any) -> bool:
    code = getattr(method.__func__, "__code__", None)
    return code is None or reads_of(code).gives_first


def _matters(names: frozenset[str], space: _Space, name: Any) -> bool:
    return name in names or space.matters(name)


def named(module: ModuleType) -> str:
    """The name of a module, for a message."""
    return f"the module {object.__getattribute__(module, '__dict__').get('__name__')}"
