"""Sequence numbers: the order in which nodes were recorded."""

import itertools

next_sequence_nr = itertools.count().__next__
# Gradients are accumulated as soon as they are complete: above every number that an operator's node gets.
next_leaf_nr = itertools.count(1 << 62).__next__
