"""interpolate and upsample: one sparse linear map a dimension, with the few neighbours of each new place."""

import math
from numbers import Real

from pullback.ops.composite.spatial.arguments import integers, refuse, require_arrays, require_fractions

DIMS = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)}
MODES = ("nearest", "nearest-exact", "area", *DIMS)


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
        return ops.separable_map(input, tuple(("mean", n, m) for n, m in zip(sizes, out, strict=True)))
    kind = "cubic" if mode == "bicubic" else mode if mode.startswith("nearest") else "linear"
    maps = tuple(
        ("resample", kind, n, m, factor, bool(align_corners), bool(antialias))
        for n, m, factor in zip(sizes, out, factors, strict=True)
    )
    return ops.separable_map(input, maps)


def _check(name, mode, dims, align_corners, antialias, shape):
    if mode not in MODES:
        raise NotImplementedError(f"{name}(): mode must be one of {', '.join(MODES)}, but got {mode!r}.")
    if dims not in DIMS.get(mode, (1, 2, 3)):
        wanted = " or ".join(str(2 + n) for n in DIMS.get(mode, (1, 2, 3)))
        raise NotImplementedError(
            f"{name}(): for mode {mode!r} input must have {wanted} dimensions, (N, C, ...), got shape {tuple(shape)}."
        )
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
    if not all(isinstance(f, Real) for f in given):
        raise TypeError(
            f"{name}(): scale_factor must be a number, or one for each dimension, but got {scale_factor!r}."
        )
    return tuple(math.floor(n * float(f)) for n, f in zip(sizes, given, strict=True)), tuple(float(f) for f in given)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None, *, ops):
    """interpolate, under its former name."""
    return _resampled("upsample", input, size, scale_factor, mode, align_corners, None, False, ops)


def upsample_nearest(input, size=None, scale_factor=None, *, ops):
    """interpolate to the nearest neighbours."""
    return _resampled("upsample_nearest", input, size, scale_factor, "nearest", None, None, False, ops)


def upsample_bilinear(input, size=None, scale_factor=None, *, ops):
    """interpolate, bilinear, corners aligned."""
    return _resampled("upsample_bilinear", input, size, scale_factor, "bilinear", True, None, False, ops)
