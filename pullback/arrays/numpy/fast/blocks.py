"""Elementwise functions of many numbers, float32 ones by polynomials, in blocks whose buffers stay in the cache."""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state

BLOCK = 1 << 16  # elements: 256 KiB a buffer, of which three stay in the second-level cache
MANY = 1 << 13  # elements: below, one call of a slower function costs less than thirty of quick ones


@loops("blocks")
def by_blocks(fill, buffers, *arrays):
    """A new array like the first of these, filled by fill(*parts of arrays, part of it, *buffers) without warnings."""
    first = arrays[0]
    out = np.empty(first.shape, first.dtype)
    flat, target = [x.reshape(-1) for x in arrays], out.reshape(-1)
    scratch = np.empty((buffers, min(BLOCK, first.size)), first.dtype)
    before = warning_state()
    try:
        ignore_warnings()
        for start in range(0, first.size, BLOCK):
            parts = [x[start : start + BLOCK] for x in flat]
            fill(*parts, target[start : start + BLOCK], *scratch[:, : parts[0].size])
    finally:
        restore(before)
    return out


def constants(*numbers):
    """float32 numbers as arrays without dimensions, which NumPy takes without converting them."""
    return [np.array(x, np.float32) for x in numbers]


def fill_odd_polynomial(x, limits, coefficients, out, square):
    """out = x P(x**2) of x brought into the limits, nan where x is; the highest coefficient comes first."""
    limited = x.clip(*limits)
    np.multiply(limited, limited, out=square)
    fill_polynomial(square, coefficients, out)
    out *= limited


@loops("coefficients")
def fill_polynomial(x, coefficients, out):
    """out = P(x); the highest coefficient comes first."""
    np.multiply(x, coefficients[0], out=out)
    for coefficient in coefficients[1:-1]:
        np.add(out, coefficient, out=out)
        np.multiply(out, x, out=out)
    np.add(out, coefficients[-1], out=out)
