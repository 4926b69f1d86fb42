"""Letting programs write into tensors that nodes have saved: each is copied just before that happens."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, Self

from pullback.autograd.saved_hooks import saved_tensors_hooks
from pullback.core import modes
from pullback.core.array_type import array_type
from pullback.core.blocks import Steps, several
from pullback.core.errors import GradientError
from pullback.core.tensor import Tensor, wrap
from pullback.core.types import RawArray
from pullback.core.version import Counter, counter_of


class _Memory:
    """The saved tensors over one memory; lives as long as one of them."""

    __slots__ = ("__weakref__", "counter", "handles")

    def __init__(self, counter: Counter) -> None:
        self.counter = counter  # kept, so that its id belongs to nobody else meanwhile
        self.handles: weakref.WeakSet[_Handle] = weakref.WeakSet()


class _Handle:
    """A saved tensor: its array, a copy once the original is about to change, None once the context has been left."""

    __slots__ = ("__weakref__", "array", "level", "memory")

    def __init__(self, array: RawArray, level: int, memory: _Memory) -> None:
        self.array: RawArray | None = array
        self.level, self.memory = level, memory


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Context manager: a saved tensor may be modified in place; it is cloned just before that happens.

    Backward must run inside the context too, because what was saved is let go at its end.

    Raises
    ------
    RuntimeError
        Contexts are nested, or backward runs outside.

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.add_(1)
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        # By the id of the version counter, which all tensors over one memory share.
        self._by_counter: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()

    def _fresh(self) -> Self:
        return type(self)()

    def _changed(self, modes: modes.Modes) -> modes.Modes:
        if any(isinstance(i, allow_mutation_on_saved_tensors) for i in modes.observers):
            raise GradientError("allow_mutation_on_saved_tensors contexts cannot be nested; one is enough.")
        return super()._changed(modes)

    def _steps(self) -> Steps:
        enter, state, leave, outer = super()._steps()
        return enter, state, *several(partial(leave, outer), self._let_go)

    def _let_go(self) -> None:
        for handle in self._handles:
            handle.array = None

    def pack_hook(self, tensor: Tensor) -> _Handle:
        """Remember whose memory this is."""
        counter = counter_of(tensor)
        memory = self._by_counter.get(id(counter))
        if memory is None:
            memory = self._by_counter[id(counter)] = _Memory(counter)
        handle = _Handle(tensor._array, tensor._level, memory)
        memory.handles.add(handle)
        self._handles.add(handle)
        return handle

    @staticmethod
    def unpack_hook(handle: _Handle) -> Tensor:
        """The tensor as it was saved."""
        if handle.array is None:
            raise GradientError(
                "trying to run backward outside of the allow_mutation_on_saved_tensors context in which the graph was "
                "recorded, which has released its saved tensors; move the backward inside the context."
            )
        return wrap(handle.array, handle.level)

    def mutating(self, target: Tensor, name: str) -> None:
        memory = None if target._counter is None else self._by_counter.pop(id(target._counter), None)
        if memory is None:
            return
        copies: dict[int, Any] = {}
        for handle in list(memory.handles):
            array: Any = handle.array
            if id(array) not in copies:
                copies[id(array)] = array_type(array).copy(array)
            handle.array = copies[id(array)]
