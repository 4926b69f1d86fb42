"""Operators of your own without YAML: `custom_op` makes one of a Python function, and `opcheck` tries it."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from pullback.library.annotations import infer_schema
from pullback.library.custom_op import CustomOp, custom_op

if _typing.TYPE_CHECKING:
    from pullback.library.checking import OpCheckError, opcheck

__all__ = ["CustomOp", "OpCheckError", "custom_op", "infer_schema", "opcheck"]


def __getattr__(name: str) -> _typing.Any:
    if name in ("OpCheckError", "opcheck"):  # the checks of operators come with it, so only when it is wanted
        module = _import_module(f"{__name__}.checking")
        globals().update(OpCheckError=module.OpCheckError, opcheck=module.opcheck)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
