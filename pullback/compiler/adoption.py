"""Does a function need `adopt()` to be traced? It takes 20 ms, a hundred times as long as a small trace.

Functions of NumPy dispatch on their arguments by themselves; those that make buffers, those of `math` and most of SciPy
do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

_MAKERS = (
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "atleast_1d", "empty",
    "empty_like", "eye", "full", "full_like", "identity", "linspace", "ones", "ones_like", "zeros", "zeros_like",
    "fromiter", "fromfunction", "vectorize", "select", "piecewise", "put", "copyto", "place", "putmask",
)  # fmt: skip
_NEEDS = {id(math), *(id(getattr(np, name)) for name in _MAKERS), *map(id, vars(math).values())}


def needs_adoption(objects: Iterable[Any]) -> bool:
    """True if one of the objects that a function reads is a function which knows ndarrays alone."""
    for x in objects:
        if id(x) in _NEEDS:
            return True
        if isinstance(x, np.ufunc):
            continue
        module = getattr(x, "__name__" if type(x) is type(math) else "__module__", None)
        if isinstance(module, str) and module.partition(".")[0] == "scipy":
            return True
    return False
