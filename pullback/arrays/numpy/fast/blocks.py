"""Elementwise functions of many float32 numbers by polynomials, in blocks whose buffers stay in the cache."""

import numpy as np

from pullback.arrays.numpy.declarations import loops

BLOCK = 1 << 15  # elements: 128 KiB a buffer, of which three stay in the second-level cache
MANY = 1 << 13  # elements: below, one call of a slower function costs less than thirty of quick ones


@loops("blocks")
def by_blocks(fill, x):
    """A new array of x's shape (float32) that fill(part of x, part of it, scratch) has filled."""
    flat, out = x.reshape(-1), np.empty(x.shape, np.float32)
    target, scratch = out.reshape(-1), np.empty(min(BLOCK, x.size), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, x.size, BLOCK):
            part = flat[start : start + BLOCK]
            fill(part, target[start : start + BLOCK], scratch[: part.size])
    return out


@loops("coefficients")
def fill_odd_polynomial(x, limit, coefficients, out, square):
    """out = x P(x**2) of x limited to [-limit, limit], nan where x is; the highest coefficient comes first."""
    limited = np.clip(x, -limit, limit)
    np.multiply(limited, limited, out=square)
    np.multiply(square, coefficients[0], out=out)
    for coefficient in coefficients[1:-1]:
        out += coefficient
        out *= square
    out += coefficients[-1]
    out *= limited
