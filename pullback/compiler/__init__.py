"""Compiles functions: what they compute is recorded at their first calls, and runs as a program from then on."""

from pullback.compiler.api import compile
from pullback.compiler.compiled import Compiled
from pullback.compiler.errors import CompileWarning, ExportError, StaleProgramError
from pullback.compiler.explanation import Explanation
from pullback.compiler.to_c.api import export

compile.export = export  # type: ignore[attr-defined]  # where it is looked for

__all__ = ["CompileWarning", "Compiled", "Explanation", "ExportError", "StaleProgramError", "compile", "export"]
