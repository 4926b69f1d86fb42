"""The largest number of each window, and where it stands: dimension by dimension, from the last to the first."""

import itertools

import numpy as np

__all__ = ["place_pooled", "put_pooled", "take_pooled", "windowed_max"]


def windowed_max(self, places):
    """(values, indices): the maxima over windows of the last dimensions, and their places in those, flattened.

    `places` has an array (windows, places in a window) for each dimension; a place outside of it is none. The first
    of equal numbers counts, as read row by row, and the last NaN.
    """
    values, indices, step = self, None, 1
    has_nan = self.dtype.kind == "f" and self.size > 0 and bool(np.isnan(self.max()))
    for axis, of_windows in zip(range(self.ndim - 1, -1, -1), reversed(places), strict=False):
        size = values.shape[axis]
        inside = (of_windows >= 0) & (of_windows < size)
        first = np.take_along_axis(of_windows, inside.argmax(1)[:, None], 1)
        here = np.where(inside, of_windows, first)  # the first place again, which changes nothing
        parts = [_read(values, _positions(column), axis) for column in here.T]
        values, taken = (_max_of if has_nan else _max_without_nan)(parts)
        line = np.arange(len(here)) * here.shape[1]
        chosen = here.ravel().take(taken + line.reshape(-1, *(1,) * (self.ndim - 1 - axis)))
        indices = chosen if indices is None else np.take_along_axis(indices, chosen, axis) + chosen * step
        step *= size
    return values, indices


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
    flat = self.reshape(*self.shape[: self.ndim - dims], -1)
    at = indices.reshape(*indices.shape[: indices.ndim - dims], -1)
    return np.take_along_axis(flat, at, -1).reshape(indices.shape)


def place_pooled(self, indices, size):
    """The adjoint of take_pooled: zeros of that size in the last dimensions, with self added at flat places."""
    lead = self.shape[: self.ndim - len(size)]
    count, rows = int(np.prod(size)), int(np.prod(lead))
    if not count or not rows:
        return np.zeros((*lead, *size), self.dtype)
    places = (indices.reshape(rows, -1) + np.arange(rows)[:, None] * count).ravel()
    numbers = self.ravel()
    if numbers.dtype == np.float64:
        out = np.bincount(places, numbers, rows * count)
    else:
        out = np.zeros(rows * count, self.dtype)
        np.add.at(out, places, numbers)
    return out.reshape(*lead, *size)


def put_pooled(self, indices, size):
    """Zeros of that size in the last dimensions, with self written at flat places; of several, the last one stays."""
    lead = self.shape[: self.ndim - len(size)]
    count = int(np.prod(size))
    at = indices.reshape(*lead, -1) if indices.size else indices.reshape(*lead, 0)
    if at.size and (at.min() < 0 or at.max() >= count):
        raise RuntimeError(f"indices must lie in [0, {count}), the places of {tuple(size)}: {at.min()} to {at.max()}")
    out = np.zeros((*lead, count), self.dtype)
    np.put_along_axis(out, at, self.reshape(at.shape), -1)
    return out.reshape(*lead, *size)
