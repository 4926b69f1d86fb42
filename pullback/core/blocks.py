"""`with` blocks that a signal's exception (Ctrl-C) cannot leave half entered or half left.

CPython runs signal handlers between two instructions: when a function of Python's begins, when a call of one of C's has
returned, when a loop jumps back. So an `__exit__` written in Python may end before its first line, and what it should
have undone stays. An `__enter__` is safe: what is raised inside it, it can catch, and once it returns the block has
begun. Hence here `__exit__` is one call of C, which runs a list of others.

Two facts of CPython's are built on. `with` looks `__exit__` up before it calls `__enter__`, so that `__enter__` can
say what the one that was looked up shall do. And io.IOBase has an `__exit__` in C, which calls what `close` is.
"""

from __future__ import annotations

import contextvars
import io
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from operator import call, is_
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

# What C can call alone: methods of C's types, or a `partial` of one. What is Python's may stand at the end.
Steps: TypeAlias = tuple[Callable[[], Any], ...]


class _Undo(list[Callable[[], Any]]):
    """What leaves a block again; empty once that has happened."""

    switch: Block | None = None  # whose block it is, where no `with` statement will leave it


# The blocks that this thread or task is inside of, the innermost last. Kept here and not by the switches, since one
# object may serve several threads and tasks at once.
_entered: contextvars.ContextVar[tuple[_Undo, ...]] = contextvars.ContextVar("pullback_entered", default=())


class _Exit(io.IOBase):
    """The `__exit__` of one block: a call of C that runs `close`."""

    closed = True  # nothing to do for a finaliser

    def __init__(self, switch: Block) -> None:
        self.switch = switch

    def close(self) -> None:
        """Leave the innermost block of the switch; `__enter__` puts a call of C in place of this."""
        self.switch._leave()


# The `__exit__` that was looked up last, if it is still there.
_Offer: TypeAlias = Callable[[], _Exit | None]
_offered: contextvars.ContextVar[_Offer] = contextvars.ContextVar("pullback_exit", default=lambda: None)


class _ExitOfBlock:
    """`Block.__exit__`: looked up for each block anew."""

    def __get__(self, switch: Block | None, kind: type[Block]) -> Callable[..., None]:
        if switch is None:
            return _leave  # as contextlib.ExitStack asks for it
        leave = _Exit(switch)
        _offered.set(ref(leave))
        return leave.__exit__


def _leave(switch: Block, *_: object) -> None:
    switch._leave()


class Block:
    """A context manager that enters and leaves at once. Subclasses say what that is.

    It may be entered again inside itself, and by several threads and tasks at a time.
    """

    def _steps(self) -> tuple[Steps, Steps]:
        """What enters the block, and what leaves it again: for the state as it is now, which this leaves alone."""
        raise NotImplementedError

    def _named(self) -> Any:
        """What `with ... as` gives."""
        return self

    def __enter__(self) -> Any:
        enter, leave = self._steps()
        named = self._named()
        undo = _Undo(leave)
        undo.insert(0, undo.clear)
        before = _entered.get()
        if before and not before[-1]:
            before = tuple(filter(None, before))  # those that have not been left
        try:
            _entered.set((*before, undo))
            chosen = _offered.get()()
            if chosen is not None and chosen.switch is self:
                chosen.close = partial(deque, _leaving(undo), 0)  # type: ignore[method-assign, assignment]
                chosen = None
            else:
                undo.switch = self
            for step in enter:
                step()
        except BaseException:
            deque(map(call, tuple(undo)), 0)
            raise
        return named

    if TYPE_CHECKING:

        def __exit__(self, *_: object) -> None: ...

    else:
        __exit__ = _ExitOfBlock()

    def _leave(self) -> None:
        """Leave the innermost block of this object; nothing, if it was entered in another thread or task."""
        entered = _entered.get()
        for undo in reversed(entered):
            if undo.switch is self:
                undo.append(partial(_entered.set, tuple(other for other in entered if other is not undo)))
                deque(_leaving(undo), 0)
                return


def _leaving(undo: _Undo) -> Iterator[Any]:
    """Steps in C that undo a block, if it was entered in this thread or task."""
    # Blocks of generators may end in another order than they began, and in another thread: so it is looked for.
    blocks_here = chain.from_iterable(map(call, (_entered.get,)))
    return map(call, chain.from_iterable(map(tuple, filter(partial(is_, undo), blocks_here))))
