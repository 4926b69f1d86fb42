"""Declarations -> the names that each area defines: operators, kernels, methods, functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from pullback.codegen.model import NativeFunction
from pullback.codegen.naming import public_name


def emit_announcement(areas: Mapping[str, Sequence[NativeFunction]]) -> str:
    """The table of what areas will enter, by area: the names of operators, kernels, methods and functions.

    What is an operator and a kernel, or a function and a method (in place too), is named once; `ops.late` reads it.
    """
    lines, owners = ["LATE = {"], _owners(areas)
    for area, natives in areas.items():
        public: dict[str, list[str]] = {"": []}
        methods: list[str] = []
        for (home, name), group in _groups(natives).items():
            if all(native.is_internal for native in group):
                continue
            variants = frozenset().union(*(native.variants for native in group))
            aliases = [alias for native in group for alias in native.aliases]
            names = [public_name(name, home), *(alias for alias in aliases if "." not in alias)]
            inplace = [f"{n}_" for n in names] if "inplace" in variants else []
            if "function" in variants:
                public.setdefault(home, []).extend([*names, *inplace])
            for other, _, short in (alias.rpartition(".") for alias in aliases if "." in alias):
                public.setdefault(other, []).append(short)
            methods += [*(names if "method" in variants else ()), *inplace]
        operators = [native.name for native in natives if owners[native.name] == area]
        kernels = [native.kernel for native in natives if native.kernel is not None]
        functions = public.pop("")
        both = _without(functions, set(functions) - set(methods))
        changing = [name for name in both if f"{name}_" in both]
        texts = {
            "primitives": _without(operators, set(operators) - set(kernels)),
            "composites": _without(operators, kernels),
            "kernels": _without(kernels, operators),
            "aliases": [name for native in natives for name in native.names if name not in owners],
            "functions": _without(functions, methods),
            "both": _without(both, [*changing, *(f"{name}_" for name in changing)]),
            "both and in place": changing,
            "methods": _without(methods, functions),
            "numpy": [name for native in natives for name in native.numpy],
        }
        lines += [f'    "{area}": {{', *(line for key, names in texts.items() for line in _words(key, names))]
        lines += [*(line for home, names in sorted(public.items()) for line in _words(f"in {home}", names)), "    },"]
    return "\n".join([*lines, "}"])


def _without(names: Sequence[str], others: Iterable[str]) -> list[str]:
    left_out = frozenset(others)
    return [name for name in names if name not in left_out]


def _words(key: str, names: Iterable[str]) -> list[str]:
    """An entry with these names, many a line; none without names."""
    text = "\n".join(wrap(" ".join(dict.fromkeys(names)), 120, initial_indent=" " * (14 + len(key)))).lstrip()
    quotes = '"' * (3 if "\n" in text else 1)
    return [f'        "{key}": {quotes}{text}{quotes},'] if text else []


def _owners(areas: Mapping[str, Sequence[NativeFunction]]) -> dict[str, str]:
    """The area whose operator formulas call by a name: that of `relu`, not that of `nn.functional.relu`."""
    found: dict[str, str] = {}
    for area, natives in areas.items():
        for native in natives:
            if native.name not in found or not native.python_module:
                found[native.name] = area
    return found


def _groups(natives: Sequence[NativeFunction]) -> dict[tuple[str, str], list[NativeFunction]]:
    """The overloads of each operator, by its public home and name."""
    groups: dict[tuple[str, str], list[NativeFunction]] = {}
    for native in natives:
        groups.setdefault((native.python_module or "", native.name), []).append(native)
    return groups
