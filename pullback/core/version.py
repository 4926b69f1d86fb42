"""Version counters: how often the memory of a tensor was modified in place.

A tensor has no counter until somebody else needs to read it: a view or a detached alias of the same memory, a node
that saved its own output, or the first in-place operation. No counter means version 0. That keeps one object fewer
alive for each of the many tensors that are never modified.
"""


class Counter:
    """The version shared by all tensors over one memory, and the operator that moved it last."""

    __slots__ = ("culprit", "n")

    def __init__(self, n=0):
        self.n = n
        self.culprit = None


def counter_of(tensor):
    """The counter of `tensor`, made if there is none yet; share it with whatever shares the memory."""
    counter = tensor._counter
    if counter is None:
        counter = tensor._counter = Counter()
    return counter


def bump(tensor, culprit):
    """Record that `culprit` (an operator's name) has modified the memory of `tensor`."""
    counter = counter_of(tensor)
    counter.n += 1
    counter.culprit = culprit


def version_of(tensor):
    """The current version as a number."""
    counter = tensor._counter
    return 0 if counter is None else counter.n
