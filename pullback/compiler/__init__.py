"""Compiles functions: what they compute is recorded at their first calls, and runs as a program from then on."""

from pullback.compiler.api import Compiled, compile
from pullback.compiler.errors import CompileWarning, StaleProgramError

__all__ = ["CompileWarning", "Compiled", "StaleProgramError", "compile"]
