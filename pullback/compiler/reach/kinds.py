"""Kinds of objects: those that nobody can change, those that are a library's own, those that no watch can follow."""

from __future__ import annotations

import builtins
import datetime as dt
import decimal
import fractions
import functools
import inspect
import operator
import os
import re
import sys
import sysconfig
import threading
import weakref
from collections import deque, namedtuple
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    NotImplementedType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from pullback.core.array_type import SCALARS
from pullback.core.cuts import DEMO, PACKAGE

CACHED: Any = type(functools.lru_cache(len))
_FIELD: Any = type(vars(namedtuple("_Any", "x"))["x"])
CONSTANTS = SCALARS | {
    str, bytes, range, type(None), type(...), NotImplementedType, CodeType, MethodDescriptorType, WrapperDescriptorType,
    MemberDescriptorType, GetSetDescriptorType, ClassMethodDescriptorType, re.Pattern, dt.date, dt.time, dt.datetime,
    dt.timedelta, decimal.Decimal, fractions.Fraction, np.datetime64, np.timedelta64, np.str_,
    np.bytes_, _FIELD, inspect.Signature, inspect.Parameter,
}  # fmt: skip
GETTERS = (operator.attrgetter, operator.methodcaller)
BUILTIN = (BuiltinFunctionType, MethodWrapperType)

# Functions of Python by which code gets at what it does not name, or at what lies outside the program.
UNSEEN: dict[Any, str] = {
    **dict.fromkeys((eval, exec, compile), "runs code that nobody has seen"),
    **dict.fromkeys((globals, locals, vars, dir), "reads names that are not written in the code"),
    **dict.fromkeys((open, input, breakpoint), "reads what is outside the program"),
    **dict.fromkeys((builtins.__import__,), "imports a module by a name that is not written in the code"),
}
_FOLDERS = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
_NUMPY = os.path.dirname(str(np.__file__)) + os.sep  # noqa: PTH120
_SITES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_KNOWN = ("numpy", "scipy", "pullback")
# Modules whose functions and objects answer otherwise at another time, or do something besides answering.
_OUTSIDE = frozenset({
    "time", "random", "secrets", "uuid", "os", "posix", "nt", "posixpath", "ntpath", "genericpath", "io", "_io",
    "sys", "socket", "select", "selectors", "subprocess", "threading", "_thread", "multiprocessing", "concurrent",
    "asyncio", "signal", "tempfile", "shutil", "pathlib", "glob", "fileinput", "locale", "getpass", "urllib", "http",
    "gc", "inspect", "ctypes", "_ctypes", "importlib", "queue", "_queue", "sched", "resource", "mmap", "sqlite3",
    "shelve", "dbm", "traceback", "decimal", "_decimal", "gzip", "bz2", "lzma", "zipfile", "tarfile", "configparser",
    "codecs", "linecache", "timeit", "pkgutil", "runpy", "contextvars", "_contextvars", "sysconfig", "ssl", "csv",
    "_csv", "readline", "cProfile", "tracemalloc", "atexit",
})  # fmt: skip
_TELL = frozenset({"logging", "warnings"})
_CLOCKS = (dt.date, dt.datetime)
_CONTAINERS = (dict, list, tuple, set, frozenset, deque, np.ndarray, int, float, complex, str, bytes)
_FIXED_IN_C = ("SuperLU", "cKDTree", "KDTree")  # of SciPy: nothing of them can be set
_SWITCHES = frozenset({"manual_seed", "set_default_dtype", "seterr", "setbufsize", "set_state"})
# Of NumPy and SciPy, by name.
_FILES = frozenset({
    "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "open_memmap", "save", "savez",
    "savez_compressed", "savetxt", "loadmat", "savemat",
})  # fmt: skip
# Libraries whose functions read no attributes of a user's objects but by a protocol of Python's or NumPy's.
_DISCREET = frozenset({
    "numpy", "scipy", "pullback", "builtins", "math", "cmath", "functools", "itertools", "collections", "typing",
    "abc", "enum", "contextlib", "numbers", "operator", "_operator", "string", "statistics", "types", "bisect",
    "heapq",
})  # fmt: skip
_HEAD = object.__basicsize__


@functools.lru_cache(maxsize=4096)
def is_librarys_file(file: str) -> bool:
    """True if code of this file is Python's, NumPy's, SciPy's or pullback's: what it reads is no state of a program."""
    if file.startswith(PACKAGE):
        return is_ours(file)
    if file.startswith(("<frozen ", "<__array_function__", _NUMPY)):
        return True
    scipy = getattr(sys.modules.get("scipy"), "__file__", None)
    if scipy and file.startswith(os.path.dirname(scipy) + os.sep):  # noqa: PTH120
        return True
    return file.startswith(_FOLDERS) and not any(site in file for site in _SITES)


def is_ours(file: str) -> bool:
    """True if code of this file is pullback's."""
    return file.startswith(PACKAGE) and not file.startswith(DEMO)


def is_librarys_module(module: Any) -> bool:
    """True if a module is one of those, or a view of one that `adopt()` shows."""
    scope = object.__getattribute__(module, "__dict__")
    file = scope.get("__file__")
    if isinstance(file, str):
        return is_librarys_file(file)
    top = str(scope.get("__name__")).partition(".")[0]
    return top != "__main__" and (top in sys.stdlib_module_names or top in _KNOWN)


@functools.lru_cache(maxsize=4096)
def is_librarys_class(kind: Any) -> bool:
    """True if a class is one of theirs."""
    module = sys.modules.get(kind.__module__)
    return module is not None and is_librarys_module(module)


@functools.lru_cache(maxsize=1024)
def is_read_by_library(kind: Any) -> bool:
    """True if methods that a class inherits from a library may read attributes that no code of the user's names."""
    return any(
        is_librarys_class(base)
        and base.__module__ not in ("abc", "typing", "enum")
        and any(type(part) is FunctionType for part in vars(base).values())
        for base in kind.__mro__
    )


def is_librarys_own(x: Any) -> bool:
    """True if an object is one that a library itself offers by a name: `scipy.stats.norm`."""
    home = type(x).__module__
    while home:
        if any(found is x for found in vars(sys.modules.get(home, object)).values()):
            return True
        home = home.rpartition(".")[0]
    return False


def outside(x: Any) -> str | None:
    """Why the results of a function, a class or an object of a library are not the same at each call; None if not."""
    if any(x is clock for clock in _CLOCKS):
        return "can read a clock"
    if getattr(x, "__name__", "") in _SWITCHES:
        return "changes the state of a library"
    home = getattr(x, "__module__", None)  # of an object, its class's
    if getattr(x, "__name__", "") in _FILES and str(home).startswith(("numpy", "scipy")):
        return "reads or writes a file"
    return _outside(home if isinstance(home, str) else type(x).__module__)


def _outside(module: str) -> str | None:
    top = module.partition(".")[0]
    if module.startswith("numpy.random") or top in ("random", "secrets", "uuid"):
        return "draws random numbers"
    if top == "time":
        return "reads a clock"
    return "can read what is outside the program, or change it" if top in _OUTSIDE else None


def is_discreet(x: Any) -> bool:
    """True if a function or class of a library reads no attributes that the user's code does not name."""
    home = getattr(x, "__module__", None) or type(x).__module__
    if isinstance(x, type) and issubclass(x, BaseException):
        return True
    return str(home).partition(".")[0] in _DISCREET and not any(x is getter for getter in GETTERS)


def tells(x: Any) -> bool:
    """True if an object of the library only tells somebody something: a logger, a warning."""
    home = x.__module__ if isinstance(x, FunctionType) else type(x).__module__
    return str(home).partition(".")[0] in _TELL or x is print or x is _warn


_warn = sys.modules["warnings"].warn


def is_function_in_c(x: Any) -> bool:
    """True if an object is a function that is written in C or Cython; what it holds nobody knows."""
    kind: Any = type(x)
    if kind is CACHED or not (_hidden(kind) and callable(x)):
        return False
    return all(isinstance(getattr(x, name, None), str) for name in ("__module__", "__name__"))


def unfollowed(x: Any) -> str | None:
    """Why no watch can follow an object of this type; None if one can."""
    kind: Any = type(x)
    if issubclass(kind, weakref.ReferenceType):
        return "must not be kept alive by a watch"
    if kind is CACHED:
        return "keeps results of earlier calls where no watch can look; compute it outside, and capture the result"
    if issubclass(kind, threading.local):
        return "is another in each thread"
    if _hidden(kind) and not issubclass(kind, _CONTAINERS) and kind.__name__ not in _FIXED_IN_C:
        at_next = any("__next__" in vars(base) for base in kind.__mro__)
        return "moves on when it is read" if at_next else "holds what no watch can look at"
    return None


@functools.lru_cache(maxsize=1024)
def _hidden(kind: Any) -> bool:
    """True if objects of this type have memory besides attributes: that of a type written in C."""
    names = sum(1 for base in kind.__mro__ for _ in slots_of(base))
    offsets = (kind.__weakrefoffset__ > 0) + (kind.__dictoffset__ > 0)  # elsewhere in later versions of Python
    return bool(kind.__itemsize__ or kind.__basicsize__ > _HEAD + 8 * (names + offsets))


def slots_of(cls: Any) -> Iterator[tuple[str, Any]]:
    """(name, descriptor) of the slots that a class written in Python declares."""
    scope = vars(cls)
    if "__slots__" in scope:
        yield from ((name, slot) for name, slot in scope.items() if type(slot) is MemberDescriptorType)


def scope_of(x: Any) -> dict[str, Any] | None:
    """The `__dict__` of an object, found without running code of the user's."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def is_module(x: Any) -> bool:
    """True if `x` is a module, of whatever class."""
    return issubclass(type(x), ModuleType)
