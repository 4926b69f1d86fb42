"""Cached vectors: ones (a product with ones is the fastest sum of a small matrix), and the offsets of its rows."""

import functools

import numpy as np

MOST = 4096  # elements of a vector that is kept


@functools.lru_cache(maxsize=256)
def ones_of(count, dtype):
    """`count` ones, read-only."""
    ones = np.ones(count, dtype)
    ones.flags.writeable = False
    return ones


@functools.lru_cache(maxsize=256)
def steps_of(count, step):
    """0, step, 2 step, ..., `count` of them, read-only."""
    steps = np.arange(count) * step
    steps.flags.writeable = False
    return steps
