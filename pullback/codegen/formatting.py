"""Generated text as ruff formats it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

_COMMAND = (sys.executable, "-m", "ruff", "format", "--line-length", "120", "--isolated", "-")


def is_available() -> bool:
    """True if ruff is installed."""
    return importlib.util.find_spec("ruff") is not None


def formatted(text: str, stub: bool = False) -> str:
    """The text as ruff formats it, as a stub if it is one; RuntimeError if ruff is missing, or cannot."""
    command = [*_COMMAND, "--stdin-filename", "stub.pyi"] if stub else _COMMAND
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"ruff could not format generated code (pip install ruff): {done.stderr.strip()}")
    return done.stdout
