"""Python's own parser, made safe for a text from elsewhere: it gives a tree or an ExpressionError, and runs nothing."""

from __future__ import annotations

import ast
import warnings
from typing import Final

from pullback.codegen.of_pytorch import instead_of_syntax

MAX_LENGTH: Final = 2000
MAX_DEPTH: Final = 50
_OPEN, _CLOSE = "([{", ")]}"


class ExpressionError(ValueError):
    """A text is no expression; `column` (the first is 1) says where, `remedy` what to do."""

    def __init__(self, problem: str, remedy: str, column: int) -> None:
        self.problem, self.remedy, self.column = problem, remedy, column
        super().__init__(problem)


def parse_expression(text: str) -> ast.expr:
    """Parse one expression of bounded length and depth, in ASCII, on one line.

    Raises
    ------
    ExpressionError
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"is {len(text)} characters long, more than {MAX_LENGTH}", "Move it into a helper function", MAX_LENGTH + 1
        )
    depth = 0
    for column, character in enumerate(text, 1):
        if not " " <= character <= "~" or character == "#":
            raise ExpressionError(
                f"contains the character {character!r}",
                "Write ASCII alone, and comments in a line above the entry",
                column,
            )
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth > MAX_DEPTH:
            raise ExpressionError(f"is nested more than {MAX_DEPTH} deep", "Move parts into helper functions", column)
    if not text:
        raise ExpressionError("is empty", "Write one Python expression", 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # such as an invalid escape in a string: an error here
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        column = max(error.offset or 1, 1)
        raise ExpressionError(
            f"is not a Python expression: {error.msg}", instead_of_syntax(text) or "Write one Python expression", column
        ) from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError("is too deeply nested to be read", "Move parts into helper functions", 1) from None
