"""The things that functions which run again in backward read besides their arguments, as it was when they were given.

A callback finds parameters in its closure, in defaults, in globals of its module, in the object whose method it is.
When it runs again, a loop variable has moved on, a name stands for something else, an array has been written into. So
what is reachable is recorded at the call: by reference, because a number cannot change, and the contents of arrays, as
a node keeps those that it saves. Before the functions run again it is looked at once more. Where nothing has changed
they run as they are. Else copies run, of all that leads to a change, which hold what was there before.

An object may be reached in several ways: by a back reference, a bound method, a second name. All lead to one copy.
"""

from __future__ import annotations

import contextvars
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from types import CellType, FunctionType
from typing import Any

from pullback.core import modes
from pullback.core.array_face import ARRAYS, plain_until, wrap_array, wrap_as
from pullback.core.array_type import CONSTANTS
from pullback.core.errors import type_name
from pullback.core.tensor import Tensor, ndarray
from pullback.explain.call_site import is_users_file
from pullback.graph.held_copies import Copies
from pullback.graph.held_objects import (
    LEAVES,
    Place,
    Whole,
    attributes_of,
    is_of_library,
    is_users_class,
    is_users_module,
    items_of,
    names_in,
    numbers_in,
    places_of,
)
from pullback.graph.held_records import NOTHING, Contents, Held, at_its_place, owner_of
from pullback.graph.likeness import likeness
from pullback.graph.read_later import names_of
from pullback.graph.saved import checked, version_when_saved

# Whether any array that functions hold may be one that they write into: nothing is known of it yet.
every_array_records: contextvars.ContextVar[bool] = contextvars.ContextVar("pullback_buffers", default=False)


class Captured(Whole):
    """Functions, and what they read at the call.

    Parameters
    ----------
    name : str
        Of the call, for errors.
    *functions
        Those that run again, or containers of them; anything else may stand among them.
    recorded : bool, default False
        True if they run on what is differentiated at the call already, as in a checkpoint, and not on plain numbers.

    Attributes
    ----------
    has_effects : bool
        Whether the functions have changed something when they ran for the first time, such as a counter or a log.
    functions : tuple
        The functions to call: as they were given, or what `renew` has put in their place.
    held_tensors, tensors : list of Tensor
        All that were found, each once; those among them that are arguments.
    """

    _extra = None  # as of a node, whose part it plays in errors about tensors

    def __init__(self, name: str, *functions: Any, recorded: bool = False) -> None:
        self.recorded, self.has_effects = recorded, False
        self._name, self._given, self.functions = name, functions, functions
        self.held_tensors: list[Tensor] = []
        self.tensors: list[Tensor] = []
        self._records: dict[int, Held] = {}
        self._parents: dict[int, list[int]] = {}
        self._readers: list[tuple[int, int, Collection[str]]] = []  # of (a scope, these names)
        self._arrays: list[ndarray] = []
        self._contents: list[tuple[Contents, list[Any]]] = []  # and of which arrays, or tensor, these are
        self._versions: list[tuple[Tensor, Any]] = []
        self._classes: list[type] = []
        self.buffers: dict[int, Contents] = {}
        self._copies: dict[int, Held] = {}  # what functions run on before they have settled, as it was made
        self.read_later: list[str] = []  # variables with numbers left behind in them, that cannot be given a mark
        self.at_stake: Sequence[Tensor] = ()
        self.samples = 0  # of a batch, on which the functions have run one after the other
        self._kept = self._settled = self._left = self.derived = False
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
            if not (issubclass(kind, type) and is_users_class(part)):
                return
            self._records[here] = Held(part, {}, {}, True)
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
        elif here not in self._records and not (kind is FunctionType and is_of_library(part)):
            self._todo.append(part)

    def _record(self, x: Any) -> None:
        here, attributes = id(x), {name: (part, setter) for name, part, setter in attributes_of(x)}
        held = self._records[here] = Held(x, items_of(x), attributes, False)
        if isinstance(x, FunctionType) and is_users_file(x.__code__.co_filename):
            self._record_globals(x)
        for part in held.parts():
            self._note(part, here)
        self._note(type(x), here)

    def _record_globals(self, function: FunctionType) -> None:
        """Record the globals that a user's function reads, also by `module.name`."""
        scope, (reads, names) = function.__globals__, names_in(function.__code__)
        self._names |= names
        found = [scope.get(name) for name in reads]
        found += [part for cell in function.__closure__ or () for part in items_of(cell)]
        for module in filter(is_users_module, found):
            self._records.setdefault(id(module), Held(module, {}, {}, True))
            self._record_names(vars(module), names, id(module))
        self._record_names(scope, reads, id(function))

    def _record_names(self, scope: dict[str, Any], names: Collection[str], parent: int) -> None:
        """Record the globals of these names, which a function or a module with such attributes leads to."""
        here = id(scope)
        held = self._records.setdefault(here, Held(scope, {}, {}, True))
        self._readers.append((parent, here, names))
        for name in names:
            if name not in held.items:
                held.items[name] = scope.get(name, NOTHING)
            if (part := held.items[name]) is not NOTHING:
                self._note(part, here)
                self._note(part, parent)

    def _look_into_classes(self) -> bool:
        """Record what functions may read of the users' classes, by name; True if there is something new."""
        for cls in self._classes:
            held = self._records[id(cls)]
            scope = held.scope
            for name, part in [*scope.items(), *((name, NOTHING) for name in self._names if name not in scope)]:
                implicit = name.startswith("__") and isinstance(part, FunctionType)  # as by an operator
                if (implicit or name in self._names) and name not in held.items:
                    held.items[name] = part
                    if part is not NOTHING:
                        self._note(part, id(cls))
        return bool(self._todo)

    def keep(self, spared: Sequence[Tensor] = ()) -> None:
        """Keep the contents of arrays and the versions of tensors, except those that others look after."""
        self._kept, self.at_stake = True, spared
        by_owner: dict[int, list[ndarray]] = {}
        for x in self._arrays:
            by_owner.setdefault(id(owner_of(x)), []).append(x)
        for arrays in by_owner.values():
            owner = owner_of(arrays[0])
            if len(arrays) > 1 and owner.flags.forc:  # they go on to share their memory
                self._contents.append((Contents(owner), arrays))
            else:
                self._contents += [(Contents(x), [x]) for x in arrays]
        known = set(map(id, spared))
        for tensor in self.held_tensors:
            if id(tensor) in known:
                continue
            if (numbers := _numbers_alone(tensor)) is not None:
                self._contents.append((Contents(numbers), [tensor]))
            else:
                self._versions.append((tensor, version_when_saved(tensor)))

    def settle(self) -> None:
        """Let go of what the functions have changed by themselves, once they have run for the first time.

        A counter and a log stay theirs. Numbers that they have put somewhere are those of a run on plain numbers: as a
        cache, these would hide the derivative. So what holds such is as it was when the functions run again.
        """
        if self._settled or not self._kept:
            return
        self._settled = True
        self._take_back()
        self._note_buffers()
        self.has_effects = bool(self.buffers)
        for held in self._records.values():
            changes = held.changes()
            self.has_effects = self.has_effects or bool(changes)
            held.own |= {name for name in changes if self.recorded or not held.has_numbers(name)}
        self._versions = [(x, version) for x, version in self._versions if version_when_saved(x) == version]

    def has_changed(self) -> bool:
        """True if the functions have changed something since the call, or if nobody knows: nothing has been kept."""
        if not self._kept:
            return True
        return any(held.changes() for held in self._records.values()) or any(
            _has_changed(contents, arrays) for contents, arrays in self._contents
        )

    def is_alone(self) -> bool:
        """True if the functions hold no tensors but those that are given as arguments when they run."""
        return len(self.held_tensors) == len(self.tensors)

    def namespaces(self) -> list[dict[str, Any]]:
        """The globals of the functions that are known to be read."""
        holders = [held.holder for held in self._records.values()]
        return list({id(x.__globals__): x.__globals__ for x in holders if isinstance(x, FunctionType)}.values())

    def likeness(self) -> Hashable | None:
        """A value that is equal for functions that do the same with other tensors for theirs; None if none tells.

        So it is where something has changed since, and copies run.
        """
        if not self._kept or self.functions is not self._given:
            return None
        return likeness(self._given, self._records, self.tensors)

    def _note_buffers(self) -> None:
        """Note the arrays into which the functions have written numbers."""
        self.buffers |= {here: x for here, x, changed in self._arrays_of_one_holder() if changed}

    def _arrays_of_one_holder(self) -> Iterator[tuple[int, Contents, bool]]:
        for contents, (x, *others) in self._contents:
            plain = type(x) is ndarray or type(x) in ARRAYS
            if not others and plain and x.dtype.kind in "fc" and contents.is_copy():
                yield id(x), contents, _has_changed(contents, [x])

    def recording(self) -> dict[int, Any]:
        """For each such array one that records, in its place, if the functions are to run on what records."""
        level = modes.current().level
        if every_array_records.get():
            self.buffers = {here: x for here, x, _ in self._arrays_of_one_holder()}
        if not self.buffers or level <= plain_until.get():
            return {}
        return {here: wrap_array(contents.again(self._name), level) for here, contents in self.buffers.items()}

    def _take_back(self) -> None:
        """Let the user's objects have what the functions have written into copies of them."""
        originals = {id(made.holder): self._records[here].holder for here, made in self._copies.items()}

        def original(x: Any) -> Any:
            return originals.get(id(x), x)

        for here, made in self._copies.items():
            for name in made.changes():
                if made.of_module:
                    now: Any = original(made.scope.get(name, NOTHING))
                elif name is None:
                    now = items_of(made.holder)
                    as_dict = isinstance(now, dict)
                    now = {key: original(x) for key, x in now.items()} if as_dict else [*map(original, now)]
                else:
                    now = original(getattr(made.holder, name, None))
                self._records[here].put(name, now)
        self._copies = {}

    def left_behind(self) -> Iterator[Place]:
        """(a name, a number or an array, how to replace it) of what functions have put somewhere, or written into."""
        seen: set[int] = set()
        for found in self._left_somewhere():
            yield from numbers_in(*found, seen)

    def _left_somewhere(self) -> Iterator[Place]:
        for here, held in self._records.items():
            for name, x, put in held.left():
                yield self._said(here, name), x, put
        for contents, arrays in self._contents:
            if contents.is_copy() and _has_changed(contents, arrays):  # to run again with a large one is refused
                for x in arrays:
                    if not isinstance(x, Tensor) and x.dtype.kind in "fc" and self._note_read_later(x):
                        continue  # a mark in one place would part it from the others
                    for here in self._parents.get(id(x), ()):
                        held = self._records[here]
                        for name, part, put in () if held.of_module else _places(held.holder):
                            if part is x:
                                yield self._said(here, name), x, put

    def _note_read_later(self, x: ndarray) -> bool:
        parents = self._parents.get(id(x), ())
        cell = self._variable(parents[0]) if len(parents) == 1 else None  # that can be given a mark
        names = [*names_of(x, cell)]
        self.read_later += names
        return bool(names)

    def _said(self, here: int, name: Any) -> str:
        """By which name a user knows a place."""
        holder = self._records[here].holder
        if isinstance(name, str) and not isinstance(holder, dict):
            return f"the attribute {name!r} of a {type_name(holder)}"
        if isinstance(holder, CellType) or self._records[here].of_module:
            return repr(self._variable(here) if name is None else name)
        variables = (self._variable(parent) for parent in self._parents.get(here, ()))
        whose = next(filter(None, variables), f"a {type_name(holder)}")
        return f"{whose}[{name!r}]"

    def _variable(self, here: int) -> str | None:
        """The variable whose cell this is."""
        cell = self._records[here].holder
        for parent in self._parents.get(here, ()):
            function = self._records[parent].holder
            if isinstance(function, FunctionType) and isinstance(cell, CellType):
                for name, x in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                    if x is cell:
                        return name
        return None

    # -- before the functions run again ------------------------------------------------------------------------------
    def given(self) -> tuple[Any, ...]:
        """The functions, as they are to run now."""
        buffers = self.recording()
        return self._copied(buffers) if buffers else self.functions

    def renew(self, for_sample: bool = False) -> tuple[Any, ...]:
        """The functions, which read from now on what they read at the call; `for_sample`: the call still goes on."""
        self.derived = self.derived or not for_sample
        if not self._kept or (self.recorded and not self._settled):  # the call is under way
            return self.functions
        self.settle()
        if for_sample:
            self._note_buffers()
        for tensor, version in self._versions:
            checked(tensor, version, self, restore=False)  # type: ignore[arg-type]
        self._restored = {}
        for contents, arrays in self._contents:
            if _has_changed(contents, arrays):
                owner, memory = contents.array, contents.again(self._name)
                for x in arrays:
                    of_tensor = isinstance(x, Tensor)
                    made = wrap_as(x, memory, x._level) if of_tensor else at_its_place(x, owner, memory)
                    self._restored[id(x)] = made
        changes = {here: names for here, held in self._records.items() if (names := held.changes())}
        readers = (who for who, scope, names in self._readers if not changes.get(scope, set()).isdisjoint(names))
        self._changed = [*changes, *readers]
        self.functions = self._copied({}) if self._changed or self._restored else self._given
        return self.functions

    def begin(self) -> None:
        """The functions run, once more for the next of several samples: each begins as the call did."""
        if self.samples:
            self.renew(for_sample=True)
        self.samples += not self.derived

    def leaves(self) -> bool:
        """True if the call is over with this, so that its caller sees what functions have left behind."""
        self.settle()
        left, self._left = self._left, True
        return self._settled and not left

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
        copies = Copies(self._name, self._records, leads, {**self._restored, **replaced})
        made = copies.of(self._given)
        if not self._settled:
            self._take_back()
            self._copies = {here: self._records[here].again(x) for here, x in copies.copies.items()}
        return made  # type: ignore[no-any-return]


def _numbers_alone(x: Any) -> ndarray | None:
    """The numbers of a tensor that is in no graph, of any level."""
    while isinstance(x, Tensor) and not x._requires_grad:
        x = x._array
    return x if type(x) is ndarray else None


def _has_changed(contents: Contents, arrays: Sequence[Any]) -> bool:
    """True if something else is in these arrays, or if a tensor among them is around another."""
    return contents.has_changed() or any(
        isinstance(x, Tensor) and _numbers_alone(x) is not contents.array for x in arrays
    )


def _places(x: Any) -> Iterator[Place]:
    yield from places_of(x)
    for name, part, setter in attributes_of(x):
        yield name, part, partial(setter, x)
