"""Sums over rows and over columns of a matrix as products with ones: the fastest sums of a small one.

A large one is taken in blocks. OpenBLAS gives a product of a matrix and a vector of some 460,000 elements or more to
several threads. That saves nothing here, where memory is what takes the time. And where another program has one of the
processors each product waits for its turn there: 10 ms in place of 0.2 ms.
"""

import numpy as np

from pullback.arrays.numpy.fast.kept_vectors import ones_of

ONE_THREAD = 1 << 18  # elements of a block


def row_sums(rows, out=None):
    """The sum of each row."""
    count, width = rows.shape
    ones = ones_of(width, rows.dtype)
    if rows.size <= ONE_THREAD:
        return np.dot(rows, ones, out=out)
    if out is None:
        out = np.empty(count, rows.dtype)
    step = max(1, ONE_THREAD // width)
    whole = count - count % step
    np.matmul(rows[:whole].reshape(-1, step, width), ones, out=out[:whole].reshape(-1, step))
    np.dot(rows[whole:], ones, out=out[whole:])
    return out


def column_sums(rows):
    """The sum of each column."""
    count, width = rows.shape
    if rows.size <= ONE_THREAD:
        return np.dot(ones_of(count, rows.dtype), rows)
    step = max(1, ONE_THREAD // width)
    whole = count - count % step
    sums = np.add.reduce(np.matmul(ones_of(step, rows.dtype), rows[:whole].reshape(-1, step, width)), axis=0)
    if whole < count:
        sums += np.dot(ones_of(count - whole, rows.dtype), rows[whole:])
    return sums
