"""Processes of our own: started when they are first asked for, ended with the program or before."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from multiprocessing.connection import wait

_POOLS: dict[int, ProcessPoolExecutor] = {}
_lock = threading.Lock()


def available() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pool(count: int) -> ProcessPoolExecutor:
    """Return `count` processes, which all calls share."""
    with _lock:
        if count not in _POOLS:
            _POOLS[count] = _started(count)
        return _POOLS[count]


def forget(executor: Executor) -> None:
    """Let others be started in the place of a pool that has lost a process, and so has ended."""
    with _lock:
        for count in [n for n, known in _POOLS.items() if known is executor]:
            del _POOLS[count]


def end(executor: Executor) -> None:
    """End the processes of a pool now, whatever they do."""
    forget(executor)
    # shutdown() forgets which processes there are, and lets those that compute finish.
    running = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in running:
        process.terminate()
    for process in running:
        process.join(5)


def _started(count: int) -> ProcessPoolExecutor:
    if getattr(multiprocessing.process.current_process(), "_inheriting", False):
        raise RuntimeError(_UNGUARDED)  # by a new process, which runs the script from its beginning
    made = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        made.submit(int).result()
    except BrokenExecutor:
        raise RuntimeError(f"workers={count}: the new processes have ended at once. {_UNGUARDED}") from None
    except BaseException:
        made.shutdown(wait=False, cancel_futures=True)
        raise
    return made


_UNGUARDED = (
    "A new process imports the script that has asked for it: let the script's own work stand under "
    '`if __name__ == "__main__":`, or each process begins it again. From the standard input there is none to import.'
)


def _begin() -> None:
    """Prepare a new process: Ctrl-C is for its parent to answer, and it does not outlive its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
