"""Checkpointing: the graph keeps the arguments of a function alone, and backward computes the function again."""

from pullback.autograd.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from pullback.autograd.checkpoint.api import no_contexts as noop_context_fn
from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

__getattr__ = _getter(__name__, _HOMES)
