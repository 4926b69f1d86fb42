"""Functions that warnings pass over: a warning of NumPy's or SciPy's is about the line that has called theirs.

They say `stacklevel=2`, which is a dispatcher's line where one stands in between. Filters go by that place: what is
shown once for each line would be shown once for the whole program. Python passes over frames of its import system,
which it knows by "importlib" and "_bootstrap" in the names of their files.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeVar

from pullback.core.cuts import PACKAGE
from pullback.interop.awaited import FILES

_F = TypeVar("_F")


def unseen(function: _F) -> _F:
    """The function, which warnings pass over. Its file keeps its place in the package, by which others know it."""
    called: Any = function
    assert type(called) is FunctionType
    code = called.__code__
    file = code.co_filename.replace(PACKAGE, f"{PACKAGE}<importlib _bootstrap>/", 1)
    if code.co_filename in FILES:
        FILES.add(file)
    called.__code__ = code.replace(co_filename=file)
    return function
