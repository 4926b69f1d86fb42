"""Writes whose value lies in the memory that is written, where NumPy reads what it has itself written before.

Most of NumPy's writes take a copy of such a value first, and so do ours. Some do not: `x[mask] = x[:3]`, `x.flat`,
`np.place`. What they leave depends on the order of their loop, and is no function that has been recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import InplaceError


def refuse_overlap(what: str, write: Callable[[Any, Any], None], out: Any, value: Any) -> None:
    """Raise, if `write(out, value)`, NumPy's own, would leave something else than for a copy of `value`."""
    if isinstance(out, np.ndarray) and isinstance(value, np.ndarray) and np.shares_memory(out, value):
        kept, copied = _same_places(out, value), _same_places(out, value)
        write(*kept)
        write(copied[0], copied[1].copy())
        if not np.array_equal(kept[0], copied[0]):
            raise InplaceError(
                f"{what}: the value lies in the memory that is written, and NumPy reads there what it has just written."
                " Write a copy of the value: y.copy()."
            )


def _same_places(*arrays: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Arrays that lie to each other as these do, in memory where each number is that of its place."""
    low = min(np.lib.array_utils.byte_bounds(a)[0] for a in arrays)
    high = max(np.lib.array_utils.byte_bounds(a)[1] for a in arrays)
    size = arrays[0].itemsize
    number = np.dtype(f"u{size}") if size <= 8 else np.dtype(complex)
    memory = np.arange(-(-(high - low) // size)).astype(number)
    return [np.ndarray(a.shape, number, memory.data, a.__array_interface__["data"][0] - low, a.strides) for a in arrays]
