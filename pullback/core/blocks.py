"""`with` blocks that a signal's exception (Ctrl-C) cannot leave half entered or half left.

CPython runs signal handlers between two instructions: when a function of Python's begins, when a call of one of C's has
returned, when a loop jumps back. So an `__exit__` written in Python may end before its first line, and what it should
have undone stays. An `__enter__` is safe: what is raised inside it, it can catch, and once it returns the block has
begun. Hence here `__exit__` is one call of C, which runs a list of others.

Two facts of CPython's are built on. `with` looks `__exit__` up before it calls `__enter__`, so that `__enter__` can
say what the one that was looked up is to do. And io.IOBase has an `__exit__` in C, which calls what `close` is.
"""

from __future__ import annotations

import contextvars
import io
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_ITERABLE_COROUTINE
from itertools import chain
from operator import call, is_
from sys import _getframe
from typing import Any, TypeAlias
from weakref import ref

# What enters a block and what leaves it, each a function of C's and its argument.
Steps: TypeAlias = tuple[Callable[[Any], Any], Any, Callable[[Any], Any], Any]


def several(*steps: Callable[[], Any]) -> tuple[Callable[[Any], Any], Any]:
    """Half of `Steps`: these, one after another. What is Python's may stand at the end."""
    return _call_all, map(call, steps)


_call_all: Callable[[Any], Any] = partial(deque, maxlen=0)


class _ByHand(list[Any]):
    """The undo list of a block that no `with` statement will leave."""

    __slots__ = ("leave", "switch")

    def __init__(self, outer: Any, switch: Block, leave: Callable[[Any], Any]) -> None:
        super().__init__((outer,))
        self.switch = switch
        self.leave = leave


# The blocks that this thread or task is inside of, the innermost last: for each a list of what its leaving function
# takes, which is empty once the block has been left. Kept here and not by the switches, since one object may serve
# several threads and tasks at once.
_entered: contextvars.ContextVar[tuple[list[Any], ...]] = contextvars.ContextVar("pullback_entered", default=())
_MANY = 16  # blocks; those that have been left are looked for among so many

# Functions of these kinds may wait inside a block, and go on in another thread or task, or never. All others leave
# their blocks where they entered them, so that nobody need look whether it is so.
_MAY_WAIT = CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR


class _Exit(io.IOBase):
    """The `__exit__` of one block: a call of C that runs `close`."""

    __slots__ = ("close", "switch")

    closed = True  # nothing to do for a finaliser
    switch: Block | None
    close: Callable[[], Any]  # a method of IOBase


# The `__exit__` that was looked up last, if it is still there.
_Offer: TypeAlias = Callable[[], _Exit | None]
_offered: contextvars.ContextVar[_Offer] = contextvars.ContextVar("pullback_exit", default=lambda: None)


class _ExitOfBlock:
    """`Block.__exit__`: looked up for each block anew."""

    def __get__(self, switch: Block | None, kind: type[Block]) -> Callable[..., None]:
        if switch is None:
            return _leave  # as contextlib.ExitStack asks for it
        leave = _Exit()
        leave.switch = switch
        leave.close = switch._leave  # unless `__enter__` puts a call of C in its place
        _offered.set(ref(leave))
        return leave.__exit__


def _leave(switch: Block, *_: object) -> None:
    switch._leave()


def _register(undo: list[Any]) -> None:
    """Note that this thread or task is inside a block."""
    before = _entered.get()
    if before and (not before[-1] or len(before) > _MANY):
        before = tuple(filter(None, before))
    _entered.set((*before, undo))


def _leaving(undo: list[Any], leave: Callable[[Any], Any]) -> Iterator[Any]:
    """An iterator, in C, that leaves the block, only once and only in the thread or task that entered it."""
    # Blocks of generators may end in another order than they began, and in another thread: so it is looked for.
    blocks_here = chain.from_iterable(map(call, (_entered.get,)))
    return map(leave, map(list.pop, filter(partial(is_, undo), blocks_here)))


class Block:
    """A context manager that enters and leaves at once. Subclasses say what that is.

    It may be entered again inside itself, and by several threads and tasks at a time.
    """

    _named: Callable[[], Any] | None = None  # what `with ... as` gives, if that is not the block
    _enters_alone = True  # whether `with` calls `__enter__` below, and no other that calls it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._enters_alone = cls.__enter__ is Block.__enter__

    def _steps(self) -> Steps:
        """The functions that enter the block and leave it again, for the present state, which this does not change."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        enter, state, leave, outer = self._steps()
        named = self if self._named is None else self._named()
        chosen = _offered.get()()
        undo = [outer]
        try:
            if chosen is None or chosen.switch is not self:
                undo = _ByHand(outer, self, leave)
                _register(undo)
            elif self._enters_alone and not _getframe(1).f_code.co_flags & _MAY_WAIT:
                chosen.switch = None
                chosen.close = partial(deque, map(leave, undo), 0)
            else:
                chosen.switch = None
                chosen.close = partial(deque, _leaving(undo, leave), 0)
                _register(undo)
            enter(state)
        except BaseException:
            undo.clear()
            leave(outer)
            raise
        return named

    __exit__ = _ExitOfBlock()

    def _leave(self) -> None:
        """Leave the innermost block of this object; nothing, if it was entered in another thread or task."""
        for undo in reversed(_entered.get()):
            if undo and isinstance(undo, _ByHand) and undo.switch is self:
                deque(_leaving(undo, undo.leave), 0)
                return
