"""The compiler's words: a warning where a function runs eagerly, errors where one was stale, or cannot be C."""

from __future__ import annotations

from pullback.core.errors import Explained


class CompileWarning(UserWarning):
    """A compiled function, or some calls of it, run eagerly; the text says why, and where."""


class StaleProgramError(Explained, RuntimeError):
    """A program gave something other than the function does now; the text says what may have changed."""


class ExportError(Explained, ValueError):
    """A function cannot be written as C; the text says which operators, where, and what to write instead."""
