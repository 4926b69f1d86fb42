"""Ranks that are threads of one process: a communicator for tests, and for programs that run without MPI."""

from __future__ import annotations

import contextvars
import copy
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pullback.core.errors import GradientError
from pullback.distributed.collectives_order import RULE

_T = TypeVar("_T")


class _Meeting:
    """Where the ranks exchange what they bring, all of them at a time."""

    def __init__(self, size: int) -> None:
        self.size, self.round = size, 0
        self.changed = threading.Condition()
        self.brought: dict[int, tuple[str, Any]] = {}  # by rank: what it calls, and what it gives
        self.found: list[tuple[str, Any]] = []  # of the last round that was complete
        self.over: list[str] = []  # who will not come any more, and why

    def exchange(self, rank: int, call: str, given: Any) -> list[Any]:
        """Return what all ranks gave, in their order; every rank has copies of its own."""
        given = copy.deepcopy(given)  # whoever gave it may write into it, before others have read it
        with self.changed:
            now = self.round
            self.brought[rank] = call, given
            if len(self.brought) == self.size:
                self.found = [self.brought[r] for r in range(self.size)]
                self.brought = {}
                self.round += 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.round > now or self.over)
            if self.round == now:
                raise GradientError(
                    f"rank {rank} of {self.size} waits in {call} of its communicator for others that will not come: "
                    f"{', '.join(self.over)}. {RULE}"
                )
            found = self.found
        if len({name for name, _ in found}) > 1:
            calls = ", ".join(f"rank {r} {name}" for r, (name, _) in enumerate(found))
            raise GradientError(
                f"the ranks call different methods of their communicator at the same time: {calls}. {RULE}"
            )
        return [copy.deepcopy(x) for _, x in found]

    def leave(self, who: str) -> None:
        """Say who does not come any more, and why."""
        with self.changed:
            self.over.append(who)
            self.changed.notify_all()


class ThreadCommunicator:
    """The communicator of one rank among threads, with the names of mpi4py's lower-case methods.

    What a rank gets is a copy of what was sent.
    """

    def __init__(self, rank: int, meeting: _Meeting) -> None:
        self._rank, self._meeting = rank, meeting

    def Get_rank(self) -> int:
        """The number of this rank."""
        return self._rank

    def Get_size(self) -> int:
        """How many ranks there are."""
        return self._meeting.size

    def _exchange(self, call: str, given: Any) -> list[Any]:
        return self._meeting.exchange(self._rank, call, given)

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._exchange("barrier", None)

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return what each rank gave."""
        return self._exchange("allgather", sendobj)

    def allreduce(self, sendobj: Any) -> Any:
        """Return the sum of what the ranks gave, added in their order."""
        found = self._exchange("allreduce", sendobj)
        return sum(found[1:], found[0])

    def reduce(self, sendobj: Any, *, root: int = 0) -> Any:
        """Return that sum on rank `root`, and None on the others."""
        found = self._exchange("reduce", sendobj)
        return sum(found[1:], found[0]) if self._rank == root else None

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Return what rank `root` gave."""
        return self._exchange("bcast", obj if self._rank == root else None)[root]

    def alltoall(self, sendobj: list[Any]) -> list[Any]:
        """Return what each rank had for this one."""
        return [given[self._rank] for given in self._exchange("alltoall", sendobj)]

    def sendrecv(self, sendobj: Any, dest: int, *, source: int) -> Any:
        """Send to `dest`, and return what `source` sent here; all ranks do so together."""
        sent_to, found = self._exchange("sendrecv", (dest, sendobj))[source]
        if sent_to != self._rank:
            raise GradientError(f"rank {self._rank} waits for rank {source}, which sends to rank {sent_to}.")
        return found


def on_threads(f: Callable[[ThreadCommunicator], _T], ranks: int) -> list[_T]:
    """Call `f(comm)` on so many threads at once, each of which is a rank; returns what they return, in order.

    Parameters
    ----------
    f : callable
        Takes a communicator with the names of mpi4py's lower-case methods. NumPy computes on several threads at once;
        Python code takes turns.
    ranks : int
        At least 1.

    Returns
    -------
    list
        With one entry a rank.

    Raises
    ------
    ValueError, TypeError
        `ranks` is not a number of ranks; `f` is not callable.
    RuntimeError
        The ranks do not call the same collectives in the same order.

    Notes
    -----
    If a rank raises, the others stop at their next collective, and the error is raised here, with a note of the rank.
    Each thread starts from the modes of the caller, such as `no_grad`.

    Examples
    --------
    >>> def f(comm):
    ...     x = pb.tensor(1.0 + comm.Get_rank(), requires_grad=True)
    ...     (pb.distributed.allreduce(x, comm) ** 2).backward()  # each of 3 ranks adds the square of 6
    ...     return x.grad.item()
    >>> pb.distributed.on_threads(f, 3)
    [36.0, 36.0, 36.0]
    """
    if not callable(f):
        raise TypeError(f"on_threads: f must be a function of a communicator, got {type(f).__name__}.")
    if isinstance(ranks, bool) or not isinstance(ranks, int):
        raise TypeError(f"on_threads: ranks must be an int, got {ranks!r}.")
    if ranks < 1:
        raise ValueError(f"on_threads: ranks must be at least 1, got {ranks}.")
    meeting = _Meeting(ranks)
    results: list[Any] = [None] * ranks
    errors: list[tuple[int, BaseException]] = []

    def run(rank: int) -> None:
        try:
            results[rank] = f(ThreadCommunicator(rank, meeting))
            meeting.leave(f"rank {rank} has returned")
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            errors.append((rank, error))
            meeting.leave(f"rank {rank} has raised {type(error).__name__}")

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, rank), name=f"rank {rank}")
        for rank in range(ranks)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # Ctrl-C: they end at their next collective
        meeting.leave("the caller was interrupted")
        raise
    if errors:
        rank, error = errors[0]
        error.add_note(f"on rank {rank} of {ranks}")
        raise error
    return results
