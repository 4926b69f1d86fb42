"""Describes the objects that a function holds, so that two traces can be compared which call it."""

from __future__ import annotations

from collections.abc import Hashable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.arrays.batched import Batch
from pullback.arrays.traced.graph import Graph, key_of
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.held_objects import Whole, attributes_of, items_of

_MOST = 5000  # objects, past which a description is equal to none
_ITSELF = (type, ModuleType, BuiltinFunctionType, CodeType, np.ufunc)


def described(x: Any, graph: Graph, traced: type) -> Hashable:
    """A description of an object, and of all that it holds, equal for two that do the same in two traces.

    Each object is described once in a graph: later steps find it with what earlier ones have left in it.
    """
    return _Description(graph, traced).of(x)


class _Description:
    def __init__(self, graph: Graph, traced: type) -> None:
        self._graph, self._traced = graph, traced

    def of(self, x: Any) -> Hashable:
        """The description of one object."""
        kind = type(x)
        if issubclass(kind, Tensor):
            return self._new(x) or (kind, x._level, x._requires_grad, self.of(x._array))
        if kind in (int, float, complex, bool, str, bytes, type(None)) or isinstance(x, (np.generic, np.dtype)):
            return key_of(x)
        if isinstance(x, _ITSELF):
            return id(x)
        if kind is self._traced:
            return ("value", x.at.number if x.at.graph is self._graph else id(x))
        if (known := self._new(x)) is not None:
            return known
        if kind is ndarray and not x.dtype.hasobject:
            return ("array", key_of(x))
        if isinstance(x, Whole):  # what functions captured: they themselves tell
            return (kind,)
        if kind is Batch:  # whose number no other one has
            return (kind, x.size)
        return (kind, *self._parts(x))

    def _new(self, x: Any) -> Hashable:
        """None for an object that is described for the first time, else what tells it from others."""
        seen = self._graph.described
        if (known := seen.get(id(x))) is not None:
            return ("seen", known[0])
        seen[id(x)] = (len(seen), x)
        return object() if len(seen) > _MOST else None

    def _parts(self, x: Any) -> Any:
        if isinstance(x, FunctionType):
            yield id(x.__code__)
        if isinstance(x, MethodType):
            yield from map(self.of, (x.__func__, x.__self__))
            return
        items = items_of(x)
        if isinstance(items, dict):
            yield tuple((self.of(key), self.of(part)) for key, part in items.items())
        else:
            yield tuple(map(self.of, items))
        for name, part, _ in attributes_of(x):
            if name != "__wrapped__":
                yield name, self.of(part)
