"""Views of modules: what an adopted module sees in place of `numpy`, `math` and SciPy's packages.

A view is a module with the genuine one's names, where dispatchers stand for functions that cannot take our tensors by
themselves. The genuine modules stay as they are, for everybody else and for compiled code above all: an extension
module that got a tensor where it looks up `numpy.asarray` would crash.
"""

from __future__ import annotations

import cmath
import functools
import importlib
import math
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pullback.interop.adopt.dispatchers import Dispatcher
from pullback.interop.adopt.patches import apply_patches
from pullback.interop.adopt.reached import is_source
from pullback.interop.adopt.scipy_calls import ScipyFunction
from pullback.interop.adopt.stand_ins import functions


class View(ModuleType):
    """A module as adopted modules see it. What a program sets on it is set on the genuine module too."""

    def __init__(self, genuine: ModuleType) -> None:
        super().__init__(genuine.__name__)
        own = self.__dict__
        own.update((name, value) for name, value in vars(genuine).items() if not _is_replaced(value))
        own["__genuine__"] = genuine
        own["__getattr__"] = functools.partial(_fill, self)  # found here, it costs the names that are there nothing

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(genuine_of(self), name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delattr(genuine_of(self), name)
        self.__dict__.pop(name, None)

    def __dir__(self) -> Iterable[str]:
        return dir(genuine_of(self))

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


def _fill(view: View, name: str) -> Any:
    found = vars(view)[name] = adopted(getattr(genuine_of(view), name))
    if type(found) is View:
        apply_patches()  # it may have been imported just now
    return found


def genuine_of(value: Any) -> Any:
    """What a view or a dispatcher stands for; every other value as it is."""
    if type(value) is View:
        return value.__dict__["__genuine__"]
    return value.genuine if issubclass(type(value), Dispatcher) else value


def adopted(value: Any) -> Any:
    """The view or dispatcher that stands for this value, or the value itself."""
    found = _stand_ins.get(id(value))
    if found is not None:
        return found
    if _is_scipys(value):
        return _stand_ins.setdefault(id(value), _of_scipy(value))
    return value


def _of_scipy(value: Any) -> Any:
    return ScipyFunction(value) if isinstance(value, FunctionType) else View(value)


def _is_replaced(value: Any) -> bool:
    return id(value) in _stand_ins or _is_scipys(value)


def _is_scipys(value: Any) -> bool:
    if type(value) is FunctionType:
        return (value.__module__ or "").startswith("scipy.")
    return type(value) is ModuleType and value.__name__.partition(".")[0] == "scipy" and is_source(value)


_VIEWED = (np.linalg, np.fft, math, cmath, np)
# What stands for functions and modules, by their ids: not all of them can be hashed.
_stand_ins: dict[int, Any] = {**functions(), **dict.fromkeys(map(id, _VIEWED))}  # views leave out what is in it
_stand_ins.update({id(module): View(module) for module in _VIEWED})
