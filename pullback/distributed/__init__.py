"""Sums over data on whatever workers there are, and collectives between ranks; both are differentiated through."""

from pullback.distributed.collectives import allgather, allreduce, alltoall, bcast, reduce_scatter, shift
from pullback.distributed.collectives_threads import on_threads
from pullback.distributed.partitions import rows
from pullback.distributed.sums import sum_over, value_and_grad
from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = [
    "allgather",
    "allreduce",
    "alltoall",
    "bcast",
    "on_threads",
    "reduce_scatter",
    "rows",
    "shift",
    "sum_over",
    "value_and_grad",
]

__getattr__ = _getter(__name__, _HOMES)
