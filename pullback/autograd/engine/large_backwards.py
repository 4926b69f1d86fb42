"""After large backwards: the first asks for freed memory to be kept, later ones for what is too much to be given back.

A backward is looked at where some time has passed since the last look, so that looking takes next to none: memory that
matters is not freed in less. A large result of vmap asks for the same as a large backward.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from itertools import islice
from time import perf_counter

from pullback.arrays.numpy import freed_memory
from pullback.graph.node import Node

LARGE = 1 << 17  # bytes of a gradient: from here on glibc gives memory back when it is freed
_MANY = 64  # nodes that are looked at: every so manyth
_BETWEEN = 0.5e-3, 10e-3  # seconds from one look to the next: before the first large backward, and after it


class Looks:
    """When to look next."""

    __slots__ = ("due", "found")

    def __init__(self) -> None:
        self.due = 0.0
        self.found = False

    def look(self, nodes: Collection[Node]) -> None:
        """Look at a backward through these nodes, which has just ended."""
        if self.found:
            freed_memory.give_back_the_rest()
        elif _has_large(islice(nodes, 0, None, 1 + len(nodes) // _MANY)):
            self.found = True
            freed_memory.keep_for_large_backwards()
        self.due = perf_counter() + _BETWEEN[self.found]

    def look_at_batch(self, nbytes: int) -> None:
        """Look at a result of vmap of so many bytes: the nodes inside know only the shape of one sample."""
        if nbytes >= LARGE and not self.found:
            self.found = True
            freed_memory.keep_for_large_backwards()


def _has_large(nodes: Iterable[Node]) -> bool:
    for node in nodes:
        shape, dtype = node._shape, node._dtype
        if shape and dtype is not None and math.prod(shape) * dtype.itemsize >= LARGE:
            return True
    return False


looks = Looks()
