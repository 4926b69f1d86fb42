"""Running users' functions inside a backward: hooks, and the backward of custom Functions.

They may start a backward of their own, whose hooks start another one. Each takes about ten frames of Python's stack,
which has room for a thousand by default, so that deep in such a nest the function goes on in a new thread, with a stack
of its own, while this one waits.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from pullback.core import modes

DEEPEST = 30  # users' functions inside each other in one thread


class _Here(threading.local):
    depth = 0  # how many users' functions this thread is inside of


_here = _Here()


def call(function: Callable[..., Any], args: tuple[Any, ...], records: bool, level: int) -> Any:
    """`function(*args)` with recording at `level` switched on or off."""
    before, depth = modes.current(), _here.depth
    try:  # a signal's exception may come between any two lines
        modes.set_modes(before.with_recording(records, level))
        if depth >= DEEPEST:
            return _in_a_new_thread(function, args)
        _here.depth = depth + 1
        return function(*args)
    finally:
        _here.depth = depth
        modes.restore(before)


def _in_a_new_thread(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The same function, modes and context variables on a fresh stack."""
    outcome: list[Any] = []

    def run() -> None:
        _here.depth = 1
        try:
            outcome.extend((None, function(*args)))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            outcome.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), name="pullback-nested-backward")
    thread.start()
    try:
        thread.join()
    except BaseException:  # an interrupt, which only ever reaches the main thread: what runs cannot be left half done
        thread.join()
        raise
    error = outcome.pop(0)
    try:
        if error is not None:
            raise error
        return outcome.pop()
    finally:
        del error  # a traceback that leads back to its exception would be a cycle
