"""Sequence numbers: the order in which nodes were recorded."""

import itertools

next_sequence_nr = itertools.count().__next__
# Gradients are accumulated as soon as they are complete: above every number that an operator's node gets.
next_leaf_nr = itertools.count(1 << 62).__next__
newest_leaf: dict[int, int] = {}  # by level: the number of the leaf from which something was recorded last


def recorded_since(leaf_nr: int, level: int) -> bool:
    """True if anything at this level or a higher one was recorded from leaves with a number above this."""
    return any(nr > leaf_nr for at, nr in list(newest_leaf.items()) if at >= level)
