"""Clones: Python functions of NumPy or SciPy with other globals, in which `np` and its functions take our tensors.

The function itself stays as it is, for everybody who calls it with plain arrays; a clone shares its code. What a clone
calls is cloned when it is first looked up.
"""

from __future__ import annotations

import functools
import math
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor
from pullback.interop.adopt.reached import is_source
from pullback.interop.adopt.scipy_calls import ScipyFunction, scipy_name
from pullback.interop.adopt.stand_ins import functions
from pullback.interop.adoption import RULES


def clone(function: Any) -> Any:
    """`function` for our tensors. It must be one that is known to be differentiated by running it."""
    own = function.__globals__
    if id(own) not in _globals:
        _globals[id(own)] = _Globals(own)
    cells = function.__closure__
    made = FunctionType(
        function.__code__,
        _globals[id(own)],
        function.__name__,
        function.__defaults__,
        cells and tuple(CellType(_cloned(cell.cell_contents)) for cell in cells),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def twin(thing: Any) -> Any:
    """An object with the same fields, the methods of which are clones."""
    kind: Any = type(thing)
    made: Any = object.__new__(_kind_of_twin(kind))
    made.__dict__ = thing.__dict__
    return made


@functools.cache
def _kind_of_twin(kind: type) -> type:
    methods: dict[str, Any] = {}
    for home in reversed(kind.__mro__):
        for name, method in vars(home).items():
            if type(method) is FunctionType:
                methods[name] = clone(getattr(method, "genuine", method))  # what a patch stands for
    return type(kind.__name__, (kind,), methods)


class _Globals(dict[str, Any]):
    """The globals of a module as its clones see them: converted when first looked up."""

    def __init__(self, own: dict[str, Any]) -> None:
        super().__init__({name: value for name, value in own.items() if name.startswith("__")})  # imports read these
        self.own = own

    def __missing__(self, name: str) -> Any:
        genuine = self.own[name]
        if name == "array_namespace":
            value: Any = _array_namespace
        else:
            value = _of_ours_too(genuine) if name in _ASK_FOR_THE_CLASS else _cloned(genuine)
        self[name] = value
        return value


class _Module(ModuleType):
    """A module as clones see it."""

    def __init__(self, genuine: ModuleType) -> None:
        super().__init__(genuine.__name__)
        self.__dict__["__genuine__"] = genuine

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = _cloned(getattr(self.__dict__["__genuine__"], name))
        return found


_globals: dict[int, _Globals] = {}
_made: dict[int, Any] = {}


def _cloned(value: Any) -> Any:
    """What clones see in place of a value of a module's."""
    if id(value) not in _made:
        _made[id(value)] = functions(always=True).get(id(value)) or _made_of(value)
    return _made[id(value)]


def _made_of(value: Any) -> Any:
    if type(value) is ModuleType:
        library = value.__name__.partition(".")[0]
        return _Module(value) if value in (np, math) or (library == "scipy" and is_source(value)) else value
    if type(value) is FunctionType and (value.__module__ or "").startswith("scipy."):
        return ScipyFunction(value) if scipy_name(value) in RULES else clone(value)
    if type(value) is type and _HELPERS in value.__module__:
        methods = {name: clone(method) for name, method in vars(value).items() if type(method) is FunctionType}
        return type(value.__name__, (value,), {"__slots__": (), **methods})
    return value


_HELPERS = "array_api_extra"  # whose classes compute, as functions do


def _array_namespace(*_: Any, **__: Any) -> Any:
    """Of NumPy's and our arrays it is NumPy, with functions that take ours."""
    return _cloned(np)


# By these SciPy asks what kind of array it has been given.
_ASK_FOR_THE_CLASS = frozenset({"is_numpy_array", "is_array_api_obj", "is_writeable_array"})


def _of_ours_too(genuine: Any) -> Any:
    return lambda x, *more: isinstance(x, Tensor) or genuine(x, *more)
