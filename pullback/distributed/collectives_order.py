"""The check that all ranks call the same collective, before they do: what would hang is an error."""

from __future__ import annotations

import time
from typing import Any

from pullback.core.errors import GradientError

RULE = (
    "Every rank must call the same collectives in the same order, forward and backward: a loss that does not depend on "
    "the result of one leaves it out (loss + 0 * result.sum() depends on it)."
)
PATIENCE = 10.0  # seconds for which a rank waits for the others


def check(comm: Any, call: str) -> None:
    """Raise on every rank unless all are about to make the same call, and where others do not come."""
    if hasattr(comm, "Ibarrier"):  # mpi4py's, which can be waited for with a limit
        _wait(comm, call)
    calls = comm.allgather(call)
    if len(set(calls)) > 1:
        shown = "\n".join(f"  rank {rank}: {name}" for rank, name in enumerate(calls))
        raise GradientError(
            f"the ranks are about to call different collectives, which would hang or mix up their arrays:\n{shown}\n"
            f"{RULE} Arrays have one shape and dtype, and all or none require grad."
        )


def _wait(comm: Any, call: str) -> None:
    here, start, pause = comm.Ibarrier(), time.monotonic(), 1e-6
    while not here.Test():
        if time.monotonic() - start > PATIENCE:
            raise GradientError(
                f"rank {comm.Get_rank()} of {comm.Get_size()} has waited {PATIENCE:g} s for others that do not come to "
                f"{call}. {RULE} If the others only compute for long, leave check_order=True away."
            )
        time.sleep(pause)
        pause = min(2 * pause, 1e-3)
