"""Vectors of ones, kept: a product with one is the quickest sum along a dimension of a small matrix."""

import functools

import numpy as np

MOST = 4096  # elements of a vector that is kept


@functools.lru_cache(maxsize=256)
def ones_of(count, dtype):
    """`count` ones, read-only."""
    ones = np.ones(count, dtype)
    ones.flags.writeable = False
    return ones
