"""The largest number of each window, and where it stands: dimension by dimension, from the last to the first."""

import functools
import itertools
import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.pointwise.comparisons import refuse_unordered
from pullback.arrays.numpy.spatial.resampling import even_bounds

_FEW = 16  # places in a window, of which more are sooner read dimension by dimension


@loops("arguments")
def windowed_max(self, windows):
    """(values, indices): the maxima over windows of the last dimensions, and their places in those, flattened.

    `windows` tells for each dimension of n places what its m windows are: (m, kernel, stride, padding, dilation), or
    (n, m) for those that cover all places and overlap as little as they can. A place outside of it is none; a window
    without any gets any number. The first of equal numbers counts, as read row by row, and the last NaN.
    """
    refuse_unordered(self)
    values, indices, step = self, None, 1
    has_nan = self.dtype.kind == "f" and self.size > 0 and bool(np.isnan(self.max()))
    if not has_nan and (found := _max_at_once(self, windows)) is not None:
        return found
    for axis, of_windows in zip(range(self.ndim - 1, -1, -1), reversed(windows), strict=False):
        size = values.shape[axis]
        here, positions = reading_plan(of_windows, size)
        parts = [_read(values, at, axis) for at in positions]
        values, taken = (_max_of if has_nan else _max_without_nan)(parts)
        line = np.arange(len(here)) * here.shape[1]
        chosen = here.ravel().take(taken + line.reshape(-1, *(1,) * (self.ndim - 1 - axis)))
        indices = chosen if indices is None else np.take_along_axis(indices, chosen, axis) + chosen * step
        step *= size
    return values, indices


@loops("arguments")
def _max_at_once(x, windows):
    """The same for windows of few places at equal distances, inside of x, which has no NaN; else None."""
    size, base, offsets, positions = x.shape[x.ndim - len(windows) :], 0, 0, []
    for n, of_windows in zip(size, windows, strict=True):
        here, found = reading_plan(of_windows, n)
        if not all(isinstance(at, slice) and at.step == found[0].step for at in found):
            return None
        positions.append(found)
        base = np.add.outer(base * n, here[:, 0])
        offsets = np.add.outer(offsets * n, here[0] - here[0, 0])
    if offsets.size > _FEW:
        return None
    values, taken = _max_without_nan([x[(..., *at)] for at in itertools.product(*positions)])
    indices = offsets.reshape(-1).take(taken)
    indices += base
    return values, indices


@functools.lru_cache(maxsize=128)
def reading_plan(windows, size):
    """(the places to read, what to read at once for each place inside a window)."""
    here = _inside(_even(*windows) if len(windows) == 2 else _regular(*windows), size)
    return here, tuple(_positions(column) for column in here.T)


def _regular(m, kernel, stride, padding, dilation):
    """The places of each of m windows."""
    return np.arange(m)[:, None] * stride - padding + np.arange(kernel) * dilation


def _even(n, m):
    """The same for m windows that cover n places, filled up with places outside."""
    begin, end = even_bounds(n, m)
    at = begin[:, None] + np.arange((end - begin).max(initial=1))
    return np.where(at < end[:, None], at, -1)


def _inside(places, size):
    """Rising places, where those before and behind the dimension are its window's first and last ones once more.

    So the first of equal numbers stays first, and the last NaN last. A window that is all outside gets any place.
    """
    inside, width = (places >= 0) & (places < size), places.shape[1]
    first, last = inside.argmax(1), width - 1 - inside[:, ::-1].argmax(1)
    nearest = np.arange(width).clip(first[:, None], last[:, None])
    return np.take_along_axis(places, nearest, 1).clip(0, size - 1)


@loops("window")
def _max_without_nan(parts):
    """(maxima, the number of the first part that has each).

    That is how many of the running maxima fall short of the last one; copying under masks takes three times as long.
    """
    running = list(itertools.accumulate(parts, np.maximum))
    best = running[-1].copy() if len(parts) == 1 else running[-1]
    taken = np.zeros(best.shape, np.uint8 if len(parts) < 256 else np.intp)
    for part in running[:-1]:
        taken += part != best
    return best, taken


@loops("window")
def _max_of(parts):
    """The same, where the last NaN is the largest of all."""
    best = parts[0].copy()
    taken = np.zeros(best.shape, np.intp)
    for j, part in enumerate(parts):
        better = (part > best) | np.isnan(part)
        np.copyto(best, part, where=better)
        np.copyto(taken, j, where=better)
    return best, taken


def _positions(index):
    """Indices as a slice where they have one step: NumPy reads that without a copy."""
    if len(index) > 1:
        step = int(index[1] - index[0])
        if step > 0 and bool((np.diff(index) == step).all()):
            return slice(int(index[0]), int(index[-1]) + 1, step)
    return index


def _read(x, here, axis):
    """x at these positions of an axis."""
    if isinstance(here, slice):
        return x[(slice(None),) * (axis % x.ndim) + (here,)]
    return x.take(here, axis)


def take_pooled(self, indices, dims):
    """self at flat places of its last `dims` dimensions."""
    return self.reshape(-1).take(_flat_places(indices, self.shape, dims)).reshape(indices.shape)


def place_pooled(self, indices, size):
    """The adjoint of take_pooled: zeros of that size in the last dimensions, with self added at flat places."""
    shape = (*self.shape[: self.ndim - len(size)], *size)
    places, numbers, count = _flat_places(indices, shape, len(size)), self.ravel(), math.prod(shape)
    if numbers.dtype == np.float64 and count:
        out = np.bincount(places, numbers, count)
    else:
        out = np.zeros(count, self.dtype)
        np.add.at(out, places, numbers)
    return out.reshape(shape)


def _flat_places(indices, shape, dims):
    """Places in a whole array of that shape, from those in its last dimensions."""
    rows, count = math.prod(shape[: len(shape) - dims]), math.prod(shape[len(shape) - dims :])
    each = indices.size // max(rows, 1)
    return (indices.reshape(rows, each) + np.arange(rows)[:, None] * count).ravel()


def put_pooled(self, indices, size):
    """Zeros of that size in the last dimensions, with self written at flat places; of several, the last one stays."""
    shape, count = (*self.shape[: self.ndim - len(size)], *size), math.prod(size)
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise RuntimeError(
            f"indices must lie in [0, {count}), the places of {tuple(size)}: {indices.min()} to {indices.max()}"
        )
    out = np.zeros(math.prod(shape), self.dtype)
    out[_flat_places(indices, shape, len(size))] = self.ravel()
    return out.reshape(shape)
