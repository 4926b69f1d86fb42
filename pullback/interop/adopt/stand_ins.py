"""Says which functions of NumPy and `math` have a dispatcher in adopted modules, and gives it."""

from __future__ import annotations

import cmath
import functools
import math
from typing import Any

import numpy as np

from pullback.interop.adopt.creation import (
    Arange,
    Checked,
    Conversion,
    Creation,
    FromIterable,
    Full,
    Required,
    Uninitialized,
)
from pullback.interop.adopt.dispatchers import WithLists
from pullback.interop.adopt.mathematics import dispatchers

CREATION: dict[str, type[Creation]] = {
    **dict.fromkeys(
        ("zeros", "ones", "eye", "identity", "tri", "linspace", "logspace", "geomspace", "zeros_like",
         "ones_like", "full_like", "diag", "diagflat", "copy", "vander", "tile"),
        Creation,
    ),
    **dict.fromkeys(("empty", "empty_like"), Uninitialized),
    **dict.fromkeys(("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"), Conversion),
    "asarray_chkfinite": Checked, "require": Required, "full": Full, "arange": Arange, "fromiter": FromIterable,
}  # fmt: skip


@functools.cache
def functions(always: bool = False) -> dict[int, Any]:
    """The dispatchers by the ids of their functions, which cannot all be hashed. See `Creation` for `always`."""
    made = [kind(getattr(np, name), always) for name, kind in CREATION.items()]
    of_lists = (f for home in (np, np.linalg, np.fft) for f in vars(home).values() if type(f) is type(np.sum))
    return {
        **{id(function): WithLists(function) for function in of_lists},
        **{id(dispatcher.genuine): dispatcher for dispatcher in made},
        **{id(dispatcher.genuine): dispatcher for home in (math, cmath) for dispatcher in dispatchers(home).values()},
    }
