"""Products of many columns and rows: the gradients of a weight, one for each sample.

`np.einsum` fills the result with zeros before it adds to it, so a large one goes through memory twice; a block at a
time it stays in the cache. BLAS writes it once, but NumPy asks BLAS for no product of matrices whose inner dimension is
1; so there are two columns and two rows, of which one is zeros.
"""

import numpy as np

from pullback.arrays.numpy.declarations import SAME_VALUES, fast, loops

MANY = 1 << 15  # elements of the result
_BLOCK = 1 << 20  # bytes of it
_LENGTHS = range(16, 81)  # of float32 rows for which BLAS is as fast with AVX2, and twice as fast with AVX-512
_FEWEST_ROWS = 16  # in the matrix of a sample


def _outer_plainly(columns, rows):
    return np.einsum("bi,bj->bij", columns, rows)  # in half the time of a broadcast product


@fast(plain=_outer_plainly, pays_from=MANY, exact=SAME_VALUES)
@loops("blocks")
def outer_products(columns, rows):
    """columns[b, i] rows[b, j], of shape (b, i, j)."""
    (count, high), long = columns.shape, rows.shape[1]
    if count * high * long < MANY or columns.dtype != rows.dtype:
        return _outer_plainly(columns, rows)
    if columns.dtype == np.float32 and high >= _FEWEST_ROWS and long in _LENGTHS:
        with np.errstate(all="ignore"):  # as np.einsum is silent
            return np.matmul(_beside_zeros(columns).swapaxes(1, 2), _beside_zeros(rows))
    out = np.empty((count, high, long), columns.dtype)
    step = max(1, _BLOCK // (high * long * out.itemsize))
    for start in range(0, count, step):
        part = slice(start, start + step)
        np.einsum("bi,bj->bij", columns[part], rows[part], out=out[part])
    return out


def _beside_zeros(x):
    out = np.zeros((len(x), 2, x.shape[1]), x.dtype)
    out[:, 0] = x
    return out
