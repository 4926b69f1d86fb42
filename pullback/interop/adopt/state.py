"""What is adopted at present."""

from __future__ import annotations


class State:
    """`on`: whether `adopt()` is in force; `packages`: the installed packages that it reaches besides."""

    on = False
    packages: frozenset[str] = frozenset()
