"""Running sums of large arrays. `np.add.accumulate` has every sum wait for the one before: 3 ns an element.

Along the last dimension 16 neighbouring sums are one product with a triangle of ones, all of a block at once; what
comes before them, the running sum of the sums of 16, enters with the first of them. So fewer numbers are added one
after the other than in NumPy's sums, which are never more exact. Many short rows advance side by side. Along other
dimensions whole slices are added. Where an infinity or NaN comes out NumPy does it again, since zero times infinity
would spoil its neighbours.
"""

import functools
import math

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast, loops
from pullback.arrays.numpy.fast.kept_vectors import ones_of

LARGE = 1 << 15  # elements
_WIDTH = 16  # elements that one product adds: fewer leave more to accumulate, more need more multiplications
_SHORT = 64  # elements of a row, fewer of which are left to NumPy
_FEWEST = 512  # rows that advance together, or elements of a slice: below, the steps cost more than they save
_CACHED = 1 << 20  # bytes of rows that may advance together
_BLOCK = 1 << 15  # elements of a block, which stays in the cache


def _running_plainly(x, dim, reverse=False):
    back = (slice(None),) * (dim % x.ndim) + (slice(None, None, -1 if reverse else 1),)
    return np.add.accumulate(x[back], axis=dim)[back]


@fast(plain=_running_plainly, pays_from=LARGE, exact=Exactness(16, "terms"))
def running_sum(x, dim, reverse=False):
    """The sums up to each element along dim, or if `reverse` from each on; None where NumPy's way is as good."""
    if type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.flags.c_contiguous or x.size < LARGE:
        return None
    if not -x.ndim <= dim < x.ndim:
        return None
    dim %= x.ndim
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        if dim == x.ndim - 1:
            rows = x.reshape(-1, x.shape[-1])
            if len(rows) >= _FEWEST and x.nbytes <= _CACHED:
                done = _fill_side_by_side(rows, out.reshape(rows.shape), reverse)
            else:
                done = rows.shape[1] >= _SHORT and _fill_rows(rows, out.reshape(rows.shape), reverse)
        else:
            done = _fill_slices(x, out, dim, reverse)
    return out if done else None


@functools.cache
def _triangle(dtype, reverse):
    """Ones where what stands in the row is part of the sum that stands in the column."""
    return (np.tril if reverse else np.triu)(np.ones((_WIDTH, _WIDTH), dtype))


@loops("steps")
def _fill_side_by_side(x, out, reverse):
    """All rows advance by 16 at a time; False where something is not finite."""
    length = x.shape[1]
    parts, triangle = x.copy(), _triangle(x.dtype, reverse)
    starts = range(0, length, _WIDTH)
    for start in reversed(starts) if reverse else starts:
        end = min(start + _WIDTH, length)
        if reverse and end < length:
            parts[:, end - 1] += out[:, end]
        elif not reverse and start:
            parts[:, start] += out[:, start - 1]
        np.matmul(parts[:, start:end], triangle[: end - start, : end - start], out=out[:, start:end])
    return np.isfinite(out[:, 0 if reverse else -1]).all()


@loops("blocks")
def _fill_rows(x, out, reverse):
    """False where something is not finite."""
    rows, length = x.shape
    rest = length % _WIDTH  # of the elements that are added last
    cut = rest if reverse else length - rest
    inside, outside = (slice(cut, None), slice(cut)) if reverse else (slice(cut), slice(cut, None))
    parts, target = (a[:, inside].reshape(rows, -1, _WIDTH) for a in (x, out))
    # Read backwards, the sums from each element on are those up to it.
    step = -1 if reverse else 1
    so_far = np.add.accumulate(np.matmul(parts, ones_of(_WIDTH, x.dtype))[:, ::step], axis=1)
    if not np.isfinite(so_far[:, -1]).all():
        return False
    before = np.zeros(so_far.shape, x.dtype)
    before[:, ::step][:, 1:] = so_far[:, :-1]
    for block in _blocks(rows, parts.shape[1]):
        part = parts[block].copy()
        part[..., -1 if reverse else 0] += before[block]
        np.matmul(part, _triangle(x.dtype, reverse), out=target[block])
    if rest:
        last = np.add.accumulate(x[:, outside][:, ::step], axis=1)
        np.add(last, so_far[:, -1:], out=out[:, outside][:, ::step])
    return True


@loops("blocks")
def _blocks(rows, parts):
    """Pairs of slices, of the rows and of the parts of a row."""
    wide = min(parts, _BLOCK // _WIDTH)
    high = _BLOCK // _WIDTH // wide
    for i in range(0, rows, high):
        for j in range(0, parts, wide):
            yield slice(i, i + high), slice(j, j + wide)


@loops("steps")
def _fill_slices(x, out, dim, reverse):
    if math.prod(x.shape[dim + 1 :]) < _FEWEST:
        return False
    source, target = (np.moveaxis(a, dim, 0)[:: -1 if reverse else 1] for a in (x, out))
    target[0] = source[0]
    for i in range(1, len(source)):
        np.add(target[i - 1], source[i], out=target[i])
    return True
