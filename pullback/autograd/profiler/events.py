"""EventList: the events of a profile, and their sums by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pullback.autograd.profiler import chrome_trace, table
from pullback.autograd.profiler.event import FunctionEvent, FunctionEventAvg, Shapes


class EventAverages(list[FunctionEventAvg]):
    """Sums of events by name, the longest in total first."""

    def __init__(self, averages: Iterable[FunctionEventAvg], with_memory: bool) -> None:
        super().__init__(sorted(averages, key=lambda average: -average.cpu_time_total))
        self.with_memory = with_memory

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The sums as a table.

        Parameters
        ----------
        sort_by : str, optional
            "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count":
            the largest first; or "key": by name. Default: the longest in total first.
        row_limit : int, default 100
            How many rows at most; -1 for all.
        max_name_column_width, max_shapes_column_width : int, default 55 and 80
            Longer texts are cut.
        max_src_column_width : int
            Without effect: there is no column of source lines.
        header : str, optional
            A line above the table.
        top_level_events_only : bool, default False
            Only what nothing else in the profile called.
        time_unit : 'us', 'ms' or 's', optional
            Default: the one that keeps the number short.

        Raises
        ------
        ValueError
            `sort_by` or `time_unit` is none of these.
        """
        look = table.Look(row_limit, max_name_column_width, max_shapes_column_width, header, time_unit)
        rows = [row for row in self if row.cpu_parent is None] if top_level_events_only else self
        return table.text(rows, sort_by, look, self.with_memory)

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

    def key_averages(self, group_by_input_shapes: bool = False) -> EventAverages:
        """The sums by name, and by the shapes of the inputs if asked for (with `record_shapes=True`)."""
        averages: dict[Any, FunctionEventAvg] = {}
        memory = self._memory()
        for event in self:
            key = _key(event, group_by_input_shapes)
            average = averages.get(key)
            if average is None:
                average = averages[key] = FunctionEventAvg(*key)
            average.add(event, memory[event], any(_key(e, group_by_input_shapes) == key for e in _callers(event)))
        return EventAverages(averages.values(), self.with_memory)

    def total_average(self) -> FunctionEventAvg:
        """All events as one row."""
        total = FunctionEventAvg("Total", "total")
        memory = self._memory()
        for event in self:
            total.add(event, memory[event], recursive=event.cpu_parent is not None)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **look: Any) -> str:
        """The sums by name as a table: see `EventAverages.table`."""
        return self.key_averages().table(sort_by, row_limit, **look)

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
