"""Declarations -> the tables of operators: public names, methods, what formulas call, NumPy's functions."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.codegen.emit_function import FunctionEmitter
from pullback.codegen.model import NUMBER_TAGS, NativeFunction, Registry
from pullback.codegen.naming import parameter
from pullback.codegen.schema import REQUIRED, Arg


def emit_entries(natives: Sequence[NativeFunction], registry: Registry, module_of: dict[str, str]) -> str:
    """The statements that enter every operator in `tables`; `module_of` maps an area to the module's local name."""
    groups: dict[tuple[str, str], list[NativeFunction]] = {}
    for native in natives:
        groups.setdefault((native.python_module or "", native.name), []).append(native)
    lines: list[str] = []
    for (home, name), group in groups.items():
        lines += _group(home, name, group, registry, module_of)
    for native in natives:
        if not native.is_composite:
            module = module_of[native.area]
            lines.append(f"tables.kernel({native.kernel!r}, {module}.OP_{native.schema.unique_name})")
    return "\n".join(lines)


def _group(home: str, name: str, group: list[NativeFunction], registry: Registry, module_of: dict[str, str]) -> list[str]:
    lines = [f"tables.add({name!r}, {home!r}, ["]
    for native in group:
        function = FunctionEmitter(native, registry.derivatives.get(native.schema.unique_name), registry)
        module = module_of[native.area]
        raw = f"composite_{native.area}.{native.composite}" if native.is_composite else f"kernels.{native.kernel}"
        inplace = f"{module}.{function.inplace_name}" if "inplace" in native.variants else "None"
        # Parameters are for the choice among overloads alone.
        params = "".join(f"{_parameter(arg)}, " for arg in native.schema.args) if len(group) > 1 else ""
        lines.append(
            f"    Overload({module}.{function.name}, {raw}, {native.is_composite}, {inplace}, ({params})),"
        )
    variants = set().union(*(n.variants for n in group))
    aliases = sorted({a for n in group for a in n.aliases})
    numpy = sorted({f for n in group for f in n.numpy})
    lines.append(
        f"], function={'function' in variants}, method={'method' in variants or 'inplace' in variants}, "
        f"aliases={aliases!r}, numpy={numpy!r}{_refusal(group)})"
    )
    return lines


def _refusal(group: list[NativeFunction]) -> str:
    """How the operator refuses plain numbers for tensors, if it does."""
    rules = sorted({tag for native in group for tag in native.tags} & set(NUMBER_TAGS))
    if not rules:
        return ""
    names = tuple(parameter(arg.name) for arg in group[0].schema.args if arg.type.is_tensor)
    return f", refuses=({rules[0]!r}, {names!r})"


def _parameter(arg: Arg) -> str:
    kind = arg.type.base if not arg.type.is_list else f"{arg.type.base}[]"
    return f'("{parameter(arg.name)}", "{kind}", {arg.type.optional}, {arg.default is REQUIRED}, {arg.kwarg_only})'
