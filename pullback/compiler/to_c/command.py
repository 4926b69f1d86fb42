"""`python -m pullback export module:function --args ...`: a function that is named on the command line, as C."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pullback.compiler.to_c.api import export
from pullback.core.command_line import argument, function_named, needs_arguments
from pullback.func.gradient import grad, value_and_grad

DERIVED = {"grad": grad, "value-and-grad": value_and_grad}


def main(target: str, texts: Sequence[str], path: Path | None, derived: str | None, vector_bytes: int) -> int:
    """Write the files and print their names; the exit status is 1 where it cannot be."""
    try:
        function = function_named(target)
        if not texts and callable(function) and needs_arguments(function):
            raise ValueError(f"give the arguments too, as in: python -m pullback export {target} --args 3x4")
        path = path or Path(target.rpartition(":")[2].rpartition(".")[2])
        function = DERIVED[derived](function) if derived else function
        found = export(function, tuple(map(argument, texts)), path, vector_bytes=vector_bytes)
    except (ImportError, AttributeError, OSError, TypeError, ValueError, SyntaxError) as error:
        print(f"pullback export: {str(error).removeprefix('export: ')}", file=sys.stderr)
        return 1
    print(*found, sep="\n")
    return 0
