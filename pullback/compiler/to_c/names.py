"""The names that arguments and results have in C, and how they are reached in Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pullback.core.pytree import flatten, paths_of

# Words of C and C++, and names that compilers define.
_WORDS = """
    and asm auto bool break case catch char class const constexpr continue default delete do double else enum extern
    false float for goto if inline int linux long main namespace new not nullptr operator or private protected public
    register restrict return short signed sizeof static struct switch template this throw true try typedef typeof union
    unix unsigned using virtual void volatile while xor
"""
KEYWORDS = frozenset(_WORDS.split())


def is_identifier(name: str) -> bool:
    """True for a name that a function may have in C and C++."""
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)) and name not in KEYWORDS and "__" not in name


def paths_of_arguments(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """How each leaf of the arguments is reached: "x", "params['w']", "args[1]"."""
    found = []
    for name, x in zip(_parameters(function, len(args)), args, strict=True):
        found += [f"{name}{path}" for path in paths_of(flatten(x)[1])]
    return found


def _parameters(function: Callable[..., Any], count: int) -> Iterable[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [p.name for p in parameters if p.kind in by_position][:count]
    rest = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    return [*named, *(f"{rest}[{nr}]" for nr in range(count - len(named)))]


def in_c(paths: Iterable[str], taken: Iterable[str]) -> list[str]:
    """A name for each path that no other has: "params_w", "args_1"."""
    used, found = {*taken, *KEYWORDS}, []
    for path in paths:
        stem = re.sub(r"[^A-Za-z0-9]+", "_", path).strip("_") or "x"
        stem = stem if stem[0].isalpha() and stem[0].isascii() else f"x_{stem}"
        name, nr = (stem.lower() if stem.isupper() else stem), 1  # capitals may be a macro
        while name in used:
            nr += 1
            name = f"{stem}_{nr}"
        used.add(name)
        found.append(name)
    return found
