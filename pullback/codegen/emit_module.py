"""Declarations -> the text of one generated module: nodes, records, operators, functions, in-place functions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pullback.codegen.emit_function import FunctionEmitter
from pullback.codegen.emit_node import NodeEmitter
from pullback.codegen.formula import Formula
from pullback.codegen.model import Derivative, NativeFunction, Registry

# What generated code may use, and where it comes from. Only what a module names is imported.
_IMPORTS = {
    "collections": ["namedtuple"],
    "math": ["inf", "nan", "pi"],
    "pullback.core.arguments": ["UNSET", "int_list", "missing_argument", "tensor_list"],
    "pullback.core.dispatch": [
        "CONSTANTS", "TENSOR", "Operator", "attribute", "created", "dispatch", "explain", "wrap_result",
    ],
    "pullback.core.modes": ["current"],
    "pullback.core.mutation": ["assign", "inplace", "mutate", "write_out"],
    "pullback.core.node": ["MultiNode", "Node", "port", "start_multi", "start_node"],
    "pullback.core.saved": ["Released", "version_when_saved", "watch_output"],
    "pullback.core.tensor": ["Tensor", "new"],
    "pullback.core.undifferentiable": ["derivative_not_implemented", "not_implemented"],
    "pullback.core.view": ["make_view", "shares_memory"],
}  # fmt: skip


class Sources:
    """Where kernels, composites and helpers are imported from."""

    def __init__(self, kernels: str, composites: str | None, helpers: dict[str, str]) -> None:
        self.kernels, self.composites, self.helpers = kernels, composites, helpers

    def composite_module(self, area: str) -> str:
        """The module with the composite functions of an area."""
        return self.composites or f"pullback.ops.composite.{area}"


def emit_module(title: str, natives: Sequence[NativeFunction], registry: Registry, sources: Sources) -> str:
    """The module's text, unformatted."""
    parts: list[str] = []
    for native in natives:
        derivative = registry.derivatives.get(native.schema.unique_name)
        parts += _native_parts(native, derivative, registry)
    body = "\n\n\n".join(parts)
    return f'"""{title}"""\n\n{_imports(body, natives, registry, sources)}\n\n\n{body}\n'


def _native_parts(native: NativeFunction, derivative: Derivative | None, registry: Registry) -> list[str]:
    parts: list[str] = []
    saves_self = False
    function = FunctionEmitter(native, derivative, registry)
    if derivative is not None:
        node = NodeEmitter(derivative, registry)
        saves_self = node.saves_self
        parts += [node.emit_class(), node.emit_record()]
    elif not native.is_composite and function.records:
        parts.append(f'record_{native.schema.unique_name} = not_implemented("{native.schema.full_name}")')
    if not native.is_composite:
        parts.append(function.emit_operator(saves_self))
    parts.append(function.emit())
    if inplace := function.emit_inplace():
        parts.append(inplace)
    return parts


def _imports(body: str, natives: Sequence[NativeFunction], registry: Registry, sources: Sources) -> str:
    used = set(re.findall(r"[A-Za-z_]\w*", body))
    wanted: dict[str, list[str]] = {
        module: [name for name in names if name in used] for module, names in _IMPORTS.items()
    }
    for native in natives:
        derivative = registry.derivatives.get(native.schema.unique_name)
        for formula in derivative.formulas if derivative else ():
            if isinstance(formula.formula, Formula):
                for helper in formula.formula.helpers:
                    wanted.setdefault(sources.helpers[helper], []).append(helper)
    lines = [f"from {module} import {', '.join(sorted(set(names)))}" for module, names in sorted(wanted.items()) if names]
    if "kernels" in used:
        lines.append(_import_as(sources.kernels, "kernels"))
    for area in sorted({n.area for n in natives if n.is_composite}):
        lines.append(_import_as(sources.composite_module(area), f"composite_{area}"))
    return "\n".join(lines)


def _import_as(module: str, name: str) -> str:
    package, _, last = module.rpartition(".")
    if not package:
        return f"import {last} as {name}"
    return f"from {package} import {last} as {name}"


def tangent_imports(body: str, sources: Sources) -> str:
    """The imports of the module of tangents."""
    used = set(re.findall(r"[A-Za-z_]\w*", body))
    wanted: dict[str, set[str]] = {}
    for helper, module in sources.helpers.items():
        if helper in used:
            wanted.setdefault(module, set()).add(helper)
    wanted["math"] = {name for name in ("inf", "nan", "pi") if name in used}
    names = ("no_tangent", "tangent_or_zeros", "tangents_or_zeros")
    wanted["pullback.core.undifferentiable"] = {name for name in names if name in used}
    return "\n".join(
        f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(wanted.items()) if names
    )
