"""The signature of a call, for which a program is made: the forms of its arguments, and the state in which it is made.

Two calls with equal signatures run the same program, unless a guard says otherwise. Arrays are described by dtype,
shape and strides; numbers, strings and whatever else can be compared are part of the signature themselves.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import key_of
from pullback.core import modes
from pullback.core.array_face import ARRAYS
from pullback.core.dtypes import get_default_dtype
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, ndarray

_NUMBERS = frozenset({int, float, complex, bool, str, bytes, type(None)})


class Unfit:
    """An argument that no program takes: the call runs eagerly, for this reason."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


def form_of(x: Any) -> Hashable:
    """The form of one leaf of the arguments; an Unfit where none is known."""
    kind = type(x)
    if kind is ndarray:
        if x.dtype.kind not in "biufc":
            return Unfit(f"an array of dtype {x.dtype}")
        return (x.dtype, x.shape, x.strides, x.flags.writeable)
    if kind in _NUMBERS:
        return key_of(x)
    if isinstance(x, np.generic):
        return (kind, x.dtype)
    if issubclass(kind, Tensor):
        array = x._array
        if kind in ARRAYS or x._level or type(array) is not ndarray:
            return Unfit("a Tensor inside of a transform")
        return (kind, array.dtype, array.shape, array.strides, x._requires_grad)
    if issubclass(kind, ndarray):
        return Unfit(f"an array of the class {kind.__name__}")
    if isinstance(x, (np.dtype, type, slice, type(...))):
        return key_of(x)
    return Unfit(f"an argument of type {kind.__name__}, whose contents nothing tells")


def signature_of(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Hashable, list[Any], Any]:
    """(signature, leaves, structure) of a call."""
    if not kwargs and all(type(x) is ndarray for x in args):
        return tuple(map(form_of, args)), list(args), None
    leaves, structure = flatten((args, kwargs))
    return (_frozen(structure), _repeated(leaves), *map(form_of, leaves)), leaves, structure


def _repeated(leaves: Sequence[Any]) -> Hashable:
    """Which Tensors are given more than once, by position: a write into one is seen in the other."""
    tensors = [id(x) for x in leaves if isinstance(x, Tensor)]
    return None if len(set(tensors)) == len(tensors) else tuple(map(tensors.index, tensors))


def _frozen(structure: Any) -> Hashable:
    if isinstance(structure, (int, type(None))):
        return structure
    sort, kind, parts = structure
    kind = kind if isinstance(kind, type) else getattr(kind, "kind", id(kind))
    if isinstance(parts, dict):
        return (sort, kind, *((key, _frozen(part)) for key, part in parts.items()))
    return (sort, kind, *map(_frozen, parts))


def surroundings() -> Hashable:
    """The state around a call that a program depends on."""
    state = modes.current()
    return (state.off, get_default_dtype())
