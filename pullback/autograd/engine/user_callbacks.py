"""Calls users' functions inside a backward: hooks, queued callbacks, and the backward of custom Functions.

They may start a backward of their own, whose hooks start another one. Each takes about ten frames of Python's stack,
which has room for a thousand by default, so that deep in such a nest the function goes on in a new thread, with a stack
of its own, while this one waits.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from pullback.core import cuts, modes
from pullback.core.errors import GradientError

DEEPEST = 30  # users' functions inside each other in one thread


class _Here(threading.local):
    depth = 0  # how many users' functions this thread is inside of
    outside = 0  # and how many there are around those, in the threads that wait for this one
    compiler: Any = None  # compiled_autograd(), in whose block this thread is
    nest: Any = None  # what all these threads have in common; None for a thread that nobody waits for

    def __init__(self) -> None:
        self.runs: list[Any] = []  # the Runs that go on here, and in the threads that wait for this one: innermost last


here = _Here()

# What users' functions want to be called at the end of the backward that has called them: (nest, depth, function).
queued: list[tuple[Any, int, Callable[[], Any]]] = []


def call(function: Callable[..., Any], args: tuple[Any, ...], records: bool, level: int) -> Any:
    """`function(*args)` with recording at `level` switched on or off."""
    before, depth = modes.current(), here.depth
    if level:  # the transform has run its function: what is made now is made inside of it all the same
        function, args = cuts.Run(level).watch, (function, *args)
    try:  # a signal's exception may come between any two lines
        modes.set_modes(before.within(level).with_recording(records, level))
        if depth >= DEEPEST:
            return _in_a_new_thread(function, args)
        here.depth = depth + 1
        return function(*args)
    finally:
        here.depth = depth
        modes.restore(before)


def _place() -> tuple[Any, int]:
    """Which nest of users' functions this thread belongs to, and how many it is inside of."""
    return here.nest or threading.get_ident(), here.outside + here.depth


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call a function of no arguments at the end of the backward that is running, when all gradients are in place.

    A hook, or the backward of a custom Function, calls this. What is queued runs in order; it may queue more. If the
    backward fails, it is dropped.

    Raises
    ------
    RuntimeError
        No backward is running.
    TypeError
        What is given cannot be called.

    Examples
    --------
    >>> from pullback.autograd import Variable
    >>> x = pb.ones(2, requires_grad=True)
    >>> queue = Variable._execution_engine.queue_callback
    >>> handle = x.register_hook(lambda grad: queue(lambda: print(x.grad)))
    >>> (2 * x).sum().backward()
    tensor([2., 2.])
    """
    if not callable(callback):
        raise TypeError(f"queue_callback takes a function without arguments, got {type(callback).__name__}.")
    nest, depth = _place()
    if not depth:
        raise GradientError(
            "Final callbacks can only be installed during backward pass: call queue_callback from a hook, or from the "
            "backward of a custom Function."
        )
    queued.append((nest, depth, callback))


def take_queued() -> Callable[[], Any] | None:
    """The first function that was queued by what the backward that ends here has called; it is queued no more."""
    nest, depth = _place()
    for entry in queued:
        if entry[0] == nest and entry[1] > depth:
            queued.remove(entry)
            return entry[2]
    return None


def drop_queued() -> None:
    """Forget what the backward that fails here was to call."""
    while take_queued() is not None:
        pass


def _in_a_new_thread(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The same function, modes and context variables on a fresh stack."""
    outcome: list[Any] = []
    nest, depth = _place()
    runs = here.runs

    def run() -> None:
        here.nest, here.outside, here.depth, here.runs = nest, depth, 1, runs
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
