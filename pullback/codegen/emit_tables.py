"""Declarations -> the names that lazily loaded areas define: operators, kernels, methods, functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from pullback.codegen.model import NativeFunction
from pullback.codegen.naming import public_name


def emit_announcement(areas: Mapping[str, Sequence[NativeFunction]]) -> str:
    """The table of what late areas will enter, by area: the names of operators, kernels, methods and functions."""
    lines = ["LATE = {"]
    for area, natives in areas.items():
        public: dict[str, set[str]] = {}
        methods: set[str] = set()
        for (home, name), group in _groups(natives).items():
            if all(native.is_internal for native in group):
                continue
            variants = frozenset().union(*(native.variants for native in group))
            aliases = {alias for native in group for alias in native.aliases}
            names = [public_name(name, home), *(alias for alias in aliases if "." not in alias)]
            inplace = [f"{n}_" for n in names] if "inplace" in variants else []
            if "function" in variants:
                public.setdefault(home, set()).update(names, inplace)
            for other, _, short in (alias.rpartition(".") for alias in aliases if "." in alias):
                public.setdefault(other, set()).add(short)
            methods |= {*(names if "method" in variants else ()), *inplace}
        kernels = {native.kernel for native in natives if native.kernel is not None}
        lines += [
            f'    "{area}": {{',
            *_words("operators", {native.name for native in natives}),
            *_words("kernels", kernels),
            *_words("methods", methods),
            *_words("numpy", {name for native in natives for name in native.numpy}),
            '        "public": {',
            *(line for home, names in sorted(public.items()) for line in _words(home, names, " " * 12)),
            "        },",
            "    },",
        ]
    return "\n".join([*lines, "}"])


def _words(key: str, names: Iterable[str], margin: str = " " * 8) -> list[str]:
    """An entry with these names, many a line."""
    texts = [f"{margin}    {line!r}" for line in wrap(" ".join(sorted(names)), 100)]
    # A space between the last word of a line and the first of the next.
    texts = [text[:-1] + " " + text[-1] for text in texts[:-1]] + texts[-1:]
    return [f"{margin}{key!r}: (", *(texts or [f"{margin}    ''"]), f"{margin}).split(),"]


def _groups(natives: Sequence[NativeFunction]) -> dict[tuple[str, str], list[NativeFunction]]:
    """The overloads of each operator, by its public home and name."""
    groups: dict[tuple[str, str], list[NativeFunction]] = {}
    for native in natives:
        groups.setdefault((native.python_module or "", native.name), []).append(native)
    return groups
