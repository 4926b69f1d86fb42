"""EventList: the events of a profile, and their sums by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pullback.autograd.profiler import chrome_trace, table
from pullback.autograd.profiler.event import FunctionEvent, FunctionEventAvg, Shapes


class EventAverages(list[FunctionEventAvg]):
    """Sums of events by name, the longest in total first; a list of `FunctionEventAvg`.

    Parameters
    ----------
    averages : iterable of FunctionEventAvg
    with_memory : bool
        Whether its table has columns of memory.

    Examples
    --------
    >>> with pb.autograd.profiler.profile() as prof:
    ...     _ = pb.ones(2).sin().sin()
    >>> [(row.key, row.count) for row in prof.key_averages()]
    [('sin', 2)]
    """

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

        Returns
        -------
        str

        Raises
        ------
        ValueError
            `sort_by` or `time_unit` is none of these.

        Examples
        --------
        >>> with pb.autograd.profiler.profile() as prof:
        ...     _ = pb.ones(2).sin().sin()
        >>> lines = prof.key_averages().table(header="two sines", time_unit="us").splitlines()
        >>> lines[0], lines[4].split()[0], lines[4].split()[-1]
        ('two sines', 'sin', '2')
        """
        look = table.Look(row_limit, max_name_column_width, max_shapes_column_width, header, time_unit)
        rows = [row for row in self if row.cpu_parent is None] if top_level_events_only else self
        return table.text(rows, sort_by, look, self.with_memory)

    def __str__(self) -> str:
        return self.table()


class EventList(list[FunctionEvent]):
    """The events of a profile, in the order in which they began; a list of `FunctionEvent`.

    Parameters
    ----------
    events : iterable of FunctionEvent, optional
    with_memory : bool, default False
        Whether its tables have columns of memory.

    Examples
    --------
    >>> with pb.autograd.profiler.profile() as prof:
    ...     _ = pb.ones(2).sin().sin()
    >>> [event.name for event in prof.function_events]
    ['sin', 'sin']
    """

    def __init__(self, events: Iterable[FunctionEvent] = (), with_memory: bool = False) -> None:
        super().__init__(events)
        self.with_memory = with_memory

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all events together, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes: bool = False) -> EventAverages:
        """The sums by name, which print themselves as a table.

        Parameters
        ----------
        group_by_input_shapes : bool, default False
            Sum by name and shapes of the inputs; for a profile with `record_shapes=True`.

        Returns
        -------
        EventAverages

        Examples
        --------
        >>> with pb.autograd.profiler.profile(record_shapes=True) as prof:
        ...     _ = pb.ones(2).sin(), pb.ones(3).sin()
        >>> rows = prof.function_events.key_averages(group_by_input_shapes=True)
        >>> sorted((row.key, row.input_shapes) for row in rows)
        [('sin', ((2,),)), ('sin', ((3,),))]
        """
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
        """All events as one row.

        Returns
        -------
        FunctionEventAvg

        Examples
        --------
        >>> with pb.autograd.profiler.profile() as prof:
        ...     _ = pb.ones(2).sin().sin()
        >>> prof.function_events.total_average().count
        2
        """
        total = FunctionEventAvg("Total", "total")
        memory = self._memory()
        for event in self:
            total.add(event, memory[event], recursive=event.cpu_parent is not None)
        return total

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
        >>> prof.function_events.table("count").splitlines()[1].split()[0]
        'Name'
        """
        return self.key_averages().table(sort_by, row_limit, **look)

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
        ...     prof.function_events.export_chrome_trace(folder + "/trace.json").name
        'trace.json'
        """
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
