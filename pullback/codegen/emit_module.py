"""Declarations -> a generated module: imports, nodes, and a row for each overload."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill, wrap

from pullback.codegen.emit_checks import check_emittable
from pullback.codegen.emit_node import NodeEmitter
from pullback.codegen.emit_row import emit_rows
from pullback.codegen.emit_slopes import WEIGHED, emit_slopes, slopes_of
from pullback.codegen.emit_tangent import TangentEmitter
from pullback.codegen.formula import Formula
from pullback.codegen.model import NativeFunction, Registry
from pullback.codegen.naming import CORE
from pullback.codegen.node_layout import NodeLayout
from pullback.codegen.quoting import docstring


@dataclass(frozen=True)
class Sources:
    """Where generated code imports kernels, composites and helpers from, and the file it sends readers to."""

    # Composites by what generated code calls their module, helpers by their own name.
    kernels: str | None
    composites: Mapping[str, str]
    helpers: Mapping[str, str]
    declarations: str
    compact: bool = False  # rules that are slopes as such, and tables that stand in the declarations not again


@dataclass(frozen=True)
class Parts:
    """Pieces of a module's text, and the helpers and constants that their formulas name."""

    texts: list[str]
    helpers: frozenset[str]
    constants: frozenset[str]


def emit_module(title: str, parts: Parts, sources: Sources) -> str:
    """A module's text, unformatted."""
    body = "\n\n\n".join(parts.texts)
    imports = _imports(parts, sources)
    return "\n".join([f'"""{docstring(title)}', '"""', "", *imports, "", "", body, ""])


def operator_parts(natives: Sequence[NativeFunction], registry: Registry, sources: Sources) -> Parts:
    """Nodes and rows, in the order of the declarations, once they are checked.

    Raises
    ------
    DeclarationError
        Some of it cannot be written.
    """
    check_emittable(natives, registry)
    nodes = [node for native in natives for node in _nodes(native, registry, sources)]
    formulas = _backward_formulas(natives, registry)
    statements = [text for text in nodes if not text.startswith("class ")]  # of slopes
    if statements:
        begin = f'define = Slopes(__name__, "{registry.namespace}")'
        nodes = [*(text for text in nodes if text.startswith("class ")), "\n".join([begin, *statements])]
    helpers = _helpers(formulas) - ({WEIGHED} if statements else set())
    return Parts([*nodes, emit_rows(natives, registry, sources.compact)], helpers, _constants(formulas))


def emit_docs(natives: Sequence[NativeFunction], registry: Registry, compact: bool = False) -> str:
    """The table of the operators' documentation, by unique name."""
    quoted = json.dumps if compact else '"""{}"""'.format
    derived = registry.derivatives
    # The declaration of what is made of slopes stands there, and its documentation in the declarations alone.
    of_slopes = {name for name, derivative in derived.items() if compact and slopes_of(derivative) is not None}
    written = [native for native in natives if native.schema.unique_name not in of_slopes]
    entries = [f'    "{native.schema.full_name}": {quoted(_doc(native))},' for native in written]
    entries += ["    **define.schemas,"] if of_slopes else []
    return "\n".join(["DOCS = {", *entries, "}"])


def _doc(native: NativeFunction) -> str:
    paragraphs = (native.doc or f"{native.schema.name}.").splitlines()
    return docstring(
        "\n".join([*(fill(line, 116, break_long_words=False) for line in paragraphs), "", str(native.schema), ""])
    )


def _backward_formulas(natives: Sequence[NativeFunction], registry: Registry) -> list[Formula]:
    """The formulas of nodes."""
    derivatives = [registry.derivatives.get(native.schema.unique_name) for native in natives]
    formulas = [given.formula for derivative in derivatives if derivative is not None for given in derivative.formulas]
    return [formula for formula in formulas if isinstance(formula, Formula)]


def _helpers(formulas: Sequence[Formula]) -> frozenset[str]:
    return frozenset().union(*(formula.helpers for formula in formulas))


def _constants(formulas: Sequence[Formula]) -> frozenset[str]:
    return frozenset().union(*(formula.constants for formula in formulas))


def tangent_parts(registry: Registry, compact: bool = False) -> Parts:
    """The tangent functions of differentiable primitives, their table, and that of the inputs that they ignore."""
    tables, space = registry.operator_tables, "" if registry.namespace is None else f"{registry.namespace}."
    derivatives = [d for d in registry.derivatives.values() if not (compact and slopes_of(d) is not None)]
    emitters = [TangentEmitter(derivative, tables) for derivative in derivatives]
    emitters = [emitter for emitter in emitters if emitter.has_formula]
    ignored = [f'    "{space}{e.schema.full_name}": {e.underived!r},' for e in emitters if e.underived]
    if compact or registry.namespace is None:
        overloads = [e.schema.full_name for e in emitters if e.schema.overload]
        table = f"tangents_of({', '.join(['__name__', _words(overloads), *([json.dumps(space)] * bool(space))])})"
    else:
        entries = [f'    "{space}{e.schema.full_name}": {e.schema.unique_name}_tangent,' for e in emitters]
        table = "\n".join(["{", *entries, "}"])
    if len(derivatives) < len(registry.derivatives):
        table = f"{table} | define.tangents" if emitters else "define.tangents"
        ignored.append("    **define.underived,")
    ends = [f"TANGENTS = {table}", "\n".join(["UNDERIVED = {", *ignored, "}"])]
    formulas = [formula for emitter in emitters for formula in emitter.rendered]
    return Parts([*(emitter.emit() for emitter in emitters), *ends], _helpers(formulas), _constants(formulas))


def _words(names: Sequence[str]) -> str:
    """A text of these names, on as many lines as it needs."""
    text = "\n".join(wrap(" ".join(names), 116, initial_indent="    ", subsequent_indent="    "))
    return f'"""\n{text}\n"""' if len(text) > 60 else json.dumps(text.strip())


def _nodes(native: NativeFunction, registry: Registry, sources: Sources) -> list[str]:
    """The node of a differentiable primitive."""
    derivative = registry.derivatives.get(native.schema.unique_name)
    if derivative is None:
        return []
    if sources.compact and slopes_of(derivative) is not None:
        return [emit_slopes(derivative, registry)]
    return [NodeEmitter(NodeLayout(derivative, registry), sources.declarations, registry.operator_tables).emit()]


def _imports(parts: Parts, sources: Sources) -> list[str]:
    """The import statements for the names that the pieces of a module use."""
    # Piece by piece: the tree of a whole module is large, and Python's collector goes over it again and again.
    used = {node.id for text in parts.texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    wanted: dict[str, list[str]] = {}
    for module, names in CORE.items():
        wanted[module] = [name for name in names if name in used]
    wanted["pullback.ops.constants"] = sorted({*wanted["pullback.ops.constants"], *parts.constants})
    for helper in parts.helpers:
        wanted.setdefault(sources.helpers[helper], []).append(helper)
    lines = [_import_from(module, names) for module, names in sorted(wanted.items()) if names]
    if "kernels" in used and sources.kernels is not None:
        lines.append(_import_as(sources.kernels, "kernels"))
    lines += [_import_as(module, name) for name, module in sorted(sources.composites.items()) if name in used]
    return lines


def _import_from(module: str, names: Collection[str]) -> str:
    return f"from {module} import {', '.join(sorted(names))}"


def _import_as(module: str, name: str) -> str:
    package, _, last = module.rpartition(".")
    renamed = "" if last == name else f" as {name}"
    return f"from {package} import {last}{renamed}" if package else f"import {last}{renamed}"
