"""What functions that run again in backward read besides their arguments, as it was when they were given.

A callback finds parameters in its closure, in defaults, in globals of its module, in the object whose method it is.
When it runs again, a loop variable has moved on, a name stands for something else, an array has been written into. So
what is reachable is recorded at the call: by reference, because a number cannot change, and the contents of arrays, as
a node keeps those that it saves. Before the functions run again it is looked at once more. Where nothing has changed
they run as they are. Else copies run, of all that leads to a change, which hold what was there before.

An object may be reached in several ways: by a back reference, a bound method, a second name. All lead to one copy.
"""

from __future__ import annotations

import dis
import functools
import sys
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from operator import is_
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from pullback.core.array_face import wrap_as
from pullback.core.array_type import CONSTANTS
from pullback.core.call_site import is_users_file
from pullback.core.errors import GradientError, type_name
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.saved import Fingerprint, checked, version_when_saved
from pullback.graph.snapshot import MANY, copy_of

LEAVES = (
    np.ndarray, np.generic, Tensor, str, bytes, bytearray, int, float, complex, type, ModuleType, type(None), range,
    slice,
)  # fmt: skip
_BUILTIN = (BuiltinFunctionType, MethodWrapperType)  # array.dot among them, a method of what it holds
IMMUTABLE = (tuple, frozenset, MethodType, *_BUILTIN, functools.partial, weakref.ref)
_CONTAINERS = (dict, list, tuple, set, frozenset, deque, SimpleNamespace, FunctionType, CellType, MethodType)
_NO_DERIVATIVE = "so that the derivative would be that of another function."


# -- what an object holds ---------------------------------------------------------------------------------------------
def items_of(x: Any) -> tuple[Any, ...] | dict[Any, Any]:
    """What a container, a function, a method holds, besides attributes."""
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, (list, tuple, set, frozenset, deque)):
        return tuple(x)
    if isinstance(x, FunctionType):
        return x.__closure__ or ()
    if isinstance(x, MethodType):
        return x.__func__, x.__self__
    if isinstance(x, _BUILTIN):
        return () if x.__self__ is None or isinstance(x.__self__, (ModuleType, type)) else (x.__self__,)
    if isinstance(x, functools.partial):
        return x.func, x.args, x.keywords
    if isinstance(x, weakref.ref):
        return (x(),)
    if isinstance(x, (staticmethod, classmethod)):
        return (x.__func__,)
    if isinstance(x, property):
        return x.fget, x.fset, x.fdel
    if isinstance(x, CellType):
        try:
            return (x.cell_contents,)
        except ValueError:  # not filled yet
            return ()
    return tuple(x.flat) if isinstance(x, ndarray) and x.dtype == object else ()


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
    for name, slot in _slots(type(x)):
        try:
            yield name, slot.__get__(x), slot.__set__
        except AttributeError:  # not set
            continue


@functools.lru_cache(maxsize=1024)
def _slots(kind: type) -> list[tuple[str, MemberDescriptorType]]:
    homes = [vars(cls) for cls in kind.__mro__ if "__slots__" in vars(cls)]
    slots = [(name, slot) for home in homes for name, slot in home.items() if type(slot) is MemberDescriptorType]
    return [(name, slot) for name, slot in slots if name != "__weakref__"]


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
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, MethodType):
        return MethodType(*parts)
    return weakref.ref(parts[0]) if isinstance(x, weakref.ref) else getattr(parts[0], x.__name__)


@functools.lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """(the globals that code reads, the attributes)."""
    reads, names = set(), set(code.co_names)
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            reads.add(instruction.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, others = _names_in(inner)
            reads |= more
            names |= others
    return frozenset(reads), frozenset(names)


@functools.lru_cache(maxsize=1024)
def _is_watched(kind: type) -> bool:
    """Whether whatever objects of this class hold may be a parameter: those of other libraries hold caches too."""
    if issubclass(kind, (*_CONTAINERS, *IMMUTABLE)) or kind.__module__.partition(".")[0] in ("numpy", "scipy"):
        return True
    return _is_users_class(kind)


@functools.lru_cache(maxsize=1024)
def _is_users_class(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ == "__main__" or (file is not None and is_users_file(file))


def _is_users_module(x: Any) -> bool:
    return isinstance(x, ModuleType) and is_users_file(getattr(x, "__file__", None) or "<frozen ")


# -- the record -------------------------------------------------------------------------------------------------------
class _Held:
    """What an object held at the call; of a module's globals, those that functions read.

    What the functions themselves change while they run, a counter, a log, a cache, is their `own`: it stays shared.
    """

    __slots__ = ("attributes", "holder", "items", "of_module", "own")

    def __init__(self, holder: Any, items: Any, attributes: Mapping[str, tuple[Any, Any]], of_module: bool) -> None:
        self.holder, self.items, self.attributes, self.of_module = holder, items, attributes, of_module
        self.own: set[str | None] = set()  # names of attributes or globals; None stands for all items

    def changes(self) -> set[str | None]:
        """The names under which there is something else now, None for items."""
        if self.of_module:
            return {name for name, x in self.items.items() if not _alike(self.holder.get(name, _NOTHING), x)} - self.own
        now = {name: x for name, x, _ in attributes_of(self.holder)}
        before = {name: x for name, (x, _) in self.attributes.items()}
        found: set[str | None] = {
            name for name in now | before if not _alike(now.get(name, _NOTHING), before.get(name, _NOTHING))
        }
        if not _is_watched(type(self.holder)):
            return {name for name in found - self.own if isinstance(before.get(name), (ndarray, Tensor))}
        return (found if _same(self.items, items_of(self.holder)) else found | {None}) - self.own

    def parts(self) -> Iterator[Any]:
        """What it held."""
        yield from self.items.values() if isinstance(self.items, dict) else self.items
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
    """Whether two objects are one, or the same number other than 0, which has two signs."""
    return a is b or (type(a) is type(b) and type(a) in (int, float, str) and bool(a) and bool(a == b))


_NOTHING = object()


class _Contents:
    """What was in an array: a copy, which all share for whom it had the same contents; or a fingerprint."""

    __slots__ = ("array", "before")

    def __init__(self, array: ndarray) -> None:
        self.array = self.before = array
        if not array.flags.writeable and not isinstance(array.base, ndarray):
            return
        if array.size > MANY and array.flags.forc:
            self.before = Fingerprint(array)
            return
        last = _copies.get(id(array))
        if last is None or last.dtype != array.dtype or not np.array_equal(last, array):
            last = _copies[id(array)] = copy_of(array)
        self.before = last

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
            f"call, {_NO_DERIVATIVE} Pass it as an argument, or give the function a copy of its own."
        )


_copies: weakref.WeakValueDictionary[int, ndarray] = weakref.WeakValueDictionary()


def _equal(a: ndarray, b: ndarray) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM"))


def _owner(array: ndarray) -> ndarray:
    """The ndarray in whose memory `array` lies."""
    while isinstance(array.base, ndarray):
        array = array.base
    return array


def _at_its_place(x: ndarray, owner: ndarray, memory: ndarray) -> ndarray:
    """What `memory` shows where `x` shows that of its owner."""
    if x is owner:
        return memory
    offset = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return ndarray(x.shape, x.dtype, memory, offset, x.strides)


class Captured:
    """Functions, and what they read at the call.

    Parameters
    ----------
    name : str
        Of the call, for errors.
    *functions
        Those that run again, or containers of them; anything else may stand among them.
    with_globals : bool
        Whether the globals that they read count too.

    Attributes
    ----------
    functions : tuple
        The functions to call: as they were given, or what `renew` has put in their place.
    held_tensors : list of Tensor
        All that were found, each once.
    """

    _extra = None  # as of a node, whose part it plays in errors about tensors

    def __init__(self, name: str, *functions: Any, with_globals: bool = True) -> None:
        self._name, self._given, self.functions = name, functions, functions
        self._with_globals = with_globals
        self.held_tensors: list[Tensor] = []
        self._records: dict[int, _Held] = {}
        self._parents: dict[int, list[int]] = {}
        self._arrays: list[ndarray] = []
        self._contents: list[tuple[_Contents, list[Any]]] = []  # and of which arrays, or tensor, these are
        self._versions: list[tuple[Tensor, Any]] = []
        self._classes: list[type] = []
        self._kept = self._settled = False
        self._walk(functions)

    def name(self) -> str:
        """The name by which errors refer to it."""
        return self._name

    def _walk(self, whole: Any) -> None:
        self._todo, self._seen = [whole], {id(whole)}
        self._names: set[str] = set()
        while self._todo or self._look_into_classes():
            self._record(self._todo.pop())

    def _note(self, part: Any, parent: int) -> None:
        """Note what an object holds, to be recorded unless nobody can change it."""
        kind, here = type(part), id(part)
        if kind in CONSTANTS and kind is not ndarray:  # of long lists
            return
        if issubclass(kind, LEAVES) and not issubclass(kind, (ndarray, Tensor)) and here not in self._records:
            if not (issubclass(kind, type) and _is_users_class(part) and self._with_globals):
                return
            self._records[here] = _Held(vars(part), {}, {}, True)
            self._classes.append(part)
            for base in part.__mro__[1:]:
                self._note(base, here)
        self._parents.setdefault(here, []).append(parent)
        if here in self._seen:
            return
        self._seen.add(here)
        if issubclass(kind, Tensor):
            self.held_tensors.append(part)
        elif issubclass(kind, ndarray) and part.dtype != object:
            if not part.dtype.hasobject:
                self._arrays.append(part)
        elif here not in self._records:
            self._todo.append(part)

    def _record(self, x: Any) -> None:
        here, attributes = id(x), {name: (part, setter) for name, part, setter in attributes_of(x)}
        held = self._records[here] = _Held(x, items_of(x), attributes, False)
        if self._with_globals and isinstance(x, FunctionType) and is_users_file(x.__code__.co_filename):
            self._record_globals(x)
        for part in held.parts():
            self._note(part, here)
        self._note(type(x), here)

    def _record_globals(self, function: FunctionType) -> None:
        """Record the globals that a user's function reads, also by `module.name`."""
        scope, (reads, names) = function.__globals__, _names_in(function.__code__)
        self._names |= names
        found = [scope.get(name) for name in reads]
        found += [part for cell in function.__closure__ or () for part in items_of(cell)]
        for module in filter(_is_users_module, found):
            self._records.setdefault(id(module), _Held(module, {}, {}, True))
            self._record_names(vars(module), names, id(module))
        self._record_names(scope, reads, id(function))

    def _record_names(self, scope: dict[str, Any], names: Collection[str], parent: int) -> None:
        here = id(scope)
        held = self._records.setdefault(here, _Held(scope, {}, {}, True))
        self._parents.setdefault(here, []).append(parent)
        for name in names:
            if name in scope and name not in held.items:
                held.items[name] = scope[name]
                self._note(scope[name], here)

    def _look_into_classes(self) -> bool:
        """Record what functions may read of the users' classes, by name; whether there was anything to be recorded."""
        for cls in self._classes:
            held = self._records[id(cls)]
            for name, part in list(held.holder.items()):
                implicit = name.startswith("__") and isinstance(part, FunctionType)  # as by an operator
                if (implicit or name in self._names) and name not in held.items:
                    held.items[name] = part
                    self._note(part, id(cls))
        return bool(self._todo)

    def keep(self, spared: Sequence[Tensor] = ()) -> None:
        """Keep the contents of arrays and the versions of tensors, except those that others look after."""
        self._kept = True
        by_owner: dict[int, list[ndarray]] = {}
        for x in self._arrays:
            by_owner.setdefault(id(_owner(x)), []).append(x)
        for arrays in by_owner.values():
            owner = _owner(arrays[0])
            if len(arrays) > 1 and owner.flags.forc:  # they go on to share their memory
                self._contents.append((_Contents(owner), arrays))
            else:
                self._contents += [(_Contents(x), [x]) for x in arrays]
        known = set(map(id, spared))
        for tensor in self.held_tensors:
            if id(tensor) in known:
                continue
            if type(tensor._array) is ndarray and not tensor._requires_grad:
                self._contents.append((_Contents(tensor._array), [tensor]))
            else:
                self._versions.append((tensor, version_when_saved(tensor)))

    def settle(self) -> None:
        """Let go of what the functions have changed by themselves, once they have run for the first time."""
        if self._settled or not self._kept:
            return
        self._settled = True
        for held in self._records.values():
            held.own |= held.changes()
        self._contents = [(contents, arrays) for contents, arrays in self._contents if not contents.has_changed()]
        self._versions = [(x, version) for x, version in self._versions if version_when_saved(x) == version]

    # -- before the functions run again ------------------------------------------------------------------------------
    def renew(self) -> tuple[Any, ...]:
        """The functions, which read from now on what they read at the call."""
        if not self._settled:  # the call is under way
            return self.functions
        for tensor, version in self._versions:
            checked(tensor, version, self, restore=False)  # type: ignore[arg-type]
        self._restored = {}
        for contents, arrays in self._contents:
            if contents.has_changed():
                owner, memory = contents.array, contents.again(self._name)
                for x in arrays:
                    of_tensor = isinstance(x, Tensor)
                    made = wrap_as(x, memory, x._level) if of_tensor else _at_its_place(x, owner, memory)
                    self._restored[id(x)] = made
        self._changed = [here for here, held in self._records.items() if held.changes()]
        self.functions = self._copied({}) if self._changed or self._restored else self._given
        return self.functions

    _restored: Mapping[int, Any] = {}
    _changed: Sequence[int] = ()

    def _copied(self, replaced: Mapping[int, Any]) -> tuple[Any, ...]:
        """The functions as they were, with these objects in the place of others, by identity."""
        leads: set[int] = set()
        for ids, through in (([*self._changed, *self._restored], False), ([*replaced], True)):
            while ids:
                here = ids.pop()
                held = self._records.get(here)
                if here not in leads and (through or held is None or None not in held.own):
                    leads.add(here)
                    ids += self._parents.get(here, ())
            if not through and (cls := next((c for c in self._classes if id(c) in leads), None)):
                raise _refusal(
                    self._name,
                    f"what the class {cls.__qualname__} has for all of its objects, or a global "
                    "that a method of it reads,",
                )
        replaced = {**self._restored, **replaced}
        return _Copies(self._name, self._records, leads, replaced).of(self._given)  # type: ignore[no-any-return]


def _refusal(name: str, what: str) -> GradientError:
    return GradientError(
        f"{name}: {what} has changed since the call. The function reads it and runs again, but it cannot be copied, "
        f"{_NO_DERIVATIVE} Pass what the function reads of it as an argument."
    )


class _Copies:
    """Copies of objects that lead to something else than what is there now."""

    def __init__(self, name: str, records: Mapping[int, _Held], leads: set[int], replaced: Mapping[int, Any]) -> None:
        self.name, self.records, self.leads, self.replaced = name, records, leads, replaced
        self.copies: dict[int, Any] = {}
        self.modules: dict[int, ModuleType] = {}  # in whose dicts copied globals are
        self.todo: list[tuple[_Held, Any]] = []

    def of(self, x: Any) -> Any:
        """The copy, or `x` itself where it does not lead to a change."""
        made = self._copied(x)
        while self.todo:
            self._fill(*self.todo.pop())
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

    def _shell(self, held: _Held) -> Any:
        """A copy that is yet to hold copies."""
        x = held.holder
        if isinstance(x, ModuleType):
            self._copied(vars(x))
            return self.modules[id(vars(x))]
        if held.of_module:
            module = self.modules[id(x)] = ModuleType(x.get("__name__", ""))
            vars(module).update(x)
            return vars(module)
        if isinstance(x, CellType):
            return CellType()
        if isinstance(x, FunctionType):
            cells = tuple(map(self._copied, held.items)) or None
            made = FunctionType(x.__code__, self._copied(x.__globals__), x.__name__, None, cells)
            made.__qualname__, made.__doc__, made.__module__ = x.__qualname__, x.__doc__, x.__module__
            return made
        return self._copy(x)

    def _copy(self, x: Any) -> Any:
        try:
            made, why = copy(x), None
        except Exception as error:  # noqa: BLE001 - whatever a class makes of being copied
            made, why = x, error
        if made is not x:
            return made
        raise _refusal(self.name, f"an object of type {type_name(x)}, or what it holds,") from why

    def _fill(self, held: _Held, made: Any) -> None:
        x, items = held.holder, held.items_then()
        if held.of_module:
            if isinstance(made, dict):
                made.update({name: self._copied(part) for name, part in items.items()})
            return
        if isinstance(x, dict):
            dict.clear(made)
            dict.update(made, {key: self._copied(part) for key, part in items.items()})
        elif isinstance(x, (list, deque)):
            made.clear()
            made.extend(map(self._copied, items))
        elif isinstance(x, ndarray):
            for i, part in enumerate(items):
                made.reshape(-1)[i] = self._copied(part)
        elif isinstance(x, set):
            made.clear()
            made.update(map(self._copied, items))
        elif isinstance(x, CellType) and items:
            made.cell_contents = self._copied(items[0])
        for name, _, _ in list(attributes_of(made)):
            if name not in held.attributes and name not in held.own and _is_watched(type(x)):
                delattr(made, name)
        for name, (part, setter) in held.attributes.items():
            if name not in held.own:
                setter(made, self._copied(part))
