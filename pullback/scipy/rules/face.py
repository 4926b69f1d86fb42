"""The modules `pullback.scipy.linalg` and its kin: SciPy's names, as adopted modules see them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from pullback.interop.adopt.patches import with_rules
from pullback.interop.adopt.scipy.clones import distributions
from pullback.interop.adopt.views import adopted


def face(name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the module that stands for SciPy's of this name."""

    def getattr_(attribute: str) -> object:
        found = getattr(importlib.import_module(name), attribute)
        return with_rules(found) if isinstance(found, distributions()) else adopted(found)

    def dir_() -> list[str]:
        return dir(importlib.import_module(name))

    return getattr_, dir_
