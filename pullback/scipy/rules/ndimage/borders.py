"""Images continued beyond their borders, as scipy.ndimage's filters see them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray, Numeric
from pullback.core.tensor import Tensor
from pullback.interop.operands import ops
from pullback.scipy.rules.ndimage.kernels import folded

_NAMES = {"grid-mirror": "reflect", "grid-constant": "constant", "wrap": "grid-wrap"}
MODES = ("reflect", "mirror", "nearest", "constant", "grid-wrap")


def sequence(x: Any, n: int) -> list[Any]:
    """One item for each of n axes."""
    if x is None or issubclass(type(x), (int, float, str)):  # of which np.ndim makes arrays
        return [x] * n
    items = list(x) if isinstance(x, (list, tuple)) or np.ndim(x) else [x] * n
    if len(items) != n:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return items


def mode_of(mode: str) -> str:
    """The mode by the one name that is used here."""
    mode = _NAMES.get(mode, mode)
    if mode not in MODES:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    return str(mode)


@functools.lru_cache(64)
def indices(n: int, before: int, after: int, mode: str) -> AnyArray:
    """Which elements stand at -before, ..., n + after - 1, read-only; -1 for the constant."""
    places: Any = np.arange(-before, n + after)
    places = np.where((places >= 0) & (places < n), places, -1) if mode == "constant" else folded(places, n, mode)
    places.flags.writeable = False  # filters are called for a few sizes, again and again
    return places


def continued(x: AnyArray, axis: int, before: int, after: int, mode: str, cval: Numeric) -> AnyArray:
    """The image with more elements along one axis."""
    if mode == "constant":
        widths = [(0, 0)] * x.ndim
        widths[axis] = (before, after)
        wide = np.pad(x, widths)
        if type(cval) in (int, float) and cval == 0:
            return wide
        inside = indices(x.shape[axis], before, after, mode) >= 0
        return np.where(inside.reshape([-1] + [1] * (x.ndim - 1 - axis)), wide, cval)  # cval may be nan
    places = indices(x.shape[axis], before, after, mode)
    # not np.take, which records a copy in NumPy's order after it
    return ops.advanced_index(x, (slice(None),) * axis + (places,)) if isinstance(x, Tensor) else x.take(places, axis)
