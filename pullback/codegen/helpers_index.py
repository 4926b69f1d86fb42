"""Which helper functions formulas may call, read from the source of their modules without importing them."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from pullback.codegen.errors import Where


def find_helpers(folder: str | os.PathLike[str], package: str = "pullback.ops.formulas") -> dict[str, str]:
    """Find the public functions with a keyword-only parameter `ops` in the modules of `folder`.

    Parameters
    ----------
    folder : path
    package : str, the dotted name of the folder as a package

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
    for path in sorted(Path(folder).glob("*.py")):
        module = package if path.stem == "__init__" else f"{package}.{path.stem}"
        for name, line in helpers_in(path).items():
            if name in found:
                raise Where(str(path), line, f"def {name}").error(
                    f"the helper {name!r} is defined in {found[name]} too", "Rename one of the two"
                )
            found[name] = module
    return found


def helpers_in(path: Path) -> dict[str, int]:
    """The helpers that a file defines, and their lines."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        raise Where(str(path), line).error(f"the module is not valid Python: {error}", "Correct it") from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return {f.name: f.lineno for f in functions if any(parameter.arg == "ops" for parameter in f.args.kwonlyargs)}
