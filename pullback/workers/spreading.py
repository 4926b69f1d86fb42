"""Spreads work over an engine: tasks of enough time each, as many at once as keep it busy, results as they come."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pullback.core.progress import Progress
from pullback.workers.engines import Engine, Mapped
from pullback.workers.shipping import Failed, Shipped

Work: TypeAlias = Callable[[int, Sequence[Any]], object]  # of the number of the first item, and the items
Take: TypeAlias = Callable[[int, int, Any], None]
_ENOUGH = 0.010  # seconds that a task should take: a hundred times what a task costs in threads, ten times in processes
_FIRST = 64  # tasks of one item each by which a map, which tells nothing on the way, shows how long an item takes
_LOSSES = 3  # times that an item may be under way when a process is lost


@dataclass
class Pace:
    """How long an item takes, as far as is known: kept from call to call."""

    seconds: float | None = None

    def note(self, seconds: float, count: int) -> None:
        """Take notice of a task that is done."""
        self.seconds = seconds / count

    def block(self, start: int, stop: int, slots: int) -> int:
        """Where a task ends that begins at `start` of `stop` items.

        Its size is a power of two, by which `start` can be divided: it is a node of the tree of sums. All slots get
        something to do to the end.
        """
        size = 1
        most = (start & -start) or stop
        while self.seconds is not None and size * self.seconds < _ENOUGH:
            size *= 2
            if size > most or size * 2 * slots > stop - start:
                size //= 2
                break
        return min(start + size, stop)


@dataclass(frozen=True)
class Spreading:
    """How work is spread.

    Parameters
    ----------
    name : str
        Of the public function, for the bar.
    engine
        Who does it; see `engine_of`.
    progress : bool, optional
        As `core.progress` has it.
    """

    name: str
    engine: Engine | Mapped
    progress: bool | None = None
    pace: Pace = field(default_factory=Pace)

    def over(self, work: Work, items: Sequence[Any], what: str, take: Take) -> None:
        """Call `take(start, stop, work(start, items[start:stop]))` for blocks of all items, as they are done.

        `what` names the work in errors.
        """
        shipped = Shipped(work, what)
        with Progress(self.name, total=len(items), wanted=self.progress) as bar:

            def taken(start: int, stop: int, found: Any) -> None:
                if isinstance(found, Failed):
                    raise found.raised()
                value, seconds = found
                self.pace.note(seconds, stop - start)
                bar.update(stop - start)
                take(start, stop, value)

            if isinstance(self.engine, Mapped):
                _by_rounds(self.engine, shipped, items, self.pace, taken)
            else:
                _by_futures(self.engine, shipped, items, self.pace, taken)


def task(work: Shipped, start: int, items: Any) -> Any:
    """Do some of the work, wherever this runs: (what it gives, the seconds), or how it failed."""
    try:
        began = time.perf_counter()
        found = work.get()(start, items.get() if isinstance(items, Shipped) else items)
        return found, time.perf_counter() - began
    except Exception as error:  # noqa: BLE001 - raised again by who takes the results
        return Failed(error)


def _by_rounds(engine: Mapped, work: Shipped, items: Sequence[Any], pace: Pace, take: Take) -> None:
    """With a map: a first round where it is not known how long an item takes, and one for all others."""
    start = 0
    while start < len(items):
        end = min(len(items), _FIRST) if pace.seconds is None else len(items)
        bounds = []
        while start < end:
            bounds.append((start, stop := min(pace.block(start, len(items), _FIRST // 4), end)))
            start = stop
        found = engine.results(task, work, [(a, items[a:b]) for a, b in bounds])
        for (a, b), result in zip(bounds, found, strict=True):
            take(a, b, result)


def _by_futures(engine: Engine, work: Shipped, items: Sequence[Any], pace: Pace, take: Take) -> None:
    """With an engine: always as many tasks under way as keep it busy."""
    done: queue.SimpleQueue[tuple[int, int, Future[Any]]] = queue.SimpleQueue()
    running: dict[tuple[int, int], Future[Any]] = {}
    waiting: list[tuple[int, int]] = []  # blocks to be begun next
    lost: dict[tuple[int, int], int] = {}
    position, prepared = 0, engine.begin(work)
    try:
        while waiting or running or position < len(items):
            try:
                while len(running) < engine.at_once and (waiting or position < len(items)):
                    if not waiting:
                        waiting = [(position, pace.block(position, len(items), engine.slots))]
                        position = waiting[0][1]
                    start, stop = waiting[0]
                    future = running[start, stop] = engine.submit(task, prepared, start, items[start:stop])
                    future.add_done_callback(lambda _, found=(start, stop, future): done.put(found))
                    del waiting[0]
                start, stop, ended = done.get()
                if running.get((start, stop)) is not ended:
                    continue  # of an engine that is gone
                found = ended.result()
            except BrokenProcessPool:
                engine = _renewed(engine, running, lost)
                prepared = engine.begin(work)
                waiting = sorted({*running, *waiting})
                running.clear()
                continue
            except Exception as error:  # of the engine: those of the work come as results
                error.add_note(f"in a task that begins with partition {start}")
                raise
            del running[start, stop]
            take(start, stop, found)
    except BaseException as error:
        for future in running.values():
            future.cancel()
        if isinstance(error, KeyboardInterrupt):
            engine.interrupt()
        raise


def _renewed(engine: Engine, running: dict[tuple[int, int], Any], lost: dict[tuple[int, int], int]) -> Engine:
    """Count what was lost with a process, and return an engine that goes on."""
    for block in running:
        lost[block] = lost.get(block, 0) + 1
    worst = max(lost.values(), default=0)
    if worst >= _LOSSES:
        blocks = [f"{a}" if b == a + 1 else f"{a} to {b - 1}" for a, b in sorted(running) if lost[a, b] == worst]
        raise RuntimeError(
            f"A process was lost {worst} times while it computed one of the partitions {', '.join(blocks)}: it was "
            "killed, for its memory perhaps, or crashed in compiled code. Smaller partitions need less memory."
        )
    return engine.renewed()
