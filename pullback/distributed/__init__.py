"""Sums over data, computed and differentiated by whatever workers there are: processes, threads, clusters."""

from pullback.distributed.partitions import rows
from pullback.distributed.sums import sum_over, value_and_grad
from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = ["rows", "sum_over", "value_and_grad"]

__getattr__ = _getter(__name__, _HOMES)
