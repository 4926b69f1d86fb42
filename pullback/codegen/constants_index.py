"""Which constants formulas may name, read from the source of their module without importing it."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"(\w+) = \S+  # (.+)")


def find_constants(path: Path) -> dict[str, str]:
    """From the name of a constant to its definition: a line of the module is `name = value  # definition`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {found[1]: found[2] for line in lines if (found := _LINE.fullmatch(line))}
