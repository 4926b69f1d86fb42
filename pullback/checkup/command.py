"""`python -m pullback check module:function [args]`: the report of a function that is named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pullback.checkup.api import check
from pullback.core.command_line import argument, function_named, needs_arguments


def main(target: str, texts: Sequence[str]) -> int:
    """Print the report; the exit status is 1 where something is wrong, 2 where it could not be begun."""
    try:
        function = function_named(target)
        if not texts and callable(function) and needs_arguments(function):
            raise ValueError(f"give the arguments of {target} too, as in: python -m pullback check {target} 3x4")
        report = check(function, *map(argument, texts))
    except (ImportError, AttributeError, OSError, TypeError, ValueError, SyntaxError) as error:
        said = str(error).removeprefix("check: ")
        if said.startswith("no argument has floating") and any(whole := text for text in texts if text.isdigit()):
            said += f" The argument {whole}x is an array of that length."
        print(f"pullback check: {said}", file=sys.stderr)
        return 2
    print(report)
    return 0 if report.ok else 1
