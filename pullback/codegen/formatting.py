"""Generated text as ruff formats it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

_COMMAND = (sys.executable, "-m", "ruff", "format", "--line-length", "120", "--isolated", "-")


def is_available() -> bool:
    """Whether ruff is installed."""
    return importlib.util.find_spec("ruff") is not None


def formatted(text: str) -> str:
    """The text as ruff formats it; RuntimeError if ruff is missing, or cannot."""
    done = subprocess.run(_COMMAND, input=text, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"ruff could not format generated code (pip install ruff): {done.stderr.strip()}")
    return done.stdout
