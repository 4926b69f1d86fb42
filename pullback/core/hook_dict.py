"""Hooks in the order of their registration, and the handle that removes one again."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Self

from pullback.core.cuts import place_of_user
from pullback.core.lock import one_thread

_next_id = itertools.count().__next__


class RemovableHandle:
    """Removes a hook: `handle.remove()`, or a `with` block around the time it is wanted.

    It keeps neither the hook nor its tensor or node alive. Tensors are copied and pickled without their hooks, so a
    copied or pickled handle has nothing to remove.
    """

    def __init__(self, hooks: HookDict) -> None:
        self.id = _next_id()
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Take the hook away; harmless when it has gone already.

        Returns
        -------
        None

        Examples
        --------
        >>> import pullback as pb
        >>> x = pb.tensor(3.0, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: 10 * grad)
        >>> handle.remove()
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _handle_of_nothing, ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _handle_of_nothing() -> RemovableHandle:
    return RemovableHandle(HookDict())


class HookDict(dict[int, Callable[..., Any]]):
    """Hooks by handle id, in order of registration; a dict that a handle can refer to weakly."""

    __slots__ = ("__weakref__",)

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register `hook`; returns its handle."""
        handle = RemovableHandle(self)
        self[handle.id] = hook_of(hook)
        return handle

    def continued(self) -> HookDict:
        """Other hooks that begin with these, each for as long as it is registered here: handles know this dict."""
        return HookDict((nr, _while_registered(self, nr)) for nr in self)


class _NotCallable:
    """Stands for what was registered as a hook and cannot be called: says so in the backward that comes to it."""

    def __init__(self, given: Any) -> None:
        self.given, self.place = given, place_of_user()

    def __call__(self, *_: object) -> None:
        file, line = self.place
        raise TypeError(
            f"{type(self.given).__name__!r} object is not callable: a hook must be callable, and {self.given!r} was "
            f"registered as one by line {line} of {file}. Register a function there."
        )


def hook_of(given: Any) -> Callable[..., Any]:
    """`given` as a hook: itself, or what refuses to be called in its place."""
    return given if callable(given) else _NotCallable(given)


def _while_registered(hooks: HookDict, nr: int) -> Callable[..., Any]:
    def call(grad: Any) -> Any:
        hook = hooks.get(nr)
        return None if hook is None else hook(grad)

    call.__name__ = getattr(hooks[nr], "__name__", repr(hooks[nr]))
    return call


def hooks_in(owner: Any, name: str) -> HookDict:
    """The hooks that `owner` keeps in its attribute `name`, made if that is None: one dict for all threads."""
    with one_thread:
        hooks = getattr(owner, name)
        if hooks is None:
            hooks = HookDict()
            setattr(owner, name, hooks)
    return hooks  # type: ignore[no-any-return]


def warn_not_pickled(hooks: HookDict) -> None:
    """Say that the hooks of a tensor stay behind when it is pickled."""
    names = ", ".join(repr(getattr(hook, "__name__", hook)) for hook in hooks.values())
    warnings.warn(
        f"a tensor is pickled or copied without its hooks ({names}): register them again on the new one. To avoid this "
        "warning remove them first, or pickle t.detach().",
        stacklevel=3,
    )
