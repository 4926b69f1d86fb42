"""Declarations -> the tables of operators: public names, methods, what formulas call, NumPy's functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent

from pullback.codegen.emit_function import FunctionEmitter
from pullback.codegen.model import NUMBER_TAGS, NativeFunction, Registry
from pullback.codegen.naming import parameter, public_name
from pullback.codegen.quoting import tuple_of
from pullback.codegen.signature import REQUIRED, Arg


def emit_fill(natives: Sequence[NativeFunction], registry: Registry, homes: Mapping[str, str]) -> str:
    """The function that enters every operator in the tables that it is given.

    `homes` maps an area to what stands before the names of its module: "linalg.", or "" in that module itself.
    """
    lines: list[str] = []
    for (home, name), group in _groups(natives).items():
        lines += _group(home, name, group, registry, homes)
    lines += [
        f'tables.kernel("{native.kernel}", {homes[native.area]}OP_{native.schema.unique_name})'
        for native in natives
        if not native.is_composite
    ]
    body = indent("\n".join(lines), "    ")
    return f'def fill_tables(tables):\n    """Enter every operator in `tables`."""\n{body}'


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
        lines += [
            f'    "{area}": {{',
            f'        "operators": {sorted({native.name for native in natives})!r},',
            f'        "kernels": {sorted({native.kernel for native in natives if native.kernel is not None})!r},',
            f'        "methods": {sorted(methods)!r},',
            f'        "numpy": {sorted({name for native in natives for name in native.numpy})!r},',
            f'        "public": { ({home: sorted(names) for home, names in sorted(public.items())})!r},',
            "    },",
        ]
    return "\n".join([*lines, "}"])


def _groups(natives: Sequence[NativeFunction]) -> dict[tuple[str, str], list[NativeFunction]]:
    """The overloads of each operator, by its public home and name."""
    groups: dict[tuple[str, str], list[NativeFunction]] = {}
    for native in natives:
        groups.setdefault((native.python_module or "", native.name), []).append(native)
    return groups


def _group(
    home: str, name: str, group: list[NativeFunction], registry: Registry, homes: Mapping[str, str]
) -> list[str]:
    """The statement that enters one operator with all its overloads."""
    lines = [f'tables.add("{name}", "{home}", "{public_name(name, home)}", [']
    for native in group:
        function = FunctionEmitter(native, registry)
        module = homes[native.area]
        raw = f"composite_{native.area}.{native.composite}" if native.is_composite else f"kernels.{native.kernel}"
        inplace = f"{module}{function.inplace_name}" if "inplace" in native.variants else "None"
        # Parameters are for the choice among overloads alone.
        params = tuple_of([_parameter(arg) for arg in native.schema.args] if len(group) > 1 else [])
        lines.append(f"    Overload({module}{function.name}, {raw}, {native.is_composite}, {inplace}, {params}),")
    variants = frozenset().union(*(native.variants for native in group))
    aliases = sorted({alias for native in group for alias in native.aliases})
    numpy = sorted({name for native in group for name in native.numpy})
    hidden = ", internal=True" if all(native.is_internal for native in group) else ""
    lines.append(
        f"], function={'function' in variants}, method={'method' in variants}, "
        f"aliases={aliases!r}, numpy={numpy!r}{hidden}{_refusal(group)})"
    )
    return lines


def refuses_numbers(group: Sequence[NativeFunction]) -> str | None:
    """The rule by which an operator refuses plain numbers for tensors, if it has one."""
    rules = sorted({tag for native in group for tag in native.tags}.intersection(NUMBER_TAGS))
    return rules[0] if rules else None


def _refusal(group: list[NativeFunction]) -> str:
    rule = refuses_numbers(group)
    if rule is None:
        return ""
    names = tuple(parameter(arg.name) for arg in group[0].schema.args if arg.type.is_tensor)
    return f', refuses=("{rule}", {names!r})'


def _parameter(arg: Arg) -> str:
    """A parameter as the choice among overloads takes it: name, kind, optional, required, keyword-only."""
    kind = arg.type.base if not arg.type.is_list else f"{arg.type.base}[]"
    return f'("{parameter(arg.name)}", "{kind}", {arg.type.optional}, {arg.default is REQUIRED}, {arg.kwarg_only})'
