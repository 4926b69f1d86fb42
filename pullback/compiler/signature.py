"""The signature of a call, for which a program is made: the forms of its arguments, and the state around it.

Two calls with equal signatures run the same program, unless a guard says otherwise. Arrays are described by dtype,
shape and strides; numbers, strings and whatever else can be compared are part of the signature themselves.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import key_of
from pullback.core.array_face import ARRAYS
from pullback.core.dtypes import get_default_dtype
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, ndarray

_NUMBERS = frozenset({int, float, complex, bool, str, bytes, type(None)})
_LEAVES = (_NUMBERS | {ndarray, Tensor, *ARRAYS, np.float64, np.float32}) - {type(None)}


class Unfit:
    """An argument that no program takes: the call runs eagerly, for this reason; "" where that is as it should be."""

    __slots__ = ("why",)
    __hash__ = None  # type: ignore[assignment]  # so no signature with one is found

    def __init__(self, why: str) -> None:
        self.why = why


def form_of(x: Any) -> Any:
    """The form of one leaf of the arguments; an Unfit where none is known.

    Of an ndarray it says nothing of what no program takes at all: see `unfit`.
    """
    kind = type(x)
    if kind is ndarray:
        return (x.dtype, x.shape, x.strides)
    if kind in _NUMBERS:
        return key_of(x)
    if issubclass(kind, np.generic):
        return (kind, x.dtype)
    if issubclass(kind, Tensor):
        array = x._array
        if type(array) is not ndarray:
            return Unfit("")  # a batch, a dual number, a level within another: the function's operators run
        return (kind, array.dtype, array.shape, array.strides, x._level if x._requires_grad else None)
    if issubclass(kind, ndarray):
        return Unfit(f"an array of the class {kind.__name__}")
    if isinstance(x, (np.dtype, type, slice, type(...))):
        return key_of(x)
    if isinstance(x, Enum) and type(x.value) in _NUMBERS:  # others may hold what changes
        return (kind, x)
    return Unfit(f"an argument of type {kind.__name__}, whose contents nothing tells")


def signature_of(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[Any], Any]:
    """(signature, leaves, structure) of a call."""
    if not kwargs and all(type(x) in _LEAVES for x in args):
        forms = tuple(map(form_of, args))
        if len(args) > 1 and (repeated := _repeated(args)) is not None:
            forms += (repeated,)
        return forms, list(args), None
    leaves, structure = flatten((args, kwargs))
    return (frozen(structure), _repeated(leaves), *map(form_of, leaves)), leaves, structure


def _repeated(leaves: Sequence[Any]) -> Hashable:
    """By position, the Tensors that are given more than once: a write into one is seen in the other."""
    tensors = [id(x) for x in leaves if type(x) is not ndarray and isinstance(x, Tensor)]
    return None if len(set(tensors)) == len(tensors) else tuple(map(tensors.index, tensors))


def frozen(structure: Any) -> Hashable:
    """The structure of a tree, to be compared with others."""
    if isinstance(structure, (int, type(None))):
        return structure
    sort, kind, parts = structure
    kind = kind if isinstance(kind, type) else _frozen_kind(kind)
    if isinstance(parts, dict):
        return (sort, kind, *[(key, part if type(part) is int else frozen(part)) for key, part in parts.items()])
    return (sort, kind, *[part if type(part) is int else frozen(part) for part in parts])


def _frozen_kind(kind: Any) -> Hashable:
    """A stand-in for a class that makes its containers in its own way: of a registered one, with their context."""
    if hasattr(kind, "kind"):
        return kind.kind  # type: ignore[no-any-return]
    try:
        hash(kind.context)
    except TypeError:
        return id(kind)  # equal to no other
    return (kind.cls, type(kind.context), kind.context)


def unfit(leaves: Sequence[Any], signature: Sequence[Any]) -> Unfit | None:
    """The first leaf that no program takes."""
    for form in signature:
        if type(form) is Unfit:
            return form
    if len({x._level for x in leaves if isinstance(x, Tensor) and x._requires_grad}) > 1:
        return Unfit("")  # differentiated at several levels
    for x in leaves:
        if type(x) is ndarray and x.dtype.kind not in "biufc":
            return Unfit(f"an array of dtype {x.dtype}")
    return None


def repeated(leaves: Sequence[Any]) -> tuple[int, ...]:
    """For each array or Tensor its first place among the leaves: one that is given twice is one in a program too."""
    places: dict[int, int] = {}
    return tuple(places.setdefault(id(x), nr) for nr, x in enumerate(leaves) if isinstance(x, (Tensor, ndarray)))


def classes_of(structure: Any, leaves: Sequence[Any]) -> set[type]:
    """The classes of the containers and of the leaves of a call, but those of plain numbers and arrays."""
    found = {x if isinstance(x, type) else type(x) for x in leaves} - _LEAVES
    todo = [structure]
    while todo:
        x = todo.pop()
        if not isinstance(x, (int, type(None))):
            _, kind, parts = x
            found.add(kind if isinstance(kind, type) else getattr(kind, "kind", type(kind)))
            todo += parts.values() if isinstance(parts, dict) else parts
    return {kind for kind in found if isinstance(kind, type)}


def in_words(x: Any) -> str:
    """The form of a leaf for a reader: "float64 (3, 4)"."""
    if isinstance(x, Tensor):
        array: Any = x._array
        kind = "" if type(x) in ARRAYS else f"{type(x).__name__} "
        return f"{kind}{array.dtype} {tuple(array.shape)}{', requires grad' if x._requires_grad else ''}"
    if type(x) is ndarray:
        return f"{x.dtype} {x.shape}"
    return str(x.dtype) if issubclass(type(x), np.generic) else repr(x) if type(x) in _NUMBERS else type(x).__name__


class Floats:
    """Which of a function's numbers vary from call to call: these become inputs of its programs.

    A number is part of the signature at first, because a program may depend on it in any way. At its third value it is
    taken as an array without dimensions. Where there are arrays of another precision than a Python number has, which
    does not count for the dtype of a result, it stays what it is.
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, set[Any]] = {}

    def lifted(self, signature: tuple[Any, ...], leaves: list[Any]) -> list[Any] | None:
        """The leaves with NumPy's numbers for Python's, where these vary; None if they stay."""
        places = [nr for nr, x in enumerate(leaves) if type(x) is float]
        if not places or get_default_dtype() != np.float64 or not all(_is_double(x) for x in leaves):
            return None
        if Unfit in map(type, signature):
            return None
        family = tuple(form for form in signature if type(form) is not tuple or form[:1] != (float,))
        values = self._seen.setdefault(family, set())
        if len(values) <= 2:
            values.add(tuple(leaves[nr].hex() for nr in places))
        if len(values) <= 2:
            return None
        return [np.float64(x) if type(x) is float else x for x in leaves]


def _is_double(x: Any) -> bool:
    dtype = getattr(x._array if isinstance(x, Tensor) else x, "dtype", None)
    return dtype is None or dtype.str[1:] in ("f8", "c16") or dtype.kind in "biu"
