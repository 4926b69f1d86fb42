"""One call in a profile, and the sum of those of one name."""

from __future__ import annotations

from dataclasses import dataclass, field

from pullback.autograd.profiler.units import time

Shapes = tuple[tuple[int, ...], ...]


class Times:
    """Times as texts, of one event or of several."""

    __slots__ = ()

    # Which each subclass has in microseconds.
    cpu_time: float
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time_str(self) -> str:
        """The time of a call, with its unit."""
        return time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total`, with its unit."""
        return time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total`, with its unit."""
        return time(self.self_cpu_time_total)


@dataclass(eq=False, slots=True)
class FunctionEvent(Times):
    """One call of an operator, a custom Function, a node in backward, or one range of `record_function`.

    Parameters
    ----------
    Made by `profile`, of the fields below.

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
    args : str or None
        What `record_function` was given to be shown beside the name.

    Examples
    --------
    >>> with pb.autograd.profiler.profile(record_shapes=True) as prof:
    ...     _ = pb.ones(2).sin()
    >>> event = prof.function_events[0]
    >>> event.name, event.kind, event.input_shapes, event.cpu_time_total > 0
    ('sin', 'operator', ((2,),), True)
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
    def key(self) -> str:
        """The name, by which events are added up."""
        return self.name

    @property
    def count(self) -> int:
        """1: this is one call."""
        return 1

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]  # read alone, here as there
        """Microseconds from beginning to end."""
        return self.end_us - self.start_us

    @property
    def cpu_time(self) -> float:  # type: ignore[override]
        """Microseconds of this call."""
        return self.cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
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
class FunctionEventAvg(Times):
    """The events of one name (and shapes, if grouped by them) together; times in microseconds, memory in bytes.

    Parameters
    ----------
    Made by `key_averages` and `total_average`, of the fields below.

    Attributes
    ----------
    key, kind : str
        As `name` and `kind` of a `FunctionEvent`.
    input_shapes : tuple of shapes
        Empty unless grouped by shapes.
    count : int
        How many events.
    cpu_time_total, self_cpu_time_total : float
        With what they called, and without it.
    cpu_memory_usage, self_cpu_memory_usage : int
        The same of memory.
    cpu_parent : FunctionEvent or None
        What called the first of them.

    Examples
    --------
    >>> with pb.autograd.profiler.profile() as prof:
    ...     _ = pb.ones(2).sin().sin()
    >>> (row,) = prof.key_averages()
    >>> row.key, row.count
    ('sin', 2)
    """

    key: str
    kind: str
    input_shapes: Shapes = ()
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    cpu_parent: FunctionEvent | None = field(default=None, repr=False)

    @property
    def cpu_time(self) -> float:  # type: ignore[override]
        """Microseconds a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent, memory: int, recursive: bool) -> None:
        """Count an event; one inside another of the same key is in that one's total already.

        Parameters
        ----------
        event : FunctionEvent
        memory : int
            Bytes of it and of what it called.
        recursive : bool
            Whether it is inside another of the same key.

        Returns
        -------
        None

        Examples
        --------
        >>> with pb.autograd.profiler.profile() as prof:
        ...     _ = pb.ones(2).sin()
        >>> row = pb.autograd.profiler.FunctionEventAvg("mine", "operator")
        >>> row.add(prof.function_events[0], 0, recursive=False)
        >>> row.count
        1
        """
        if not self.count:
            self.cpu_parent = event.cpu_parent
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        if not recursive:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += memory
