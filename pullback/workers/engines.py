"""`workers=`: what a user has to compute with, as an engine that takes tasks and gives futures."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeAlias

from pullback.core.cuts import frames_to_user
from pullback.core.errors import with_article
from pullback.workers import processes
from pullback.workers.shipping import Shipped

Task: TypeAlias = Callable[[Any, int, Any], object]  # of (what all tasks need, the number of the first item, the items)
_LARGE = 100_000  # bytes: what is larger a cluster sends to its workers apart from the tasks


class Engine(Protocol):
    """Computes tasks somewhere."""

    slots: int  # so many tasks run at once
    at_once: int  # and so many under way keep it busy

    def begin(self, work: Shipped) -> Any:
        """Prepare for the tasks of a call, and return what all of them need, as they are to be given it."""

    def submit(self, task: Task, work: Any, start: int, items: Sequence[Any]) -> Any:
        """Begin `task(work, start, items)`, and return a future."""

    def renewed(self) -> Engine:
        """Return what goes on after a process was lost, and all tasks with it."""

    def interrupt(self) -> None:
        """End what runs, as far as it is ours to end."""


def engine_of(workers: Any, name: str) -> Engine | Mapped:
    """The engine that an argument `workers` of the public function `name` means."""
    if workers is None:
        return Here()
    if isinstance(workers, int) and not isinstance(workers, bool):
        if workers < 1 and workers != -1:
            raise ValueError(f"{name}: workers must be a number of processes, or -1 for one a core, got {workers}.")
        return OwnProcesses(processes.available() if workers == -1 else workers)
    if hasattr(workers, "submit"):
        return Cluster(workers) if hasattr(workers, "scatter") else Pool(workers)
    if workers is map or (callable(workers) and not isinstance(workers, type)):
        return Mapped(workers)
    raise TypeError(
        f"{name}: workers must be None, a number of processes, an executor (of concurrent.futures, loky or "
        f"mpi4py.futures), a Client of dask, or a map such as pool.map; got {with_article(workers)}."
    )


class Here:
    """Computes in this thread: a task is done when it is submitted."""

    slots = at_once = 1

    def begin(self, work: Shipped) -> Any:
        return work

    def submit(self, task: Task, work: Any, start: int, items: Sequence[Any]) -> Any:
        done: Future[object] = Future()
        done.set_result(task(work, start, items))
        return done

    def renewed(self) -> Engine:
        raise AssertionError("no process is lost where there is none")

    def interrupt(self) -> None:
        pass


class Pool(Here):
    """An executor of the user's: threads, processes, those of loky or of mpi4py.futures."""

    def __init__(self, executor: Any, slots: int | None = None) -> None:
        self._executor = executor
        self.slots = slots or _size_of(executor) or processes.available()
        self.at_once = 2 * self.slots

    def submit(self, task: Task, work: Any, start: int, items: Sequence[Any]) -> Any:
        return self._executor.submit(task, work, start, Shipped(items, f"the data of partition {start}"))

    def renewed(self) -> Engine:
        warnings.warn(
            f"The {type(self._executor).__name__} given as `workers` has lost a process, and takes no more tasks. What "
            f"is left is computed in {self.slots} processes of pullback's own; make a new executor for what follows.",
            RuntimeWarning,
            stacklevel=frames_to_user(),
        )
        return OwnProcesses(self.slots)


class OwnProcesses(Pool):
    """So many processes of our own, which are started when there is something to do."""

    def __init__(self, count: int) -> None:
        super().__init__(None, count)

    def begin(self, work: Shipped) -> Any:
        self._executor = processes.pool(self.slots)
        return work

    def renewed(self) -> Engine:
        processes.forget(self._executor)
        return self

    def interrupt(self) -> None:
        processes.end(self._executor)


class Cluster(Here):
    """A client of dask's `distributed`, which computes lost tasks again by itself."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def begin(self, work: Shipped) -> Any:
        self.slots = sum(self._client.nthreads().values()) or 1  # which may grow and shrink
        self.at_once = 2 * self.slots
        if len(work.data) < _LARGE:
            return work
        return self._client.scatter(work, broadcast=True, hash=False)

    def submit(self, task: Task, work: Any, start: int, items: Sequence[Any]) -> Any:
        if any(
            hasattr(part, "__dask_graph__") for item in items for part in (item if type(item) is tuple else (item,))
        ):
            lazy = importlib.import_module("dask").delayed(task, pure=False, traverse=False)(work, start, list(items))
            return self._client.compute(lazy, optimize_graph=False)  # which loads them there
        given = Shipped(items, f"the data of partition {start}")
        return self._client.submit(task, work, start, given, pure=False)


class Mapped:
    """A map, such as `pool.map` of `multiprocessing`, Ray or what a user writes around joblib."""

    def __init__(self, over: Callable[..., Iterable[Any]]) -> None:
        self._over = over

    def results(self, task: Task, work: Shipped, blocks: Sequence[tuple[int, Any]]) -> Iterator[Any]:
        """Yield what the task gives for each block, in their order."""
        given = [(start, Shipped(items, f"the data of partition {start}")) for start, items in blocks]
        yield from self._over(functools.partial(_called, task, work), given)


def _called(task: Task, work: Shipped, block: tuple[int, Any]) -> object:
    return task(work, *block)


def _size_of(executor: Any) -> int | None:
    """The number of an executor's workers, where it has one: the standard library's, loky's, mpi4py's."""
    for name in ("_max_workers", "num_workers"):
        if isinstance(found := getattr(executor, name, None), int) and found > 0:
            return found
    return None
