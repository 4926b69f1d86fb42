"""Compiles functions: what they compute is recorded at their first calls, and runs as a program from then on."""

from pullback.compiler.api import compile
from pullback.compiler.compiled import Compiled
from pullback.compiler.errors import CompileWarning, StaleProgramError
from pullback.compiler.explanation import Explanation

__all__ = ["CompileWarning", "Compiled", "Explanation", "StaleProgramError", "compile"]
