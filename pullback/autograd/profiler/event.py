"""One call in a profile, and the sum of those of one name."""

from __future__ import annotations

from dataclasses import dataclass, field

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
