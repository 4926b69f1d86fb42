"""Choices between the elements of large arrays, by their bits or by clipping.

NumPy's where takes 3.5 ns an element on an unpredictable mask. With a zero on one side, the commonest choice in
backward formulas, an AND with a mask of bits takes 0.4, and leaves inf and nan out as where does.
"""

import math

import numpy as np

from pullback.arrays.numpy.declarations import SAME_BITS, SAME_VALUES, fast

SMALL = 1024  # elements: below, a single ufunc call costs less than a faster algorithm's overhead


@fast(plain=np.maximum, pays_from=SMALL, exact=SAME_VALUES)
def larger(x, number):
    """The larger of each element and a number, by clipping a large array: in a third of the time of np.maximum."""
    return x.clip(number, math.inf) if _is_clipped(x, number) else np.maximum(x, number)


@fast(plain=np.minimum, pays_from=SMALL, exact=SAME_VALUES)
def smaller(x, number):
    """The smaller of each element and a number."""
    return x.clip(-math.inf, number) if _is_clipped(x, number) else np.minimum(x, number)


def _is_clipped(x, number):
    return x.size >= SMALL and type(x) is np.ndarray and x.dtype.kind == "f" and type(number) in (int, float)


BITS = {np.dtype(np.float64): np.int64, np.dtype(np.float32): np.int32}


def maskable(condition, x):
    """True if `masked` applies: large arrays of one shape, of a type as wide as an integer type."""
    return (
        type(x) is np.ndarray
        and x.size > SMALL
        and x.dtype in BITS
        and type(condition) is np.ndarray
        and condition.shape == x.shape
    )


def _masked_plainly(x, mask):
    return np.where(mask == -1, x, x.dtype.type(0))


@fast(plain=_masked_plainly, pays_from=SMALL, exact=SAME_BITS)
def masked(x, mask):
    """x where the int8 mask is -1, zero where it is 0; an array of its own, not a view, which engines need not copy."""
    out = np.empty_like(x)
    bits = BITS[x.dtype]
    np.bitwise_and(x.view(bits), mask, out=out.view(bits))
    return out


def blendable(condition, x, y):
    """True if `blended` applies: as `maskable`, for two arrays of one type or an array and a Python number."""
    if type(x) in (float, int):
        return maskable(condition, y)
    return maskable(condition, x) and (
        type(y) in (float, int) or (type(y) is np.ndarray and y.shape == x.shape and y.dtype == x.dtype)
    )


@fast(plain=np.where, pays_from=SMALL, exact=SAME_BITS)
def blended(condition, x, y):
    """x where condition holds, y elsewhere, as y ^ ((x ^ y) & mask) on their bits: a sixth of the time of np.where."""
    dtype = (y if type(x) in (float, int) else x).dtype
    bits = BITS[dtype]
    mask = condition.astype(bits)
    np.negative(mask, out=mask)
    y_bits = np.asarray(y, dtype).view(bits)
    out = np.empty(condition.shape, dtype)
    out_bits = np.bitwise_xor(np.asarray(x, dtype).view(bits), y_bits, out=out.view(bits))
    out_bits &= mask
    out_bits ^= y_bits
    return out
