"""Running sums of large arrays. `np.add.accumulate` has every sum wait for the one before: 3 ns an element.

Along the last dimension a few neighbouring sums are one product with a triangle of ones, for all rows at once; the sum
so far enters with the first of them, so that everything is added in order. A vector is cut into rows, and what came
before a row is added to it. Along other dimensions whole slices are added. Where an infinity or NaN comes out NumPy
does it again, since zero times infinity would spoil its neighbours.
"""

import functools
import math

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast, loops

LARGE = 1 << 15  # elements
_WIDTH = 16  # elements that one product adds: fewer need more steps, more need more multiplications
_FEWEST = 512  # rows, or elements of a slice: below, the steps cost more than they save
_ROW = 128  # elements of the rows of a vector


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
        if x.ndim == 1:
            done = x.size >= _FEWEST * _ROW and _fill_vector(x, out, reverse)
        elif dim == x.ndim - 1:
            rows = x.reshape(-1, x.shape[-1])
            done = len(rows) >= _FEWEST and _fill_rows(rows, out.reshape(rows.shape), reverse)
        else:
            done = _fill_slices(x, out, dim, reverse)
    return out if done else None


@functools.cache
def _triangle(dtype, reverse):
    """Ones where what stands in the row is part of the sum that stands in the column."""
    return (np.tril if reverse else np.triu)(np.ones((_WIDTH, _WIDTH), dtype))


@loops("steps")
def _fill_rows(x, out, reverse):
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


def _fill_vector(x, out, reverse):
    rest = x.size % _ROW
    cut = rest if reverse else x.size - rest
    inside, outside = (slice(cut, None), slice(cut)) if reverse else (slice(cut), slice(cut, None))
    rows = out[inside].reshape(-1, _ROW)
    if not _fill_rows(x[inside].reshape(rows.shape), rows, reverse):
        return False
    # Read backwards, the sums from each element on are those up to it.
    step = -1 if reverse else 1
    ends = np.add.accumulate(rows[::step, 0 if reverse else -1])
    rows[::step][1:] += ends[:-1, None]
    out[outside][::step] = np.add.accumulate(x[outside][::step])
    out[outside] += ends[-1]
    return np.isfinite(ends[-1])


@loops("steps")
def _fill_slices(x, out, dim, reverse):
    if math.prod(x.shape[dim + 1 :]) < _FEWEST:
        return False
    source, target = (np.moveaxis(a, dim, 0)[:: -1 if reverse else 1] for a in (x, out))
    target[0] = source[0]
    for i in range(1, len(source)):
        np.add(target[i - 1], source[i], out=target[i])
    return True
