"""Ensures that a result which is not a view of its input has memory of its own, so that it may be written into."""

import numpy as np

from pullback.core.array_type import memory_of

__all__ = []


def in_own_memory(out, source, *, ops):
    """`out`; a copy where it lies in the memory of `source`, as changes of shape by trivial arguments do."""
    memory = memory_of(out)
    if memory.flags.writeable and not np.may_share_memory(memory, memory_of(source)):
        return out
    return ops.clone(out)
