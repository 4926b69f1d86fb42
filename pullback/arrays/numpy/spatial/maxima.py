"""The largest number of each window, and where it stands: dimension by dimension, from the last to the first."""

import numpy as np

__all__ = ["place_pooled", "take_pooled", "windowed_max"]


def windowed_max(self, places):
    """(values, indices): the maxima over windows of the last dimensions, and their places in those, flattened.

    `places` has an array (windows, places in a window) for each dimension; a place outside of it is none. The first
    of equal numbers counts, as read row by row, and the last NaN.
    """
    dims = len(places)
    size = self.shape[self.ndim - dims :]
    values, indices = self, np.arange(int(np.prod(size))).reshape(size)
    for axis in range(self.ndim - 1, self.ndim - 1 - dims, -1):
        values, indices = _max_along(values, indices, axis, places[axis - self.ndim + dims])
    return np.ascontiguousarray(values), np.ascontiguousarray(np.broadcast_to(indices, values.shape))


def _max_along(values, indices, axis, places):
    """The same along one dimension."""
    size, behind = values.shape[axis], axis - values.ndim
    inside = (places >= 0) & (places < size)
    first = np.take_along_axis(places, inside.argmax(1)[:, None], 1)[:, 0]
    best, found = values.take(first, axis), indices.take(first, behind)
    if found.ndim < best.ndim:
        found = np.broadcast_to(found, best.shape)
    for j in range(places.shape[1]):
        here = _positions(np.where(inside[:, j], places[:, j], first))
        part, at = _read(values, here, axis), _read(indices, here, behind)
        better = part > best
        if best.dtype.kind == "f":
            better |= part != part
        found = np.where(better, at, found)
        np.copyto(best, part, where=better)
    return best, found


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
