"""Loads or makes things when they are first asked for: functions in tables, attributes of classes.

Until then something else stands in its place, which is replaced: later calls find the thing itself, at no cost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, MutableMapping
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Any, TypeVar

V = TypeVar("V")


def stand_in(functions: MutableMapping[str, Any], names: Iterable[str], load: Callable[[], None]) -> None:
    """Enter, under these names, what calls `load`, which must enter the functions, and then the function."""
    functions.update({name: partial(_load_and_call, functions, name, load) for name in names})


def _load_and_call(
    functions: MutableMapping[str, Any], name: str, load: Callable[[], None], /, *args: Any, **kwargs: Any
) -> Any:
    load()
    return functions[name](*args, **kwargs)


def ready(function: Any) -> Any:
    """The function itself for what stands in for it; for those who keep it."""
    while type(function) is partial and function.func is _load_and_call:
        functions, name, load = function.args
        load()
        function = functions[name]
    return function


class LateDict(dict[str, V]):
    """A dict of what is loaded. Who asks for another key has it loaded first, if it can be; who lists does not."""

    def __init__(self) -> None:
        super().__init__()
        self.load: Callable[[str], None] = lambda key: None  # enters the key, if there is such a thing

    def __missing__(self, key: str) -> V:
        self.load(key)
        if key not in self.keys():  # which asks for nothing
            raise KeyError(key)
        return self[key]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or `default` if there is no such thing."""
        try:
            return self[key]
        except KeyError:
            return default


def from_module(module: str, name: str) -> Any:
    """Return what a module that may have to be imported has under this name."""
    return getattr(import_module(module), name)


def calling(module: str, name: str) -> Callable[..., Any]:
    """A function that calls one of another module, which is imported by the first call; for what is called seldom."""

    def call(*args: Any) -> Any:
        return from_module(module, name)(*args)

    return call


def caller() -> FrameType:
    """The frame that called the method which asks; the stand-in of a `late_method` at its first call does not count."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def late_method(owner: type, name: str, make: Callable[..., Any], *args: Any) -> None:
    """Give a class a method that stands in until it is first called.

    To look it up is not to make it, as for a `LateAttribute`: NumPy's C code drops what is raised where it looks for a
    method (a signal's exception, say), and takes it for missing.

    Parameters
    ----------
    owner : class
    name : str
    make : function (*args) -> the method
    """

    def call(self: Any, /, *given: Any, **keywords: Any) -> Any:
        made = make(*args)
        if vars(owner).get(name) is call:
            setattr(owner, name, made)
        return made(self, *given, **keywords)

    call.__name__, call.__qualname__ = name, f"{owner.__name__}.{name}"
    setattr(owner, name, call)


class LateAttribute:
    """Stands for an attribute of a class until it is first asked for, be it only for its documentation.

    Parameters
    ----------
    owner : class
        It gets this attribute.
    name : str
    make : function (*args) -> the attribute
        May be called more than once where threads ask at the same time.
    """

    __slots__ = ("args", "make", "name", "owner")

    def __init__(self, owner: type, name: str, make: Callable[..., Any], *args: Any) -> None:
        self.owner, self.name, self.make, self.args = owner, name, make, args
        setattr(owner, name, self)

    def resolve(self) -> Any:
        """The attribute, from now on in its place."""
        if (stands := vars(self.owner).get(self.name)) is not self:
            return stands  # another thread was here
        made = self.make(*self.args)
        setattr(self.owner, self.name, made)
        return made

    def __get__(self, x: Any, cls: Any = None) -> Any:
        made = self.resolve()
        get = getattr(type(made), "__get__", None)
        return made if get is None else get(made, x, cls)

    def __set__(self, x: Any, value: Any) -> None:
        self.resolve()
        setattr(x, self.name, value)
