"""Floor 7: function transforms. Plain functions in, functions that compute derivatives out."""

from __future__ import annotations

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from pullback.core.missing_names import missing_name as _missing_name
from pullback.func.gradient import grad, value_and_grad
from pullback.ops.tables import PUBLIC as _HOMES

if _typing.TYPE_CHECKING:
    from pullback.func.forward import jvp

__all__ = ["grad", "jvp", "value_and_grad"]


def __getattr__(name: str) -> _typing.Any:
    if name == "jvp":  # arrays with tangents come with it, so only when it is wanted
        return _import_module(f"{__name__}.forward").jvp
    raise _missing_name(_sys.modules[__name__], name, _HOMES)
