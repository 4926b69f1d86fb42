"""Declarations in, a checked Registry out: the front end's face."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from pullback.codegen.errors import Where, suggest
from pullback.codegen.model import AREAS, NativeFunction, Registry
from pullback.codegen.naming import check_node_names
from pullback.codegen.read_derivatives import Vocabulary, read_derivatives
from pullback.codegen.read_natives import check_helper_names, check_names_with_a_meaning, read_natives
from pullback.codegen.schema import is_dotted_name
from pullback.codegen.yaml_source import Document, Entry, YamlList, YamlMap, YamlText, areas, entries, kind, read

LookUp: TypeAlias = Callable[[str, str, Where], Mapping[str, str]]
_MODULE_KEYS = ("kernels", "helpers", "composites", "namespace")
_LIST_KEYS = ("native_functions", "derivatives")


def load_registry(
    native_path: str | os.PathLike[str],
    derivatives_path: str | os.PathLike[str],
    helper_names: Mapping[str, str],
    extra_operators: Iterable[str] = frozenset(),
) -> Registry:
    """Read and check the package's own two files.

    Parameters
    ----------
    native_path, derivatives_path : paths (or texts, see `yaml_source.read`)
    helper_names : mapping from the helper functions that formulas may call to their modules
    extra_operators : names, optional
        Operators that formulas may call beside the declared ones.

    Returns
    -------
    Registry

    Raises
    ------
    DeclarationError
        The first thing wrong, with file, line, entry, problem and remedy.
    """
    source = read(native_path)
    natives = read_natives(areas(source.root, source, AREAS))
    check_helper_names(natives, helper_names)
    vocabulary = Vocabulary(_callable(natives).union(extra_operators), frozenset(helper_names), _unmoved(natives))
    formulas = read(derivatives_path)
    derivatives = read_derivatives(
        entries(formulas.root, formulas, "name"), {native.schema.unique_name: native for native in natives}, vocabulary
    )
    registry = Registry(natives, derivatives, helper_names)
    check_node_names(registry)
    return registry


def load_third_party(
    path_or_text: str | os.PathLike[str],
    known: Registry,
    helper_names: Mapping[str, str] | LookUp,
) -> Registry:
    """Read and check one file with a third party's functions and derivatives.

    Parameters
    ----------
    path_or_text : path, or the text itself (see `yaml_source.read`)
    known : Registry, whose operators and helpers formulas may call too, where the file has nothing of that name
    helper_names : mapping from the helper functions that formulas may call to their modules, or a function
        The function is called with each key of the file that names a module, that name, and the place for errors; it
        returns the mapping for the key `helpers`.

    Returns
    -------
    Registry
        Of the third party's functions alone.

    Raises
    ------
    DeclarationError
    """
    source = read(path_or_text)
    root = source.root
    if not isinstance(root, YamlMap):
        raise source.where(root.line).error(
            f"expected a mapping with `native_functions` and `derivatives`, found {kind(root)}",
            "Write `native_functions:` and below it the entries",
        )
    for key in root.items:
        if key not in (*_LIST_KEYS, *_MODULE_KEYS):
            raise source.where(root.lines[key]).error(
                f"unknown key {key!r}", suggest(key, [*_LIST_KEYS, *_MODULE_KEYS])
            )
    modules = {key: _module(source, root, key) for key in _MODULE_KEYS}
    if callable(helper_names):
        found = {
            key: helper_names(key, name, source.where(root.lines[key]))
            for key, name in modules.items()
            if name is not None and key != "namespace"
        }
        helper_names = found.get("helpers", {})
    natives = read_natives(_listed_natives(source, root, modules["namespace"] or "custom"))
    helper_names = _without_composites(helper_names, natives, modules["composites"])
    check_helper_names(natives, helper_names)
    check_names_with_a_meaning(natives, helper_names, source.where(root.lines.get("helpers", root.line)))
    own = _callable(natives).union(helper_names)  # what these names mean in formulas, whatever pullback has
    helpers = {**known.helper_modules, **helper_names}
    vocabulary = Vocabulary(
        _callable(natives) | (_callable(known.natives) - own),
        frozenset(helpers),
        _unmoved(natives) | (_unmoved(known.natives) - own),
    )
    listed = root.items.get("derivatives", YamlText("", root.line))
    derivatives = read_derivatives(
        entries(listed, source, "name"), {native.schema.unique_name: native for native in natives}, vocabulary
    )
    called = {name for derivative in derivatives.values() for formula in derivative.parsed for name in formula.helpers}
    used = {name: module for name, module in helpers.items() if name in called or name in helper_names}
    registry = Registry(natives, derivatives, used, {}, **modules)
    check_node_names(registry)
    return registry


def _without_composites(
    helpers: Mapping[str, str], natives: Iterable[NativeFunction], module: str | None
) -> Mapping[str, str]:
    """The helpers, where one module, or package, may have composites too."""
    composites = {native.composite for native in natives}
    return {n: m for n, m in helpers.items() if n not in composites or not f"{m}.".startswith(f"{module}.")}


def _callable(natives: Iterable[NativeFunction]) -> frozenset[str]:
    """The names of operators that a formula may call: not those that write to their arguments."""
    return frozenset(name for native in natives if not native.is_mutating for name in native.names)


def _unmoved(natives: Iterable[NativeFunction]) -> frozenset[str]:
    """The names of operators whose results no number of a Tensor moves, but in jumps."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for native in natives:
        names[bool(native.tags & {"creation", "nondifferentiable"})].update(native.names)
    return frozenset(names[True] - names[False])  # of all overloads


def _listed_natives(source: Document, root: YamlMap, area: str) -> Iterable[tuple[str, Entry]]:
    """The third party's functions: a flat list, or a mapping from area to entries."""
    listed = root.items.get("native_functions")
    if listed is None:
        raise source.where(root.line).error(
            "has no `native_functions`", "Write `native_functions:` and below it the entries"
        )
    if isinstance(listed, YamlMap):
        for name, line in listed.lines.items():
            if not is_plain_name(name):
                raise source.where(line).error(f"the area {name!r} is not one Python name", "Write one, such as `maps`")
        return areas(listed, source)
    if isinstance(listed, YamlList):
        return ((area, entry) for entry in entries(listed, source, "func"))
    raise source.where(listed.line).error(
        f"`native_functions` is {kind(listed)}, where a list of entries is expected",
        "Write `- func: ...` for each entry",
    )


def _module(source: Document, root: YamlMap, key: str) -> str | None:
    """The dotted name under a key of the file, if the key is there."""
    value = root.items.get(key)
    if value is None:
        return None
    text = value.text if isinstance(value, YamlText) else ""
    if not (is_plain_name(text) if key == "namespace" else is_dotted_name(text)):
        shape = "one Python name" if key == "namespace" else "a module's dotted name, such as mylib.kernels"
        raise source.where(root.lines[key]).error(
            f"{key!r} is not {shape}", f"Write `{key}: {'mylib' if key == 'namespace' else f'mylib.{key}'}`"
        )
    return text


def is_plain_name(text: str) -> bool:
    """True if `text` is one Python name, and none of those that mean something to Python, such as __init__."""
    return is_dotted_name(text) and "." not in text and not text.startswith("__")
