"""interpolate and upsample: one sparse linear map a dimension, with the few neighbours of each new place."""

import functools
import math

import numpy as np

from pullback.arrays.numpy.spatial.maps import Pick, SparseMap
from pullback.ops.composite.spatial.adaptive_pooling import mean_map
from pullback.ops.composite.spatial.arguments import integers, refuse, require_arrays, require_fractions

DIMS = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)}
MODES = ("nearest", "nearest-exact", "area", *DIMS)
CUBIC, CUBIC_SMOOTHED = -0.75, -0.5  # the slope of the cubic at 1: Keys has -1/2, image programs -3/4


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
    antialias=False, *, ops,
):  # fmt: skip
    """(N, C, ...) resampled to a size, or by a factor."""
    how = (size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    return _resampled("interpolate", input, *how, ops)


def _resampled(name, input, size, scale_factor, mode, align_corners, recompute, antialias, ops):
    require_arrays(name, input=input)
    dims = input.ndim - 2
    _check(name, mode, dims, align_corners, antialias, input.shape)
    sizes = tuple(input.shape[2:])
    if 0 in input.shape[1:]:
        raise refuse(name, f"only the batch of input may be empty, but its shape is {tuple(input.shape)}")
    out, factors = _sizes_out(name, sizes, size, scale_factor)
    if recompute:
        if size is not None:
            raise ValueError(f"{name}(): recompute_scale_factor is meaningless with an explicit size, {size}.")
        factors = (None,) * dims
    if min(out) < 1:
        raise refuse(name, f"input of size {sizes} and output of size {out} must both be positive")
    if not mode.startswith("nearest"):
        require_fractions(name, input)
    if mode == "area":
        return ops.separable_map(input, tuple(mean_map(n, m) for n, m in zip(sizes, out, strict=True)))
    kind = "cubic" if mode == "bicubic" else mode if mode.startswith("nearest") else "linear"
    maps = tuple(
        resampling_map(kind, n, m, factor, bool(align_corners), antialias)
        for n, m, factor in zip(sizes, out, factors, strict=True)
    )
    return ops.separable_map(input, maps)


def _check(name, mode, dims, align_corners, antialias, shape):
    if mode not in MODES:
        raise NotImplementedError(f"{name}(): mode must be one of {', '.join(MODES)}, but got {mode!r}.")
    if dims not in DIMS.get(mode, (1, 2, 3)):
        raise NotImplementedError(f"{name}(): the mode {mode!r} is not for an input of shape {tuple(shape)}.")
    if align_corners is not None and mode not in DIMS:
        raise ValueError(f"{name}(): align_corners is for linear, bilinear, bicubic and trilinear, not for {mode!r}.")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"{name}(): antialias is for bilinear and bicubic, not for {mode!r}.")


def _sizes_out(name, sizes, size, scale_factor):
    """(new sizes, factors or None for each dimension)."""
    if (size is None) == (scale_factor is None):
        raise ValueError(f"{name}(): give one of size and scale_factor; got {size} and {scale_factor}.")
    given = size if scale_factor is None else scale_factor
    given = tuple(given) if isinstance(given, (tuple, list)) else (given,) * len(sizes)
    if len(given) != len(sizes):
        argument = "size" if scale_factor is None else "scale_factor"
        raise ValueError(f"{name}(): {argument} {given} must have one number for each of the sizes {sizes}.")
    if scale_factor is None:
        return integers(name, "size", given, "an integer, or one for each dimension"), (None,) * len(sizes)
    if not all(isinstance(f, (int, float, np.number)) for f in given):
        raise TypeError(
            f"{name}(): scale_factor must be a number, or one for each dimension, but got {scale_factor!r}."
        )
    return tuple(math.floor(n * float(f)) for n, f in zip(sizes, given, strict=True)), tuple(float(f) for f in given)


@functools.lru_cache(maxsize=128)
def resampling_map(kind, n, m, factor, align_corners, antialias):
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
        places, weights = [(low + j).clip(0, n - 1) for j in (-1, 0, 1, 2)], cubic_weights(at - low)
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


def cubic_weights(t, a=CUBIC):
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


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None, *, ops):
    """interpolate, under its former name."""
    return _resampled("upsample", input, size, scale_factor, mode, align_corners, None, False, ops)


def upsample_nearest(input, size=None, scale_factor=None, *, ops):
    """interpolate to the nearest neighbours."""
    return _resampled("upsample_nearest", input, size, scale_factor, "nearest", None, None, False, ops)


def upsample_bilinear(input, size=None, scale_factor=None, *, ops):
    """interpolate, bilinear, corners aligned."""
    return _resampled("upsample_bilinear", input, size, scale_factor, "bilinear", True, None, False, ops)
