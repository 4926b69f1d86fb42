"""Optional packages: imported on first use, with an error that says how to get them."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtraError(ImportError):
    """An optional package is not installed; the message has the command that installs it."""


def need(module: str, what: str, install: str) -> Any:
    """Import an optional module.

    Parameters
    ----------
    module : str
    what : str
        What needs it, as the subject of the message: "torch_function", "The demos".
    install : str
        What pip is told to install.

    Raises
    ------
    MissingExtraError
    """
    verb = "need" if what.startswith("The ") else "needs"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f"{what} {verb} {module}, and {missing.name} is not installed: pip install '{install}'"
        ) from missing
