"""Declarations -> a generated module: imports, nodes, records, operators, functions, in-place functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pullback.codegen.emit_function import FunctionEmitter
from pullback.codegen.emit_node import NodeEmitter
from pullback.codegen.emit_record import emit_record
from pullback.codegen.emit_tangent import TangentEmitter
from pullback.codegen.formula import Formula
from pullback.codegen.model import NativeFunction, Registry
from pullback.codegen.naming import operator_tables
from pullback.codegen.node_layout import NodeLayout
from pullback.codegen.quoting import docstring

# What generated code may use, and where it comes from. Only what a module names is imported.
CORE: dict[str, tuple[str, ...]] = {
    "collections": ("namedtuple",),
    "math": ("inf", "nan", "pi"),
    "numpy": ("asarray", "ndarray"),
    "pullback.core.arguments": ("UNSET", "int_list", "missing_argument", "tensor_list"),
    "pullback.core.dispatch": (
        "CONSTANTS", "TENSOR", "Operator", "attribute", "created", "dispatch", "explain", "wrap_result",
    ),
    "pullback.core.modes": ("current",),
    "pullback.core.mutation": ("assign", "inplace", "mutate", "write_out"),
    "pullback.core.node": ("MultiNode", "Node", "next_sequence_nr", "port", "start_multi"),
    "pullback.core.saved": ("Released", "version_when_saved", "watch_output"),
    "pullback.core.tensor": ("Tensor", "new"),
    "pullback.core.undifferentiable": (
        "derivative_not_implemented", "no_tangent", "not_implemented", "tangent_or_zeros", "tangents_or_zeros",
    ),
    "pullback.core.view": ("make_view", "shares_memory"),
    "pullback.ops.extension": ("enter",),
    "pullback.ops.tables": ("Overload",),
}  # fmt: skip


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
    """A module's text, unformatted; it imports `modules` too, dotted names, under the last of them."""
    body = "\n\n\n".join(parts.texts)
    imports = [*_imports(body, parts.helpers, sources), *(_import_as(m, m.rpartition(".")[2]) for m in modules)]
    return "\n".join([f'"""{docstring(title)}', '"""', "", *imports, "", "", body, ""])


def operator_parts(natives: Sequence[NativeFunction], registry: Registry, sources: Sources) -> Parts:
    """Nodes, records, operators and functions, in the order of the declarations."""
    texts: list[str] = []
    helpers: set[str] = set()
    for native in natives:
        derivative = registry.derivatives.get(native.schema.unique_name)
        for formula in derivative.formulas if derivative is not None else ():
            if isinstance(formula.formula, Formula):
                helpers |= formula.formula.helpers
        texts += _native(native, registry, sources)
    return Parts(texts, frozenset(helpers))


def tangent_parts(registry: Registry) -> Parts:
    """The tangent function of every differentiable primitive, and their table."""
    tables = operator_tables(registry)
    emitters = {name: TangentEmitter(derivative, tables) for name, derivative in registry.derivatives.items()}
    entries = "".join(f'    "{name}": {name}_tangent,\n' for name in emitters)
    texts = [emitter.emit() for emitter in emitters.values()]
    helpers = frozenset().union(*(emitter.helpers for emitter in emitters.values()))
    return Parts([*texts, f"TANGENTS = {{\n{entries}}}"], helpers)


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
        node = NodeEmitter(layout, sources.declarations, operator_tables(registry)).emit()
        return [node, emit_record(layout), function.emit_operator(layout.saves_self)]
    without = [f'record_{name} = not_implemented("{native.schema.full_name}")'] if function.records else []
    return [*without, function.emit_operator(saves_self=False)]


def _imports(body: str, helpers: Collection[str], sources: Sources) -> list[str]:
    """The import statements for the names that `body` uses."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    wanted: dict[str, list[str]] = {}
    for module, names in CORE.items():
        wanted[module] = [name for name in names if name in used]
    for helper in helpers:
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
