"""Declarations -> a generated module: imports, nodes, records, operators, functions, in-place functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pullback.codegen.emit_checks import check_emittable
from pullback.codegen.emit_function import FunctionEmitter
from pullback.codegen.emit_node import NodeEmitter
from pullback.codegen.emit_record import emit_record
from pullback.codegen.emit_rules import emit_rules
from pullback.codegen.emit_tangent import TangentEmitter
from pullback.codegen.formula import Formula
from pullback.codegen.model import NativeFunction, Registry
from pullback.codegen.naming import CORE
from pullback.codegen.node_layout import NodeLayout
from pullback.codegen.quoting import docstring


@dataclass(frozen=True)
class Sources:
    """Where generated code imports kernels, composites (by area) and helpers from, and the file it sends readers to."""

    kernels: str | None
    composites: Mapping[str, str]
    helpers: Mapping[str, str]
    declarations: str


@dataclass(frozen=True)
class Parts:
    """Pieces of a module's text, and the helpers that they call."""

    texts: list[str]
    helpers: frozenset[str]


def emit_module(title: str, parts: Parts, sources: Sources, modules: Sequence[str] = ()) -> str:
    """A module's text, unformatted; it imports `modules` too, dotted names, each under its last."""
    body = "\n\n\n".join(parts.texts)
    imports = [*_imports(parts, sources), *(_import_as(m, m.rpartition(".")[2]) for m in modules)]
    return "\n".join([f'"""{docstring(title)}', '"""', "", *imports, "", "", body, ""])


def operator_parts(natives: Sequence[NativeFunction], registry: Registry, sources: Sources) -> Parts:
    """Nodes, records, operators and functions, in the order of the declarations, once they are checked.

    Raises
    ------
    DeclarationError
        Some of it cannot be written.
    """
    check_emittable(natives, registry)
    texts = [text for native in natives for text in _native(native, registry, sources)]
    return Parts(texts, _backward_helpers(natives, registry))


def _backward_helpers(natives: Sequence[NativeFunction], registry: Registry) -> frozenset[str]:
    """The helpers that nodes call."""
    derivatives = [registry.derivatives.get(native.schema.unique_name) for native in natives]
    formulas = [given.formula for derivative in derivatives if derivative is not None for given in derivative.formulas]
    return frozenset().union(*(formula.helpers for formula in formulas if isinstance(formula, Formula)))


def tangent_parts(registry: Registry) -> Parts:
    """The tangent function of every differentiable primitive, and their tables: by operator, and by kernel."""
    tables = registry.operator_tables
    emitters = {name: TangentEmitter(derivative, tables) for name, derivative in registry.derivatives.items()}
    entries = "".join(f'    "{name}": {name}_tangent,\n' for name in emitters)
    texts = [emitter.emit() for emitter in emitters.values()]
    helpers = frozenset().union(*(emitter.helpers for emitter in emitters.values()))
    return Parts([*texts, f"TANGENTS = {{\n{entries}}}", emit_rules(registry)], helpers)


def _native(native: NativeFunction, registry: Registry, sources: Sources) -> list[str]:
    """The definitions for one declaration."""
    function = FunctionEmitter(native, registry)
    texts = [] if native.is_composite else _primitive(native, function, registry, sources)
    return [*texts, *filter(None, (function.emit(), function.emit_inplace()))]


def _primitive(native: NativeFunction, function: FunctionEmitter, registry: Registry, sources: Sources) -> list[str]:
    """What only a primitive has: its node, or a note that there is none, and its record for dispatch."""
    name = native.schema.unique_name
    if name in registry.derivatives:
        layout = NodeLayout(registry.derivatives[name], registry)
        node = NodeEmitter(layout, sources.declarations, registry.operator_tables).emit()
        return [node, emit_record(layout), function.emit_operator(layout.saves_self)]
    without = [f'record_{name} = not_implemented("{native.schema.full_name}")'] if function.records else []
    return [*without, function.emit_operator(saves_self=False)]


def _imports(parts: Parts, sources: Sources) -> list[str]:
    """The import statements for the names that the pieces of a module use."""
    # Piece by piece: the tree of a whole module is large, and Python's collector goes over it again and again.
    used = {node.id for text in parts.texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    wanted: dict[str, list[str]] = {}
    for module, names in CORE.items():
        wanted[module] = [name for name in names if name in used]
    for helper in parts.helpers:
        wanted.setdefault(sources.helpers[helper], []).append(helper)
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(wanted.items()) if names]
    if "kernels" in used and sources.kernels is not None:
        lines.append(_import_as(sources.kernels, "kernels"))
    for area, module in sorted(sources.composites.items()):
        if f"composite_{area}" in used:
            lines.append(_import_as(module, f"composite_{area}"))
    return lines


def _import_as(module: str, name: str) -> str:
    package, _, last = module.rpartition(".")
    renamed = "" if last == name else f" as {name}"
    return f"from {package} import {last}{renamed}" if package else f"import {last}{renamed}"
