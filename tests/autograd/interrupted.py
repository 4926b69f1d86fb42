"""Exceptions of signals at every instant of a program, and what they may leave: nothing.

CPython runs the handler of a signal where a function of Python's begins, where a call of C's has returned and where a
loop jumps back. `every_instant` sends one at each event that the interpreter tells a profiler of, so that it is handled
at the next such place; `random_instants` sends them by a timer. By hand, as long as you like:

    PULLBACK_INTERRUPTS=100000 pytest tests/autograd/test_interrupts.py -k random
"""

from __future__ import annotations

import ctypes
import io
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count, repeat
from typing import Any

import numpy as np

import pullback as pb
from pullback.arrays.dual.levels import ENTERED
from pullback.autograd import forward_ad
from pullback.autograd.engine import user_callbacks
from pullback.core import modes
from pullback.core.cuts import WATCHED
from pullback.core.drawing import drawing
from pullback.core.lock import one_thread


class Stop(BaseException):
    """What the signal's handler raises."""


class _Call(io.IOBase):
    """`_Call().__exit__` takes any arguments and calls `close`, all in C: no handler can run in it."""

    closed = True


def _signals_at(event: int) -> tuple[Any, Any]:
    """A profiler that sends the signal at this event, in C, so that it waits for the program; and what is unsent."""
    profiler, unsent = _Call(), iter((signal.SIGALRM,))
    send = map(ctypes.pythonapi.PyErr_SetInterruptEx, unsent)
    profiler.close = partial(next, chain(repeat(None, event), send, repeat(None)))
    return profiler.__exit__, unsent


def _handler(*_: object) -> None:
    raise Stop


def every_instant(prepare: Callable[[], Callable[[], Any]], step: int = 1) -> Iterator[int]:
    """Run what `prepare()` returns again and again, stopped at one instant later each time, until none is left.

    With a step, at one out of so many instants, begun at random.
    """
    prepare()()  # what is imported at first use: NumPy's own modules can be imported but once
    before, profiler = signal.signal(signal.SIGALRM, _handler), sys.getprofile()
    try:
        for event in count(random.randrange(step), step):
            program = prepare()
            trigger, unsent = _signals_at(event)
            try:
                sys.setprofile(trigger)
                program()
                sys.setprofile(profiler)
            except Stop:
                pass
            finally:
                sys.setprofile(profiler)
            if unsent.__length_hint__():
                return
            yield event
    finally:
        signal.signal(signal.SIGALRM, before)


def left_over() -> list[str]:
    """The state that differs from that of a program in which nothing has run."""
    found = []
    state = modes.current()
    if state.level or state.off or state.inference or state.observers:
        found.append(f"modes: level {state.level}, off {state.off}, {state.inference}, {state.observers}")
    if not pb.is_grad_enabled() or not (pb.ones(1, requires_grad=True) * 1).requires_grad:
        found.append("nothing is recorded")
    if np.geterr() != _ERRORS or np.geterrcall() is not None:
        found.append(f"NumPy's error state: {np.geterr()}")
    if user_callbacks.here.runs:
        found.append("inside a backward")
        user_callbacks.here.runs.clear()
    if ENTERED.get():
        found.append("inside a dual level")
    if drawing.get() is not None:
        found.append("random numbers are a vmap's")
        drawing.set(None)
    if WATCHED:
        found.append("a transform's function is watched")
        WATCHED.clear()
    if not _free(one_thread):
        found.append("the lock is held")
    return found


_ERRORS = np.geterr()


def _free(lock: Any) -> bool:
    taken: list[bool] = []

    def take() -> None:
        taken.append(lock.acquire(timeout=1))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken[0]


def leaf(n: int = 4) -> pb.Tensor:
    """A leaf of n numbers."""
    return pb.tensor(np.linspace(0.1, 1.0, n), requires_grad=True)


class _Square(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def _nested() -> None:
    with pb.no_grad(), pb.enable_grad(), pb.inference_mode():
        pb.ones(2) * 2


@pb.no_grad()
def _decorated() -> None:
    pb.ones(2) * 2


def _in_blocks(*blocks: Callable[[], Any]) -> Callable[[], None]:
    def work() -> None:
        for block in blocks:
            with block():
                y = leaf() * leaf()
                if y.requires_grad:
                    y.sum().backward()

    return work


def _forward_mode() -> None:
    x = leaf()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, pb.ones(4))
        assert forward_ad.unpack_dual(dual.sin()).tangent is not None


def _custom() -> None:
    (_Square.apply(leaf()) * 2).sum().backward()


def _hooked() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda t: None)
    y.sum().backward()


def _second() -> None:
    x = leaf()
    (g,) = pb.autograd.grad((x**3).sum(), x, create_graph=True)
    (g * g).sum().backward()


def _partial() -> None:
    x, y = leaf(), leaf()
    pb.autograd.backward((x * y).sum(), inputs=[x])


def _early() -> None:
    with pb.utils.checkpoint.set_checkpoint_early_stop(False):
        pb.utils.checkpoint.checkpoint(
            lambda t: t.sin() * pb.nn.functional.dropout(t, 0.5, True), leaf()
        ).sum().backward()


saved = pb.autograd.graph
PROGRAMS: dict[str, Callable[[], Any]] = {
    "blocks": _nested,
    "decorator": _decorated,
    "detect_anomaly": _in_blocks(pb.autograd.detect_anomaly),
    "trace_nans": _in_blocks(pb.autograd.trace_nans),
    "saved tensors": _in_blocks(
        saved.save_on_cpu, lambda: saved.disable_saved_tensors_hooks("no"), saved.allow_mutation_on_saved_tensors
    ),
    "profile": _in_blocks(pb.autograd.profiler.profile, lambda: pb.autograd.profiler.record_function("part")),
    "dual_level": _forward_mode,
    "custom Function": _custom,
    "hooks": _hooked,
    "second derivative": _second,
    "inputs=": _partial,
    "checkpoint": _early,
    "reentrant": lambda: pb.utils.checkpoint.checkpoint(pb.sin, leaf(), use_reentrant=True).sum().backward(),
    "func.grad": lambda: pb.func.grad(lambda t: np.sum(np.sin(t) * t))(np.ones(3)),
    "func.jvp": lambda: pb.func.jvp(lambda t: t.sin() * t, (np.ones(3),), (np.ones(3),)),
    "func.vmap": lambda: pb.func.vmap(lambda t: np.sum(np.sin(t) * t))(np.ones((2, 3))),
    "func.vjp": lambda: pb.func.vjp(lambda t: np.sin(t) * t, np.ones(3))[1](np.ones(3)),
    "hessian": lambda: pb.autograd.functional.hessian(lambda t: (t**3).sum(), pb.ones(2)),
    "functional.jvp": lambda: pb.autograd.functional.jvp(lambda t: t**3, pb.ones(2), pb.ones(2)),
    "invalid": lambda: (leaf() * 0).sqrt().sqrt().sum().backward(),
}


def random_instants(tries: int) -> Counter[str]:
    """What `tries` interrupts left."""
    found: Counter[str] = Counter()
    before = signal.signal(signal.SIGALRM, _handler)
    hits, names = 0, list(PROGRAMS)
    durations = {}
    for name, program in PROGRAMS.items():
        program()
        began = time.perf_counter()
        program()
        durations[name] = time.perf_counter() - began
    try:
        while hits < tries:
            name = random.choice(names)
            stopped = False
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-6, durations[name]))
                PROGRAMS[name]()
            except Stop:
                stopped = True
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                continue
            if stopped:
                hits += 1
                for what in left_over():
                    found[f"{name}: {what}"] += 1
                    modes.restore(modes.Modes())
    finally:
        signal.signal(signal.SIGALRM, before)
    return found
