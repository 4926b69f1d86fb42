"""Noting what a graph does not keep of itself: source lines, times, and what flowed through each node in backward."""

from __future__ import annotations

import contextvars
import itertools
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType
from typing import Any, Self

import numpy as np

from pullback.autograd.anomaly.nonfinite import arrays_in
from pullback.autograd.anomaly.source_lines import remember_traceback, users_frames
from pullback.autograd.function.node import FunctionNode
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.observers import Observer
from pullback.core.types import Gradient
from pullback.graph.node import Node, node_extra
from pullback.viz.held import Held, held_by

_KEY = "recorded_"
_next_call = itertools.count().__next__
# The nodes that the innermost operator which runs in this thread or task has recorded so far.
_made: contextvars.ContextVar[list[Node] | None] = contextvars.ContextVar("pullback_recording", default=None)
# Name and seconds of what ran last. The node of a custom Function is recorded after its forward, not in it.
_ran: contextvars.ContextVar[tuple[str, float]] = contextvars.ContextVar("pullback_ran", default=("", 0.0))


@dataclass(frozen=True)
class Flow:
    """The size of a gradient: its 2-norm, how many entries it has, how many of them are NaN, infinite and zero."""

    norm: float
    size: int
    nan: int
    inf: int
    zero: int


@dataclass(slots=True)
class Record:
    """Holds what `recording` has noted of one node. Times are in seconds, None for what did not run inside."""

    calls: tuple[int, ...] = ()  # a number for each frame of the traceback: two calls of one function differ in it
    forward: float | None = None
    backward: float | None = None
    flow: Flow | None = None
    saved: list[Held] = field(default_factory=list)  # what backward found saved; the arrays themselves are let go of


class recording(Observer, ModeSwitch):
    """Context manager and decorator: note where each node is made, and what happens at it in backward.

    For `explore` and `memory`, which say by themselves only what a graph keeps, and it keeps no source lines. Inside,
    every node remembers the lines of the program that recorded it (as under `autograd.detect_anomaly`) and the time
    its operator took. A backward inside notes, for each node, the time of its formula, what it had saved, and the norm
    of the gradient that came to it with the numbers of NaNs, infinities and zeros in it.

    Notes
    -----
    It belongs to this thread or asyncio task, and disables all fast paths: some thirty microseconds an operator, and a
    pass over every gradient. Times include what looking on costs, of what is called inside too. The norm is that of
    all entries: NaN where one is NaN. Calls of one function are told apart, but not where a debugger looks on.

    Examples
    --------
    >>> from pullback import viz
    >>> x = pb.tensor([3.0, 4.0], requires_grad=True)
    >>> with viz.recording():
    ...     loss = (x * x).sum()
    ...     loss.backward()
    >>> viz.explore(loss, "graph.html")  # doctest: +SKIP
    PosixPath('graph.html')
    """

    watches_operators = watches_nodes = True

    def _fresh(self) -> Self:
        return self  # has no state

    def _changed(self, modes: Modes) -> Modes:
        if any(isinstance(observer, recording) for observer in modes.observers):
            return modes
        linecache.checkcache()  # files may have changed since lines of them were last shown
        return modes.with_observer(self)

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        made: list[Any] = []
        outer, began = _made.get(), perf_counter()
        try:
            _made.set(made)
            result = run()
        finally:
            _made.set(outer)
        seconds = perf_counter() - began
        _ran.set((name, seconds))
        for node in made:
            record = record_of(node)
            if record.forward is None:
                record.forward = seconds
        return result

    def recorded(self, node: Node, level: int) -> None:
        remember_traceback(node)
        record = record_of(node)
        record.calls = tuple(map(_call_number, users_frames()))[::-1]
        name, seconds = _ran.get()
        if isinstance(node, FunctionNode) and name == node._function.__name__:
            record.forward = seconds
        made = _made.get()
        if made is not None:
            made.append(node)

    def run_node(self, node: Node, grad: Gradient, run: Callable[[], Sequence[Gradient]]) -> Sequence[Gradient]:
        record = record_of(node)
        record.saved = [held.described() for held in held_by(node)]
        record.flow = flow(grad)
        began = perf_counter()
        grads = run()
        record.backward = perf_counter() - began
        return grads


class _Mark:
    """The number of a call, put on its frame, which nothing holds for it: what a program holds decides what it may do.

    The one place on a frame for such a thing is that of a debugger's function, which is asked in frames that a debugger
    came to; a debugger that comes later puts its own there.
    """

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = _next_call()

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        """Nothing to be done at a line."""


def _call_number(frame: FrameType) -> int:
    """The number of a call; where a debugger runs, the same for all calls of a function."""
    mark = frame.f_trace
    if mark is None:
        mark = frame.f_trace = _Mark()
    return mark.number if type(mark) is _Mark else id(frame.f_code)


def record_of(node: Node) -> Record:
    """Return what was noted of a node, made if nothing was yet."""
    record: Record = node_extra(node).metadata.setdefault(_KEY, Record())
    return record


def noted(node: Node) -> Record | None:
    """Return what was noted of a node; None if nothing was."""
    return None if node._extra is None else node._extra.metadata.get(_KEY)


def flow(grad: Any) -> Flow | None:
    """The size of a gradient, or of the several of a node with several outputs; None where there are no numbers."""
    arrays = arrays_in(grad)
    if not arrays:
        return None
    with np.errstate(all="ignore"):
        norms = [_norm(array) for array in arrays]
        return Flow(
            _norm(np.array(norms)),
            sum(array.size for array in arrays),
            sum(int(np.isnan(array).sum()) for array in arrays),
            sum(int(np.isinf(array).sum()) for array in arrays),
            sum(array.size - int(np.count_nonzero(array)) for array in arrays),
        )


def _norm(array: np.ndarray) -> float:
    """The 2-norm, of float16 too, and without the overflow of squares."""
    sizes = np.abs(array).astype(np.float64, copy=False)
    largest = sizes.max(initial=0.0)
    if not 0 < largest < np.inf:
        return float(largest)
    return float(largest * np.sqrt(np.square(sizes / largest).sum()))
