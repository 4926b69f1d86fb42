"""Copies of arguments that are not tensors, which a node saves so that later changes by the caller cannot reach it.

An index ndarray that is filled anew in a loop, or a list of dimensions, has no version counter that could tell a node
of the change. So nodes keep copies: an index is small beside what is read by it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor

# What nobody can change. Nodes ask for it in a row, and call `snapshot` for the rest.
FIXED = frozenset([int, type(None), type(Ellipsis), float, complex, bool, str])

# Up to this size an ndarray of numbers is copied where a user's own rule saves it.
MANY = 65536


def snapshot(x: Any) -> Any:
    """`x`, with copies or numbers for the arrays in it and tuples for the lists: nothing that could change."""
    kind = type(x)
    if kind is slice:
        start, stop, step = x.start, x.stop, x.step
        fixed = (start is None or type(start) is int) and (stop is None or type(stop) is int)
        if fixed and (step is None or type(step) is int):
            return x
        return slice(*[end if end is None else end.__index__() for end in (start, stop, step)])
    if kind is np.ndarray:
        return copy_of(x) if x.ndim else x.item()
    if kind is tuple or kind is list:
        return tuple([item if type(item) in FIXED else snapshot(item) for item in x])
    if isinstance(x, Tensor):
        return snapshot(x.numpy(force=True))
    return x


def copy_of(array: Any) -> Any:
    """A copy that is read-only: a later node that keeps the same need not copy it again."""
    if array.base is None and not array.flags.writeable:
        return array
    made = array.copy()
    made.flags.writeable = False
    return made


def held_alone(found: list[Any], i: int, times: int = 1) -> bool:
    """True if nobody but this list, so many times, holds its array `i` and its memory: nobody can fill it anew."""
    return type(found[i]) is np.ndarray and found[i].base is None and _holders(found, i) < _ALONE + times


def _holders(found: list[Any], i: int) -> int:
    return sys.getrefcount(found[i])


_ALONE = _holders([np.empty(0)], 0)  # measured, since it depends on how this version of Python passes arguments


def kept_apart(found: list[Any], spared: Collection[int] = ()) -> list[Any]:
    """These leaves, with copies of the arrays that others hold too: a workspace, say, that is used again."""
    times = Counter(map(id, found))
    numbers = range(len(found))
    free = [i in spared or held_alone(found, i, times[id(found[i])]) for i in numbers]
    copies = {id(found[i]): found[i].copy() for i in numbers if issubclass(type(found[i]), np.ndarray) and not free[i]}
    return [found[i] if free[i] else copies.get(id(found[i]), found[i]) for i in numbers]
