"""Cached vectors: ones (a product with ones is the fastest sum of a small matrix), and the offsets of its rows.

And the grid of small arrays, for an index along one dimension.
"""

import functools

import numpy as np

from pullback.arrays.numpy.declarations import loops

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


def open_grid(shape):
    """numpy.ogrid of all positions in an array of this shape, read-only where it is a kept one."""
    return _kept_grid(shape) if max(shape) <= MOST else np.ogrid[tuple(map(slice, shape))]


@functools.lru_cache(maxsize=256)
@loops("arguments")
def _kept_grid(shape):
    grid = np.ogrid[tuple(map(slice, shape))]
    for steps in grid:
        steps.flags.writeable = False
    return grid
