"""The optional packages of the demos."""

from __future__ import annotations

from typing import Any

from pullback.core import extras


def need(module: str) -> Any:
    """Import an optional module; without it a MissingExtraError has the command that installs it."""
    return extras.need(module, "The demos", "pullback[demo]")
