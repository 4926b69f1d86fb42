"""Taking a profile: `profile` looks on, `record_function` names what the program does meanwhile."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Self, TypeAlias

import numpy as np

from pullback.autograd.profiler.event import FunctionEvent, FunctionEventAvg
from pullback.autograd.profiler.events import EventAverages, EventList
from pullback.core import modes
from pullback.core.arguments import spread_lists
from pullback.core.array_type import is_array, memory_of
from pullback.core.blocks import Steps, several
from pullback.core.errors import UnsupportedError
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.observers import Observer
from pullback.core.tensor import ndarray
from pullback.core.types import Gradient, Shape
from pullback.graph.node import Node

_Running: TypeAlias = "Mapping[profile, FunctionEvent]"
# The innermost event of each profile that is running in this thread or task. Never changed once made, as are the modes.
_running: contextvars.ContextVar[_Running] = contextvars.ContextVar("pullback_profiles", default={})  # noqa: B039


class profile(Observer, ModeSwitch):
    """Context manager and decorator: time every operator, and every node that a backward runs.

    Listed are the primitive operators by name, in-place forms with an underscore behind it; what is composed of others
    (`nn.functional.layer_norm`, say) appears as those. Custom Functions appear by their class, backward nodes as
    "MulBackward0". Leaves, where gradients are added to `.grad`, do not appear. Times are of the wall clock and include
    what looking on costs, about 5 us an event.

    Parameters
    ----------
    enabled : bool, default True
        With False nothing is measured.
    record_shapes : bool, default False
        Keep the shapes of the inputs: see `key_averages(group_by_input_shape=True)`.
    profile_memory : bool, default False
        Count the bytes of results that share memory with no input.
    use_cuda, use_device, with_flops, with_stack, with_modules, use_kineto, use_cpu, acc_events : optional
        PyTorch's further options: accepted as they are by default, refused where they ask for what is not measured.

    Raises
    ------
    TypeError
        There is no option of that name.
    RuntimeError
        An option of PyTorch's asks for what is not measured.

    Notes
    -----
    It looks on in this thread or asyncio task, and in the tasks started inside it. A thread started inside is seen if
    it enters the profile too (``with prof:``), or runs in a copy of the context (`contextvars.copy_context`). Entered
    again later, or called again as a decorator, it goes on collecting. An event is kept for every call, about 300
    bytes: profile some steps, not a whole run.

    Examples
    --------
    >>> x = pb.ones(1000, requires_grad=True)
    >>> with pb.autograd.profiler.profile() as prof:
    ...     with pb.autograd.profiler.record_function("loss"):
    ...         loss = (x.sin() * x).sum()
    ...     loss.backward()
    >>> sorted(row.key for row in prof.key_averages())
    ['MulBackward0', 'SinBackward0', 'SumBackward0', 'loss', 'mul', 'sin', 'sum']
    >>> print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=1))  # doctest: +SKIP
    ----  ----------  --------  -----------  ---------  ------------  ----------
    Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  # of Calls
    ----  ----------  --------  -----------  ---------  ------------  ----------
    """

    watches_operators = watches_nodes = True

    def __init__(
        self, enabled: bool = True, *, record_shapes: bool = False, profile_memory: bool = False, **others: Any
    ) -> None:
        _refuse(others)
        self.enabled = bool(enabled)
        self.record_shapes, self.profile_memory = bool(record_shapes), bool(profile_memory)
        self._events: list[FunctionEvent] = []
        self._began = perf_counter_ns()

    def _fresh(self) -> Self:
        return self

    def _changed(self, modes: Modes) -> Modes:
        if not self.enabled or self in modes.observers:
            return modes
        if not self._events:
            self._began = perf_counter_ns()
        return modes.with_observer(self)

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        outer, event = _running.get(), None
        try:
            event = self._begin(name, "operator", self._shapes(args))
            result = run()
        finally:
            _running.set(outer)
            self._end(event)
        if self.profile_memory:
            _count_memory(event, result, args)
        return result

    def run_node(self, node: Node, grad: Gradient, run: Callable[[], Sequence[Gradient]]) -> Sequence[Gradient]:
        given = list(grad) if isinstance(grad, (list, tuple)) else [grad]
        outer, event = _running.get(), None
        try:
            event = self._begin(node.name(), "backward", self._shapes(given))
            event.sequence_nr = node._sequence_nr
            grads = run()
        finally:
            _running.set(outer)
            self._end(event)
        if self.profile_memory:
            _count_memory(event, grads, given)
        return grads

    def recorded(self, node: Node, level: int) -> None:
        event = _running.get().get(self)
        if event is not None and event.kind == "operator":
            event.sequence_nr = node._sequence_nr

    def _begin(self, name: str, kind: str, shapes: tuple[Shape, ...] = (), args: str | None = None) -> FunctionEvent:
        outer = _running.get()
        caller = outer.get(self)
        event = FunctionEvent(name, kind, 0.0, _thread(), caller, input_shapes=shapes, args=args)
        if caller is not None:
            caller.cpu_children.append(event)
        self._events.append(event)
        _running.set({**outer, self: event})
        event.start_us = event.end_us = self._now()  # last, so that this function's own time is not counted
        return event

    def _end(self, event: FunctionEvent | None) -> None:
        if event is not None:  # else interrupted before it began
            event.end_us = self._now()

    def _now(self) -> float:
        return (perf_counter_ns() - self._began) / 1e3

    def _shapes(self, args: Sequence[Any]) -> tuple[Shape, ...]:
        if not self.record_shapes:
            return ()
        return tuple(tuple(x.shape) for x in spread_lists(args) if is_array(x))

    @property
    def function_events(self) -> EventList:
        """Every event so far: see `EventList` and `FunctionEvent`."""
        return EventList(self._events, self.profile_memory)

    def events(self) -> EventList:
        """Every event so far; `function_events` by its other name.

        Returns
        -------
        EventList

        Examples
        --------
        >>> with pb.autograd.profiler.profile() as prof:
        ...     _ = pb.ones(2).sin().sin()
        >>> [event.name for event in prof.events()]
        ['sin', 'sin']
        """
        return self.function_events

    def key_averages(self, group_by_input_shape: bool = False) -> EventAverages:
        """The sums by name, which print themselves as a table.

        Parameters
        ----------
        group_by_input_shape : bool, default False
            Sum by name and shapes of the inputs; for a profile with `record_shapes=True`.

        Returns
        -------
        EventAverages

        Examples
        --------
        >>> with pb.autograd.profiler.profile(record_shapes=True) as prof:
        ...     _ = pb.ones(2).sin(), pb.ones(3).sin()
        >>> rows = prof.key_averages(group_by_input_shape=True)
        >>> sorted((row.key, row.input_shapes) for row in rows)
        [('sin', ((2,),)), ('sin', ((3,),))]
        """
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All events as one row.

        Returns
        -------
        FunctionEventAvg

        Examples
        --------
        >>> with pb.autograd.profiler.profile() as prof:
        ...     _ = pb.ones(2).sin().sin()
        >>> prof.total_average().count
        2
        """
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all events together."""
        return self.function_events.self_cpu_time_total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **look: Any) -> str:
        """The sums by name as a table.

        Parameters
        ----------
        sort_by, row_limit
            As of `EventAverages.table`.
        **look
            The further options of it.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            `sort_by` or `time_unit` is none of those.

        Examples
        --------
        >>> with pb.autograd.profiler.profile() as prof:
        ...     _ = pb.ones(2).sin().sin()
        >>> prof.table("count").splitlines()[1].split()[0]
        'Name'
        """
        return self.function_events.table(sort_by, row_limit, **look)

    def export_chrome_trace(self, path: str | Path) -> Path:
        """Write a JSON file for chrome://tracing and ui.perfetto.dev, with arrows from forward to backward.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path

        Examples
        --------
        >>> with pb.autograd.profiler.profile() as prof:
        ...     _ = pb.ones(2).sin().sin()
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     prof.export_chrome_trace(folder + "/trace.json").name
        'trace.json'
        """
        return self.function_events.export_chrome_trace(path)

    def __repr__(self) -> str:
        return f"<pullback.autograd.profiler.profile: {len(self._events)} events>"

    def __str__(self) -> str:
        return self.table()


class record_function(ModeSwitch):
    """Context manager and decorator: a range with a name in the profiles that are being taken; else without effect.

    Parameters
    ----------
    name : str
    args : str, optional
        Shown beside it in the trace.

    Raises
    ------
    TypeError
        `name` is not a str.

    Examples
    --------
    >>> with pb.autograd.profiler.profile() as prof:
    ...     with pb.autograd.profiler.record_function("two sines"):
    ...         _ = pb.ones(2).sin().sin()
    >>> [event.name for event in prof.function_events[0].cpu_children]
    ['sin', 'sin']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"record_function takes a name, got {type(name).__name__}.")
        self.name, self.args = name, args

    def _fresh(self) -> Self:
        return type(self)(self.name, self.args)

    def _steps(self) -> Steps:
        begun: list[tuple[profile, FunctionEvent]] = []
        leave = several(partial(_running.set, _running.get()), partial(_end_all, begun))
        return self._begin, begun, *leave

    def _begin(self, begun: list[tuple[profile, FunctionEvent]]) -> None:
        taken = (i for i in modes.current().observers if isinstance(i, profile))
        begun.extend((p, p._begin(self.name, "range", (), self.args)) for p in taken)


def _end_all(begun: list[tuple[profile, FunctionEvent]]) -> None:
    for taken, event in begun:
        taken._end(event)


# PyTorch's further options: what they may be here, and why nothing else. use_kineto and acc_events ask for nothing.
_OTHERS = {
    "use_cuda": (False, "everything runs on the CPU"),
    "use_device": (None, "everything runs on the CPU"),
    "use_cpu": (True, "everything runs on the CPU"),
    "with_flops": (False, "floating-point operations are not counted"),
    "with_stack": (False, "source lines are not kept"),
    "with_modules": (False, "there are no modules"),
}


def _refuse(others: Mapping[str, Any]) -> None:
    for name, value in others.items():
        if name not in _OTHERS and name not in ("use_kineto", "acc_events"):
            raise TypeError(f"profile() got an unexpected keyword argument {name!r}.")
        if name in _OTHERS and value != _OTHERS[name][0]:
            raise UnsupportedError(f"profile({name}={value!r}) is not available: {_OTHERS[name][1]}.")


def _thread() -> str:
    """The name of this thread, with that of the asyncio task in it."""
    name = threading.current_thread().name
    asyncio = sys.modules.get("asyncio")  # without it there are no tasks
    if asyncio is None:
        return name
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    return name if task is None else f"{name}, {task.get_name()}"


def _count_memory(event: FunctionEvent, result: Any, inputs: Sequence[Any]) -> None:
    """Add the bytes of what is new in the result, except what was counted in operators inside."""
    held = [array for x in spread_lists(inputs) if (array := memory_of(x)) is not None]
    size = 0
    for x in spread_lists(result if isinstance(result, (list, tuple)) else (result,)):
        array = memory_of(x)
        if array is not None and not any(np.may_share_memory(array, other) for other in held):
            size += _extent(array)
            held.append(array)
    inside = sum(child.cpu_memory_usage for child in event.cpu_children)
    event.self_cpu_memory_usage = max(size - inside, 0)


def _extent(array: ndarray) -> int:
    """Bytes from the first element to the last: those of a broadcast array once."""
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
    return high - low
