"""Resampling along single dimensions: average pooling, interpolation, borders.

A map along a dimension is told by its kind and numbers, so that it means the same to every type of array:

    ("mean", n, m)              means of m windows that cover n places and overlap as little as they can
    ("sum", n, m, kernel, stride, padding, counted)     sums of windows; means, if they count what is "inside" the n
                                places or what is "padded" too, and not if `counted` is None
    ("border", mode, n, before, after)                  n places with more around them, or fewer
    ("resample", kind, n, m, factor, align_corners, antialias)      m places interpolated between n
    ("adjoint", map)            the transposed one
"""

import functools

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.spatial.maps import Pick, SparseMap, WindowSum

CUBIC, CUBIC_SMOOTHED = -0.75, -0.5  # the slope of the cubic at 1: Keys has -1/2, image programs -3/4


@loops("arguments")
def separable_map(self, maps):
    """self with one map, told by kind and numbers, applied along each of its last dimensions (None: left as it is)."""
    if self.dtype == np.float16:
        return separable_map(self.astype(np.float32), maps).astype(np.float16)
    made = [None if m is None else made_map(m) for m in maps]
    axes = [(m, axis) for axis, m in enumerate(made, self.ndim - len(maps)) if m is not None]
    out = self
    for m, axis in sorted(axes, key=_growth):
        if out.shape[axis] != m.size_in:
            raise RuntimeError(f"dimension {axis} has size {out.shape[axis]}, but its map takes size {m.size_in}")
        out = m.apply(out, axis)
    return out.copy(order="C") if np.may_share_memory(out, self) else np.ascontiguousarray(out)


def _growth(pair):
    """The order of the maps: what shrinks the array first, and the last dimension, the slowest, while it is small."""
    m, axis = pair
    ratio = m.size_out / max(m.size_in, 1)
    return ratio, -axis if ratio > 1 else axis


@functools.lru_cache(maxsize=256)
def made_map(told):
    """The function that computes the map described by kind and numbers; None for the identity."""
    return _MAKERS[told[0]](*told[1:])


def _adjoint(told):
    made = made_map(told)
    return None if made is None else made.adjoint()


def even_bounds(n, m):
    """Where m windows begin and end that cover n places and overlap as little as they can."""
    at = np.arange(m)
    return at * n // max(m, 1), -(-(at + 1) * n // max(m, 1))


def _mean_map(n, m):
    """The means of m windows that cover n places and overlap as little as they can."""
    if n == m:
        return None
    if m and n % m == 0:
        return WindowSum(n // m, n // m, 0, m / n, n, m)
    begin, end = even_bounds(n, m)
    ends = np.concatenate([[0], np.cumsum(end - begin)])
    index = np.arange(ends[-1]) + np.repeat(begin - ends[:-1], end - begin)
    return SparseMap(np.repeat(1 / (end - begin), end - begin), index, ends, n)


def _window_sum(n, m, kernel, stride, padding, counted):
    scale = 1
    if counted is not None:
        begin = np.arange(m) * stride - padding
        end = np.minimum(begin + kernel, n + padding)
        if counted == "inside":
            begin, end = begin.clip(0), end.clip(max=n)
        count = end - begin
        scale = 1 / (count if count.min() < count.max() else int(count[0]))
    return WindowSum(kernel, stride, padding, scale, n, m)


# -- borders ---------------------------------------------------------------------------------------------------------
def _border(mode, n, before, after):
    return None if before == after == 0 else Pick(_INDICES[mode](n, before, after), n)


def _replicated(n, before, after):
    return np.arange(-before, n + after).clip(0, n - 1)


def _reflected(n, before, after):
    index = np.abs(np.arange(-before, n + after))
    return np.where(index < n, index, 2 * (n - 1) - index)


def _circular(n, before, after):
    kept = np.arange(max(-before, 0), n - max(-after, 0))  # what is cut off does not come back on the other side
    if not len(kept):
        return kept
    return kept[np.arange(-max(before, 0), len(kept) + max(after, 0)) % len(kept)]


_INDICES = {"reflect": _reflected, "replicate": _replicated, "circular": _circular}


# -- interpolation ---------------------------------------------------------------------------------------------------
def _resampling_map(kind, n, m, factor, align_corners, antialias):
    """The map from n to m places along one dimension."""
    if kind.startswith("nearest"):
        return _nearest(n, m, factor, 0.5 if kind == "nearest-exact" else 0.0)
    aligned = (n - 1) / (m - 1) if m > 1 else 0.0
    scale = aligned if align_corners else 1 / factor if factor else n / m
    if n == m and scale == 1:
        return None
    if antialias:
        return _smoothed(kind, n, m, scale)
    at = np.arange(m) * scale if align_corners else (np.arange(m) + 0.5) * scale - 0.5
    if kind == "linear":
        at = at.clip(0)
        low = np.minimum(at.astype(np.int64), n - 1)
        part = (at - low).clip(0, 1)
        places, weights = (low, np.minimum(low + 1, n - 1)), (1 - part, part)
    else:
        low = np.floor(at).astype(np.int64)
        places, weights = [(low + j).clip(0, n - 1) for j in (-1, 0, 1, 2)], _cubic_weights(at - low)
    count = len(places)
    return SparseMap(np.stack(weights, 1).ravel(), np.stack(places, 1).ravel(), np.arange(m + 1) * count, n)


def _nearest(n, m, factor, shift):
    """The places are found in single precision, as in PyTorch, so that the same neighbours are chosen."""
    if n == m and (factor is None or factor == 1):
        return None
    single = np.float32
    scale = single(1 / factor) if factor else single(n) / single(m)
    at = np.floor((np.arange(m, dtype=single) + single(shift)) * scale).astype(np.int64)
    return Pick(np.minimum(at, n - 1), n)


def _cubic_weights(t, a=CUBIC):
    """The weights of the neighbours at -1, 0, 1, 2 for a place t in [0, 1): Keys, IEEE Trans. ASSP 29, 1981."""
    return [_cubic(t + 1, a), _cubic(t, a), _cubic(1 - t, a), _cubic(2 - t, a)]


def _cubic(x, a):
    """Keys' kernel at x in [0, 2], of a number between 0 and 1 or 1 and 2 throughout: which one, its name says."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, far)


def _smoothed(kind, n, m, scale):
    """Each new place averages all old ones that the widened kernel covers."""
    radius, width = (1, max(scale, 1.0)) if kind == "linear" else (2, max(scale, 1.0))
    centre = scale * (np.arange(m) + 0.5)
    begin = (centre - radius * width + 0.5).astype(np.int64).clip(0)
    end = (centre + radius * width + 0.5).astype(np.int64).clip(max=n)
    ends = np.concatenate([[0], np.cumsum(end - begin)])
    row = np.repeat(np.arange(m), end - begin)
    index = np.arange(ends[-1]) - ends[row] + begin[row]
    away = np.abs(index - centre[row] + 0.5) / width
    weights = (1 - away).clip(0) if kind == "linear" else np.where(away < 2, _cubic(away, CUBIC_SMOOTHED), 0.0)
    return SparseMap(weights / np.add.reduceat(weights, ends[:-1])[row], index, ends, n)


_MAKERS = {
    "mean": _mean_map,
    "sum": _window_sum,
    "border": _border,
    "resample": _resampling_map,
    "adjoint": _adjoint,
}
