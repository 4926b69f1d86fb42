"""Which functions of NumPy, SciPy and math a function calls, read off its bytecode, and which of them have rules."""

from __future__ import annotations

import builtins
import dis
import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.core.cuts import PACKAGE
from pullback.interop.adopt.rules import CMATH, IMPLICIT, MATH, NAMES, RULES
from pullback.interop.adopt.scipy.ways import AS_IT_STANDS, WITHOUT_GRADIENT
from pullback.interop.adopt.views import genuine_of
from pullback.interop.registry import find_function
from pullback.interop.suggest import advice
from pullback.interop.ufuncs import find_ufunc

_LIBRARIES = ("numpy", "scipy", "math", "cmath")
_MANY = 500  # functions that are read
RULE, ADOPT, NONE = "rule", "adopt", "none"


@dataclass(frozen=True)
class Call:
    """One call: "np.linalg.solve", where it stands, and whether there is a rule for it."""

    name: str
    file: str
    line: int
    kind: str  # RULE; ADOPT, there is one after `adopt()`; NONE
    remedy: str = ""


def calls_of(function: Callable[..., Any]) -> list[Call]:
    """Every call of a NumPy, SciPy or math function in a function and in what it calls, run or not."""
    found: dict[Call, None] = {}
    waiting: list[Any] = [function]
    seen: set[Any] = set()
    while waiting and len(seen) < _MANY:
        plain = _plain_function(waiting.pop())
        if plain is None or plain.__code__ in seen:
            continue
        seen.add(plain.__code__)
        for target, name, line in _targets(plain.__code__, plain):
            if (call := _classified(target, name, plain.__code__.co_filename, line)) is not None:
                found[call] = None
            elif _is_read(target):
                waiting.append(target)
    return list(found)


def _plain_function(target: Any) -> types.FunctionType | None:
    while isinstance(target, functools.partial):
        target = target.func
    if isinstance(target, type):
        target = inspect.getattr_static(target, "__init__")
    elif not isinstance(target, (types.FunctionType, types.MethodType)):
        target = vars(type(target)).get("__call__", target)
    target = getattr(target, "__func__", target)
    target = getattr(target, "__wrapped__", target)
    return target if isinstance(target, types.FunctionType) else None


def _is_read(target: Any) -> bool:
    """True if calls are looked for inside: of the user's own functions."""
    if isinstance(target, type) and target.__module__ == "builtins":
        return False
    plain = _plain_function(target)
    if plain is None:
        return False
    file = plain.__code__.co_filename
    return not file.startswith(PACKAGE) and "site-packages" not in file and not file.startswith("<frozen")


def _targets(code: types.CodeType, function: types.FunctionType) -> Iterator[tuple[Any, str, int]]:
    """(object, dotted name, line) of all that the code reads by names and attributes."""
    known = dict(vars(builtins)) | function.__globals__
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            known[name] = cell.cell_contents
        except ValueError:  # not set yet
            known.pop(name, None)
    waiting = [code]
    while waiting:
        part = waiting.pop()
        waiting += [x for x in part.co_consts if isinstance(x, types.CodeType)]
        yield from _read(part, known)


def _read(code: types.CodeType, known: dict[str, Any]) -> Iterator[tuple[Any, str, int]]:
    nothing = object()
    aliases: dict[str, Any] = {}
    current, dotted, line = nothing, "", code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.positions.lineno or line if step.positions is not None else line
        kind, name = step.opname, step.argval
        if kind in ("LOAD_ATTR", "LOAD_METHOD") and current is not nothing:
            current = getattr(current, name, nothing) if _is_namespace(current) else nothing
            dotted += f".{name}"
            continue
        if kind == "IMPORT_FROM":
            aliases["IMPORT_FROM"] = getattr(current, name, nothing)
            continue
        if kind.startswith("STORE_FAST"):
            aliases[str(name)] = aliases.pop("IMPORT_FROM", current)
            continue
        if kind in ("CACHE", "PUSH_NULL", "COPY_FREE_VARS", "RESUME"):
            continue
        if current is not nothing and callable(current):
            yield genuine_of(current), dotted, line
        current = nothing
        if kind in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            current, dotted = genuine_of(known.get(name, nothing)), str(name)
        elif kind.startswith("LOAD_FAST") and isinstance(name, str):
            current, dotted = aliases.get(name, nothing), name
        elif kind == "IMPORT_NAME":
            try:
                current, dotted = importlib.import_module(name), str(name)
            except ImportError:
                current = nothing


def _is_namespace(x: Any) -> bool:
    return isinstance(x, types.ModuleType) or isinstance(genuine_of(x), types.ModuleType) or isinstance(x, np.ufunc)


def _classified(target: Any, dotted: str, file: str, line: int) -> Call | None:
    name = _public_name(target, dotted)
    if name is None:
        return None
    library = name.partition(".")[0]
    if isinstance(target, np.ufunc):
        return Call(name, file, line, RULE if find_ufunc(target) is not None else NONE, _remedy("numpy", name))
    if library == "np":
        if find_function(target) is not None:
            return Call(name, file, line, RULE)
        if name in NAMES:
            return Call(name, file, line, ADOPT, _remedy("numpy", name))
        # What asks nobody whether it may (np.zeros, np.arange) computes with plain numbers by nature.
        return Call(name, file, line, NONE, _remedy("numpy", name)) if hasattr(target, "_implementation") else None
    if library in ("math", "cmath"):
        bare = name.partition(".")[2]
        return Call(name, file, line, ADOPT if bare in (MATH if library == "math" else CMATH) else NONE)
    RULES.get(name)  # which loads its area
    if name in RULES or any(name in names for names in (WITHOUT_GRADIENT, AS_IT_STANDS, IMPLICIT)):
        return Call(name, file, line, ADOPT)
    if name.startswith("scipy.stats.") or isinstance(target, type):
        return Call(name, file, line, ADOPT)
    return Call(name, file, line, NONE, _remedy("scipy", name))


def _public_name(target: Any, dotted: str) -> str | None:
    """As it is called in public, "np.linalg.solve", "math.exp"; None for what is of no library."""
    module = getattr(target, "__module__", None) or ""
    own = getattr(target, "__name__", "")
    if isinstance(target, np.ufunc):
        module = "numpy" if getattr(np, own, None) is target else "scipy.special"
    if not isinstance(module, str) or module.partition(".")[0] not in _LIBRARIES:
        return None
    if module.startswith("numpy"):
        return f"np{module.removeprefix('numpy').replace('._core', '').split('._')[0]}.{own}"
    return f"{module.split('._')[0]}.{own or dotted.rpartition('.')[2]}"


def _remedy(library: str, name: str) -> str:
    said = advice(library, name)
    return said if said.startswith("Write ") and not said.startswith("Write it with") else ""
