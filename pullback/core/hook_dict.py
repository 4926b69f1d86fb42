"""Hooks in the order of their registration, and the handle that removes one again."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any, Self

_next_id = itertools.count().__next__


class RemovableHandle:
    """Removes a hook: `handle.remove()`, or a `with` block around the time it is wanted."""

    def __init__(self, hooks: HookDict) -> None:
        self.id = _next_id()
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Take the hook away; harmless when it has gone already."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class HookDict(dict[int, Callable[..., Any]]):
    """Hooks by handle id, in order of registration; a dict that a handle can refer to weakly."""

    __slots__ = ("__weakref__",)

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register `hook`; returns its handle."""
        if not callable(hook):
            raise TypeError(f"a hook must be callable, got {type(hook).__name__}.")
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle
