"""The optional packages of the demos, with an error that says how to get them."""

from __future__ import annotations

import importlib
from types import ModuleType


class MissingExtraError(ImportError):
    """An optional package is not installed; the message has the command that installs it."""


def need(module: str) -> ModuleType:
    """Import an optional module.

    Raises
    ------
    MissingExtraError
        It is not installed; the message has the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f"The demos need {module}, and {missing.name} is not installed: pip install 'pullback[demo]'"
        ) from missing
