"""Checkpointing (`utils.checkpoint`) and trees of arrays (`utils.pytree`), under the names of torch.utils."""

from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES
from pullback.utils import checkpoint, pytree

__all__ = ["checkpoint", "pytree"]

__getattr__ = _getter(__name__, _HOMES)
