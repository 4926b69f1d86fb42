"""Where helpers of formulas and composites are defined, read from the source of their modules without an import."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pullback.codegen.errors import DeclarationError, Where


def find_helpers(
    folder: str | os.PathLike[str], package: str = "pullback.ops.formulas", areas: Iterable[str] = ()
) -> dict[str, str]:
    """Find the public functions with a keyword-only parameter `ops` in the modules of `folder`.

    Parameters
    ----------
    folder : path
    package : str, the dotted name of the folder as a package
    areas : str, the folders below it that are read too

    Returns
    -------
    dict
        From function name to the dotted name of its module, sorted by module.

    Raises
    ------
    DeclarationError
        A module is not valid Python, or two modules have a helper of the same name.
    """
    found: dict[str, str] = {}
    folder = Path(folder)
    modules = [*_modules(folder, package), *(m for area in areas for m in _modules(folder / area, f"{package}.{area}"))]
    for module, path in modules:
        for name, line in helpers_in(path).items():
            if name in found:
                raise _defined_twice("helper", name, found[name], path, line)
            found[name] = module
    return found


def helpers_in(path: Path) -> dict[str, int]:
    """The helpers that a file defines, and their lines."""
    functions = [f for f in _parsed(path) if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")]
    return {f.name: f.lineno for f in functions if any(parameter.arg == "ops" for parameter in f.args.kwonlyargs)}


def find_composites(folder: Path, package: str, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Find the modules, below the folder of their area, that define composites.

    Parameters
    ----------
    folder : path
    package : str, the dotted name of the folder as a package
    wanted : pairs of str, the area and the name of each composite

    Returns
    -------
    dict
        From area and name to the dotted name of the module. It lacks what no module defines.

    Raises
    ------
    DeclarationError
        A module is not valid Python, or two modules of an area define the same composite.
    """
    found: dict[tuple[str, str], str] = {}
    names = frozenset(wanted)
    for area in sorted({area for area, _ in names}):
        for module, path in _modules(folder / area, f"{package}.{area}"):
            for name, line in _defined_in(path):
                if (area, name) not in names:
                    continue
                if (area, name) in found:
                    raise _defined_twice("composite", name, found[area, name], path, line)
                found[area, name] = module
    return found


def _modules(folder: Path, package: str) -> Iterator[tuple[str, Path]]:
    """The modules of a folder: dotted names and files."""
    for path in sorted(folder.glob("*.py")):
        yield package if path.stem == "__init__" else f"{package}.{path.stem}", path


def _defined_in(path: Path) -> Iterator[tuple[str, int]]:
    """The names that a file defines or assigns at its top, and their lines."""
    for node in _parsed(path):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node.lineno) for target in node.targets if isinstance(target, ast.Name))


def _parsed(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        raise Where(str(path), line).error(f"the module is not valid Python: {error}", "Correct it") from None


def _defined_twice(kind: str, name: str, module: str, path: Path, line: int) -> DeclarationError:
    return Where(str(path), line, f"def {name}").error(
        f"the {kind} {name!r} is defined in {module} too", "Rename one of the two"
    )
