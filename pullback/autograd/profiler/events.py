"""What a profile consists of: one event for each call, and their sums by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pullback.autograd.profiler import chrome_trace, table

Shapes = tuple[tuple[int, ...], ...]


@dataclass(eq=False, slots=True)
class FunctionEvent:
    """One call of an operator, a custom Function, a node in backward, or one range of `record_function`.

    Attributes
    ----------
    name : str
    kind : str
        "operator", "backward" or "range".
    start_us, end_us : float
        Microseconds since the profile began.
    thread : str
        The thread, and the asyncio task where there is one.
    cpu_parent, cpu_children : FunctionEvent or None, list of FunctionEvent
        What it was called by, and what it called.
    sequence_nr : int
        The number of the node that the operator recorded, or that ran; -1 if there is none.
    input_shapes : tuple of shapes
        Of the array arguments; empty unless `record_shapes`.
    self_cpu_memory_usage : int
        Bytes of the results that share memory with no input, less what was called inside; 0 unless `profile_memory`.
    """

    name: str
    kind: str
    start_us: float
    thread: str
    cpu_parent: FunctionEvent | None = field(default=None, repr=False)
    end_us: float = 0.0
    cpu_children: list[FunctionEvent] = field(default_factory=list, repr=False)
    sequence_nr: int = -1
    input_shapes: Shapes = ()
    self_cpu_memory_usage: int = 0
    args: str | None = None

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from beginning to end."""
        return self.end_us - self.start_us

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without those of what it called, as far as that ran in the same thread or task."""
        inside = sum(child.cpu_time_total for child in self.cpu_children if child.thread == self.thread)
        return max(self.cpu_time_total - inside, 0.0)

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes that it and what it called allocated for results."""
        total, stack = 0, [self]
        while stack:
            event = stack.pop()
            total += event.self_cpu_memory_usage
            stack += event.cpu_children
        return total


@dataclass(slots=True)
class FunctionEventAvg:
    """The events of one name (and shapes, if grouped by them) together; times in microseconds, memory in bytes."""

    key: str
    kind: str
    input_shapes: Shapes = ()
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent, memory: int, recursive: bool) -> None:
        """Count an event; one inside another of the same key is in that one's total already."""
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        if not recursive:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += memory


class EventAverages(list[FunctionEventAvg]):
    """Sums of events by name, the longest in total first."""

    def __init__(self, averages: Iterable[FunctionEventAvg], with_memory: bool) -> None:
        super().__init__(sorted(averages, key=lambda average: -average.cpu_time_total))
        self.with_memory = with_memory

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55) -> str:
        """The sums as a table.

        Parameters
        ----------
        sort_by : str, optional
            "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count":
            the largest first; or "key": by name. Default: the longest in total first.
        row_limit : int, default 100
            How many rows at most; -1 for all.
        max_name_column_width : int, default 55
            Longer names are cut.

        Raises
        ------
        ValueError
            `sort_by` is none of these.
        """
        return table.text(self, sort_by, row_limit, max_name_column_width, self.with_memory)

    def __str__(self) -> str:
        return self.table()


class EventList(list[FunctionEvent]):
    """The events of a profile, in the order in which they began."""

    def __init__(self, events: Iterable[FunctionEvent] = (), with_memory: bool = False) -> None:
        super().__init__(events)
        self.with_memory = with_memory

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all events together, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape: bool = False) -> EventAverages:
        """The sums by name, and by the shapes of the inputs if asked for (with `record_shapes=True`)."""
        averages: dict[Any, FunctionEventAvg] = {}
        memory = self._memory()
        for event in self:
            key = _key(event, group_by_input_shape)
            average = averages.get(key)
            if average is None:
                average = averages[key] = FunctionEventAvg(*key)
            average.add(event, memory[event], any(_key(e, group_by_input_shape) == key for e in _callers(event)))
        return EventAverages(averages.values(), self.with_memory)

    def total_average(self) -> FunctionEventAvg:
        """All events as one row."""
        total = FunctionEventAvg("Total", "total")
        memory = self._memory()
        for event in self:
            total.add(event, memory[event], recursive=event.cpu_parent is not None)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55) -> str:
        """The sums by name as a table: see `EventAverages.table`."""
        return self.key_averages().table(sort_by, row_limit, max_name_column_width)

    def export_chrome_trace(self, path: str | Path) -> Path:
        """Write a JSON file for chrome://tracing and ui.perfetto.dev, with arrows from forward to backward."""
        return chrome_trace.write(self, path)

    def _memory(self) -> dict[FunctionEvent, int]:
        """`cpu_memory_usage` of every event; callers began before what they called, so backwards is from inside out."""
        memory = {event: event.self_cpu_memory_usage for event in self}
        for event in reversed(self):
            if event.cpu_parent in memory:
                memory[event.cpu_parent] += memory[event]
        return memory


def _key(event: FunctionEvent, with_shapes: bool) -> tuple[str, str, Shapes]:
    return event.name, event.kind, event.input_shapes if with_shapes else ()


def _callers(event: FunctionEvent) -> Iterator[FunctionEvent]:
    caller = event.cpu_parent
    while caller is not None:
        yield caller
        caller = caller.cpu_parent
