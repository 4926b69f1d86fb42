"""Finds the source files of modules that a third party's declarations name, without importing anything."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from pullback.codegen.errors import Where
from pullback.codegen.helpers_index import find_helpers, helpers_in


def look_up(key: str, module: str, where: Where) -> Mapping[str, str]:
    """Check the module that a file names under `key`; of `helpers`, return the helpers and their modules.

    Raises
    ------
    DeclarationError
    """
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise where.error(
            f"{key!r} names {module!r}, of Python's standard library, which has no functions on arrays",
            "Name a module of functions on arrays: your own, NumPy's, SciPy's",
        )
    return find_helpers_of(module, where) if key == "helpers" else {}


def find_helpers_of(module: str, where: Where) -> dict[str, str]:
    """Find the helpers of a module or package by its dotted name; neither it nor its parents are imported.

    Raises
    ------
    DeclarationError
        There is no such module, or it has no Python source.
    """
    spec = _spec(module)
    if spec is None:
        raise where.error(f"there is no module {module!r} to import", "Correct the name, or add its folder to sys.path")
    path = Path(spec.origin or "")
    if path.suffix != ".py":
        raise where.error(f"the module {module!r} has no Python source", "Name a module of Python functions")
    if spec.submodule_search_locations:
        return find_helpers(path.parent, module)
    return dict.fromkeys(helpers_in(path), module)


def _spec(module: str) -> ModuleSpec | None:
    """Where a module is, as the import system finds it, without running its parents as `importlib.util` would."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module without a spec, such as __main__
        return None
    name = top
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        name = f"{name}.{part}"
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
    return spec
