"""Collectives that are differentiated through: of an MPI communicator, or of threads."""

from pullback.distributed.collectives import allgather, allreduce, alltoall, bcast, reduce_scatter, shift
from pullback.distributed.collectives_threads import on_threads
from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = [
    "allgather",
    "allreduce",
    "alltoall",
    "bcast",
    "on_threads",
    "reduce_scatter",
    "shift",
]

__getattr__ = _getter(__name__, _HOMES)
