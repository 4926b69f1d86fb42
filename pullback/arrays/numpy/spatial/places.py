"""Where the coordinates of a grid fall among the numbers of an array: which neighbours, how far on from the first."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops

NEIGHBOURS = {"nearest": 1, "bilinear": 2, "bicubic": 4}  # along each dimension
FAR = 1e30  # where infinity is taken to be, so that the arithmetic stays finite


def base_grid(self, size, align_corners):
    """The places (points, dims + 1) of a grid of that size, the last dimension first, then 1; in the dtype of self."""
    axes = np.meshgrid(*(_line(n, align_corners, self.dtype) for n in size), indexing="ij")
    return np.stack([*reversed(axes), np.ones_like(axes[0])], -1).reshape(-1, len(size) + 1)


def _line(n, align_corners, dtype):
    """n places from -1 to 1: at the corners of the outer pixels, or at their centres."""
    if n <= 1:
        return np.zeros(n, dtype)
    line = np.linspace(-1, 1, n, dtype=dtype)
    return line if align_corners else line * dtype.type((n - 1) / n)


@loops("arguments")
def grid_places(grid, size, mode, padding_mode, align_corners):
    """(part, slope, index): how a grid (N, *out, dims) of coordinates from -1 to 1, the last dimension first, is read.

    `part` is how far each coordinate lies behind its neighbour below, in [0, 1), and `slope` is its derivative;
    `index` (N, points, neighbours) are flat places in an array of that size, -1 for those outside.
    """
    dims = len(size)
    part, slope = np.empty_like(grid), np.empty_like(grid)
    points, near = math.prod(grid.shape[1:-1]), NEIGHBOURS[mode]
    index = np.zeros((1,) * (dims + 2), np.int64)  # (N, points, a dimension of neighbours for each dimension)
    outside = np.zeros_like(index, bool)
    for d, n in enumerate(size):
        at = grid[..., dims - 1 - d].reshape(len(grid), points)
        part_d, slope_d, places = _along(at, n, mode, padding_mode, align_corners)
        part[..., dims - 1 - d], slope[..., dims - 1 - d] = (x.reshape(grid.shape[:-1]) for x in (part_d, slope_d))
        places = places.reshape(*at.shape, *(1,) * d, near, *(1,) * (dims - 1 - d))
        beyond = (places < 0) | (places > n - 1)
        index, outside = index * n + np.where(beyond, 0, places).astype(np.int64), outside | beyond
    index = np.where(outside, -1, index)
    return part, slope, index.reshape(len(grid), points, near**dims)


def _along(at, n, mode, padding_mode, align_corners):
    """(part, slope, places (..., neighbours)) along a dimension of n numbers; NaN is -1, as PyTorch says."""
    scale = (n - 1) / 2 if align_corners else n / 2
    slope = np.where(np.isfinite(at), scale, 0)
    at = at.astype(np.result_type(at, np.float32))
    at[np.isnan(at)] = -1
    at.clip(-FAR, FAR, out=at)
    at = (at + 1) * scale if align_corners else ((at + 1) * n - 1) * 0.5
    if mode != "bicubic":
        at, turn = _brought_inside(at, n, padding_mode, align_corners)
        slope = slope * turn
    low = np.rint(at) if mode == "nearest" else np.floor(at)
    if mode == "nearest":
        return np.zeros_like(at), np.zeros_like(at), low[..., None]
    places = low[..., None] + np.arange(NEIGHBOURS[mode]) - (mode == "bicubic")
    if mode == "bicubic":
        places, _ = _brought_inside(places, n, padding_mode, align_corners)
    return at - low, slope, places


def _brought_inside(at, n, padding_mode, align_corners):
    """(places outside moved to the border or mirrored at it, the derivative of that: 0 at the border, as outside)."""
    if padding_mode == "zeros":
        return at, 1
    turn = np.ones_like(at)
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span == 0:
            return np.zeros_like(at), 0
        away = np.abs(at - low)
        odd = np.floor(away / span) % 2 != 0
        rest = np.fmod(away, span)
        turn = np.where(odd == (at < low), 1, -1)
        at = np.where(odd, span - rest, rest) + low
    return at.clip(0, n - 1), turn * ((at > 0) & (at < n - 1))
