"""Checkpointing: memory for compute. What a function would save for backward is computed again when backward asks.

api         checkpoint, checkpoint_sequential and their switches
frame       one call of a checkpointed function, and its recomputation by hooks for saved tensors
reentrant   the older way: a custom Function whose backward runs a backward of its own
selective   policies that say which operators' results are kept after all
log         which operators ran, for the error of a recomputation that differs
"""

from pullback.autograd.checkpoint.api import (
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from pullback.autograd.checkpoint.frame import CheckpointError
from pullback.autograd.checkpoint.selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
