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
from abc import ABCMeta
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pullback.interop.adopt.dispatchers import Dispatcher
from pullback.interop.adopt.patches import apply_patches
from pullback.interop.adopt.reached import is_source
from pullback.interop.adopt.rules import MAKERS, RULES, has_views
from pullback.interop.adopt.scipy.calls import ScipyFunction, ScipyMaker, scipy_name
from pullback.interop.adopt.scipy.classes import ScipyClass, ScipyKind
from pullback.interop.adopt.stand_ins import functions
from pullback.interop.adopt.ufuncs import Switch, kinds


class View(ModuleType):
    """A module as adopted modules see it. What a program sets on it is set on the genuine module too."""

    def __init__(self, genuine: ModuleType) -> None:
        super().__init__(genuine.__name__)
        own = self.__dict__
        own.update((name, value) for name, value in list(vars(genuine).items()) if not _is_replaced(value))
        own["__genuine__"] = genuine
        own["__getattr__"] = functools.partial(_fill, self)  # found here, it costs the names that are there nothing

    def renew(self) -> None:
        """Have the names as they are in the genuine module now, where a program has set some meanwhile."""
        own, genuine = self.__dict__, vars(genuine_of(self))
        for name, value in list(genuine.items()):
            if name in own and genuine_of(own[name]) is not value and not name.startswith("__"):
                own[name] = adopted(value)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(genuine_of(self), name, genuine_of(value))
        self.__dict__[name] = adopted(value)
        _forget_ufunc(self, name)

    def __delattr__(self, name: str) -> None:
        delattr(genuine_of(self), name)
        self.__dict__.pop(name, None)
        _forget_ufunc(self, name)

    def __dir__(self) -> Iterable[str]:
        return dir(genuine_of(self))

    def __eq__(self, other: object) -> bool:
        return genuine_of(self) is genuine_of(other)

    def __hash__(self) -> int:
        return hash(genuine_of(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


def _fill(view: View, name: str) -> object:
    found = vars(view)[name] = adopted(getattr(genuine_of(view), name))
    if issubclass(type(found), View):
        apply_patches()  # it may have been imported just now
    return found


def _forget_ufunc(view: View, name: str) -> None:
    if genuine_of(view) is np:
        show_ufuncs.forget(name)


def renew_views() -> None:
    """Let the views of modules have what these have."""
    for view in list(_stand_ins.values()):
        if issubclass(type(view), View):
            view.renew()


def genuine_of(value: Any) -> Any:
    """Return what a view or a dispatcher stands for; every other value as it is."""
    if issubclass(type(value), View):
        return value.__dict__["__genuine__"]
    return value.genuine if issubclass(type(value), Dispatcher) else value


def adopted(value: object) -> Any:
    """The view or dispatcher that stands for this value, or the value itself."""
    found = _stand_ins.get(id(value))
    if found is not None:
        return found
    if _is_scipys(value):
        return _stand_ins.setdefault(id(value), _of_scipy(value))
    return value


def _of_scipy(value: Any) -> Dispatcher | View:
    if issubclass(type(value), type):
        return (ScipyKind if scipy_name(value) in MAKERS else ScipyClass)(value)
    if isinstance(value, ModuleType):
        return View(value)
    return (ScipyMaker if scipy_name(value) in MAKERS else ScipyFunction)(value)


def _is_replaced(value: object) -> bool:
    return id(value) in _stand_ins or _is_scipys(value)


def _is_scipys(value: Any) -> bool:
    if type(value) is FunctionType:
        return has_views(value.__module__)
    if issubclass(type(value), type) or _is_compiled(value):
        # An abstract class answers whether a dispatcher is a subclass only if it has one too.
        abstract = issubclass(type(value), ABCMeta)
        return str(value.__module__).startswith("scipy.") and (abstract or scipy_name(value) in RULES)
    if type(value) is ModuleType:
        return has_views(value.__name__) and is_source(value)
    # objects that are called as functions, `scipy.special.sph_harm_y`, `scipy.fft.fft`
    of_scipy = str(type(value).__module__).startswith(("scipy.", "uarray"))
    return of_scipy and callable(value) and hasattr(value, "__name__") and scipy_name(value) in RULES


def _is_compiled(value: object) -> bool:
    """True if it is a function written in Cython or C."""
    return type(value).__name__ in ("cython_function_or_method", "builtin_function_or_method")


_VIEWED = (np.linalg, np.fft, math, cmath, np)
# What stands for functions and modules, by their ids: not all of them can be hashed.
_stand_ins: dict[int, Any] = {**functions(), **dict.fromkeys(map(id, _VIEWED))}  # views leave out what is in it
_outside, _inside = kinds(View)
_stand_ins.update({id(module): (_outside if module is np else View)(module) for module in _VIEWED})
for _module in _VIEWED:  # so that `vars(math)` is whole; SciPy's are filled as they are used
    vars(_stand_ins[id(_module)]).update(
        (_name, _stand_ins[id(_value)]) for _name, _value in vars(_module).items() if id(_value) in _stand_ins
    )
show_ufuncs = Switch(_stand_ins[id(np)], _outside, _inside)
