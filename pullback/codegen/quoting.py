"""Quotes text of a declaration for generated code, so that it stays text whatever it contains."""

from __future__ import annotations

from collections.abc import Sequence


def docstring(text: str) -> str:
    """Write `text` so that it may stand between triple quotes, before a line break.

    Backslashes and triple quotes are escaped, and so is every character that a reader would not see.
    """
    escaped = text.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in escaped)


def tuple_of(items: Sequence[str]) -> str:
    """A tuple display of expressions."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
