"""A process for each library and case, which times what it is asked to.

Nothing shares a process because it would share the allocator: whether freed memory goes back to the system depends on
what the process did before, and decides how long elementwise work on large arrays takes. docs/design/benchmarks.md has
the figures.
"""

from __future__ import annotations

import gc
import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from benchmarks import clock

ROUND_SECONDS = 0.05  # a round repeats short work for about this long, far above the resolution of any clock


class Worker:
    """The side that asks: starts the process of `contender` and talks to it."""

    def __init__(self, contender: str, clock_name: str, threads: int | None) -> None:
        context = multiprocessing.get_context("spawn")  # a fresh interpreter: nothing inherited but the environment
        self.contender = contender
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(contender, clock_name, threads, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, verb: str, *arguments: Any) -> Any:
        """Have `verb` done and wait for the answer."""
        try:
            self.connection.send((verb, *arguments))
            status, answer = self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            raise RuntimeError(
                f"The process of {self.contender} ended in {verb!r} with exit code {self.process.exitcode}."
            ) from None
        if status == "failed":
            raise RuntimeError(f"{self.contender} failed in {verb}:\n{answer}")
        return answer

    def stop(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.join()


def serve(contender: str, clock_name: str, threads: int | None, connection: Connection) -> None:
    """The side that answers, until the other one closes the connection."""
    from benchmarks import contenders

    desk = Desk(contenders.load(contender, threads=threads), contender, clock.CLOCKS[clock_name])
    while True:
        try:
            verb, *arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send(("done", getattr(desk, verb)(*arguments)))
        except Exception:  # noqa: BLE001  whatever it was, the asking side reports it
            connection.send(("failed", traceback.format_exc()))


class Desk:
    """What a worker can be asked."""

    def __init__(self, lib: Any, contender: str, now: Callable[[], float]) -> None:
        self.lib, self.contender, self.now = lib, contender, now

    def prepare(self, name: str) -> list[Any]:
        """Build the case called `name`, run it once (which compiles, under jit), return its answer as arrays."""
        import numpy as np

        from benchmarks import cases

        self.run = cases.named(name).build[self.contender](self.lib)
        answer = self.run()
        arrays = [np.asarray(part) for part in (answer if isinstance(answer, tuple) else (answer,))]
        self.repeats = self.calibrate()
        return arrays

    def calibrate(self) -> int:
        """How often to repeat the work in one round."""
        repeats = 1
        while (elapsed := self.time(repeats)) < ROUND_SECONDS / 4:
            repeats *= 2
        return max(1, round(repeats * ROUND_SECONDS / elapsed))

    def round(self) -> float:
        """Seconds that the work takes, once."""
        gc.collect()  # every round starts alike; the collector stays on, as users have it
        return self.time(self.repeats) / self.repeats

    def time(self, repeats: int) -> float:
        """Seconds for `repeats` runs in a row."""
        run, now = self.run, self.now
        start = now()
        for _ in range(repeats):
            run()
        return now() - start
