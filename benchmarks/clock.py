"""How time is read, and how a process is pinned to one processor."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def pin() -> int | None:
    """Keep this process and its children on one processor, with one thread in every BLAS; return the processor.

    To be called before NumPy is imported, since BLAS libraries read the environment only then. Two threads of one
    library would otherwise wait for each other whenever a neighbour takes a processor, and measure the neighbour.
    Where the system has no affinity (macOS, Windows) the single threads must do, and None is returned.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {XLA_ONE_THREAD}".strip()
    if not hasattr(os, "sched_setaffinity"):
        return None
    processor = max(os.sched_getaffinity(0))  # the first one is where interrupts usually go
    os.sched_setaffinity(0, {processor})
    return processor


CLOCKS: Mapping[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def machine() -> dict[str, object]:
    """Return what a reader of the figures wants to know about the machine."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }
