"""A buffer that a moving value is written into: from then on it is a value, and its views follow it by their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_type import memory_of
from pullback.core.errors import InplaceError
from pullback.core.tensor import Tensor, hold, ndarray
from pullback.dispatch.operator import OPERATORS
from pullback.graph.view import ViewStep, base_of, live_views


def let_move(name: str, target: Tensor, moving: Callable[[Any], Any]) -> None:
    """Let `target`, its base and the base's views hold `moving(array)` in place of their arrays.

    Arrays that move have no memory that they could share. So each view is noted as what an index with the places of
    its elements takes from the base: written into one, the others are made again.
    """
    base = base_of(target)
    owner = target if base is None else base
    views = live_views(owner)
    memory = memory_of(owner)
    places = None if memory is None or not views else _addresses(memory)
    steps = [_step(name, owner, places, view) for view in views]
    for tensor in (owner, *views):
        hold(tensor, moving(tensor._array))
    for view, step in zip(views, steps, strict=True):
        view._extra.steps = (step,)  # type: ignore[union-attr]  # every view has an Extra


def _step(name: str, owner: Tensor, places: ndarray | None, view: Tensor) -> ViewStep:
    memory = memory_of(view)
    if places is not None and memory is not None and memory.dtype == owner.dtype:
        found, order = _addresses(memory), np.argsort(places, axis=None)
        sorted_places = places.ravel()[order]
        at = np.minimum(np.searchsorted(sorted_places, found), max(sorted_places.size - 1, 0))
        if not found.size or (sorted_places[at] == found).all():
            index = np.unravel_index(order[at] if found.size else at, owner.shape)
            return ViewStep(OPERATORS["advanced_index"], (index,), owner.shape, owner.dtype, None)
    raise InplaceError(
        f"{name} would write a value that moves along the curve of func.jet into memory that a view of another dtype "
        "shares. Write into the array itself before the view is made, or use the out-of-place form."
    )


def _addresses(array: ndarray) -> ndarray:
    """Where each element lies."""
    found = np.full(array.shape, array.__array_interface__["data"][0], np.int64)
    for axis, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        found += (np.arange(size) * stride).reshape([-1 if d == axis else 1 for d in range(array.ndim)])
    return found
