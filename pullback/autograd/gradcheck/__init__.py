"""gradcheck and gradgradcheck: gradients against finite differences, with a diagnosis where they disagree."""

import typing as _typing
from importlib import import_module as _import_module

from pullback.autograd.gradcheck.api import gradcheck, gradgradcheck

__all__ = ["Diagnosis", "GradcheckError", "gradcheck", "gradgradcheck"]

if _typing.TYPE_CHECKING:
    from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError
else:

    def __getattr__(name: str) -> object:
        if name in ("Diagnosis", "GradcheckError"):  # most programs meet none
            return getattr(_import_module(f"{__name__}.error"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
