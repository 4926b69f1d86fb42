"""Ensures that a result which is not a view of its input has memory of its own, so that it may be written into."""

from pullback.core.array_type import is_writable_apart


def in_own_memory(out, source, *, ops):
    """`out`; a copy where it lies in the memory of `source`, as changes of shape by trivial arguments do."""
    return out if is_writable_apart(out, source) else ops.clone(out)
