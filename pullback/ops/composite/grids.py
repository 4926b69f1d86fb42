"""Sampling at given places: grid_sample and affine_grid, made of reads by index and weights that are differentiable.

The coordinates of a grid run from -1 to 1, x (the last dimension) first.
"""

import itertools
import math

import numpy as np

from pullback.ops.composite.sizes import refuse

__all__ = ["affine_grid", "grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
CUBIC = -0.75
FAR = 1e9  # a place further away is as good as at this one: outside, with no slope; and infinity is among them


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None, *, ops):
    """input (N, C, *size) at the places that grid (N, *out, dims) names."""
    name = "grid_sample"
    if mode not in MODES:
        raise ValueError(f"{name}(): mode must be one of {', '.join(MODES)}, but got {mode!r}.")
    if padding_mode not in PADDINGS:
        raise ValueError(f"{name}(): padding_mode must be one of {', '.join(PADDINGS)}, but got {padding_mode!r}.")
    return _sampled(name, input, grid, mode, padding_mode, bool(align_corners), ops)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners, *, ops):
    """grid_sample with numbers for the words."""
    return _sampled("grid_sampler", input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners, ops)


def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners, *, ops):
    """grid_sampler of (N, C, H, W)."""
    if input.ndim != 4:
        raise refuse("grid_sampler_2d", f"input must have the shape (N, C, H, W), but has {tuple(input.shape)}")
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners, ops=ops)


def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners, *, ops):
    """grid_sampler of (N, C, D, H, W)."""
    if input.ndim != 5:
        raise refuse("grid_sampler_3d", f"input must have the shape (N, C, D, H, W), but has {tuple(input.shape)}")
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners, ops=ops)


def _sampled(name, input, grid, mode, padding_mode, align_corners, ops):
    dims = _check_grid(name, input, grid, mode)
    sizes, (count, channels), out = tuple(input.shape[2:]), tuple(input.shape[:2]), tuple(grid.shape[1:-1])
    grid = ops.reshape(grid, (count, 1, math.prod(out), dims))
    axes = []
    for d, n in enumerate(sizes):
        at = ops.select(grid, -1, dims - 1 - d)
        at = ops.clamp(ops.where(ops.isnan(at), -1.0, at), -FAR, FAR)
        at = (at + 1) * ((n - 1) / 2) if align_corners else ((at + 1) * n - 1) * 0.5
        if mode != "bicubic":
            at = _brought_inside(at, n, padding_mode, align_corners, ops)
        axes.append(_neighbours(at, n, mode, padding_mode, align_corners, ops))
    flat, total = ops.reshape(input, (count, channels, math.prod(sizes))), None
    for corner in itertools.product(*axes):
        place, weight = 0, None
        for (index, part), n in zip(corner, sizes, strict=True):
            place = place * n + index
            weight = part if weight is None or part is None else weight * part
        found = ops.gather(flat, 2, ops.expand(place, (count, channels, place.shape[2])))
        found = found * weight
        total = found if total is None else total + found
    return ops.reshape(total, (count, channels, *out))


def _check_grid(name, input, grid, mode):
    """The number of spatial dimensions."""
    dims = input.ndim - 2
    if dims not in (2, 3) or grid.ndim != input.ndim:
        raise refuse(
            name,
            "input and grid must both have 4 dimensions, or both 5, but have the shapes "
            f"{tuple(input.shape)} and {tuple(grid.shape)}",
        )
    if grid.shape[0] != input.shape[0] or grid.shape[-1] != dims:
        raise refuse(
            name,
            f"grid must have the batch size {input.shape[0]} and {dims} coordinates in its last dimension; its shape "
            f"is {tuple(grid.shape)}",
        )
    if 0 in input.shape[2:]:
        raise refuse(name, f"the spatial dimensions of input must be non-empty; its shape is {tuple(input.shape)}")
    if mode == "bicubic" and dims == 3:
        raise refuse(name, "bicubic sampling is for input of 4 dimensions")
    return dims


def _brought_inside(at, n, padding_mode, align_corners, ops):
    """Places outside moved to the border, or mirrored at it; at the border itself the slope is 0, as outside."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span == 0:
            return at * 0.0
        away = ops.abs(at - low)
        turns = ops.floor(away / span)
        rest = away - turns * span
        odd = ops.ne(ops.remainder(turns, 2.0), 0)
        at = ops.where(odd, span - rest, rest) + low
    return ops.where(ops.le(at, 0.0), 0.0, ops.where(ops.ge(at, n - 1.0), n - 1.0, at))


def _neighbours(at, n, mode, padding_mode, align_corners, ops):
    """Pairs (index, weight) along one dimension; a neighbour outside has weight 0 and some index inside."""
    if mode == "nearest":
        return [_inside(ops.round(at), 1.0, n, ops)]
    low = ops.floor(at)
    part = at - low
    if mode == "bilinear":
        return [_inside(low, 1 - part, n, ops), _inside(low + 1, part, n, ops)]
    weights = [_far(part + 1), _near(part), _near(1 - part), _far(2 - part)]
    places = [low + j for j in (-1, 0, 1, 2)]
    if padding_mode != "zeros":
        places = [_brought_inside(p, n, padding_mode, align_corners, ops) for p in places]
    return [_inside(place, weight, n, ops) for place, weight in zip(places, weights, strict=True)]


def _near(x):
    """Keys' cubic kernel for x between 0 and 1."""
    return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1


def _far(x):
    """The same for x between 1 and 2."""
    return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC


def _inside(place, weight, n, ops):
    """(index, weight) of a whole place, its weight 0 where it is outside."""
    outside = ops.logical_or(ops.lt(place, 0), ops.gt(place, n - 1))
    index = ops.to(ops.clamp(place, 0, n - 1), np.int64)
    return index, ops.where(outside, place * 0.0, weight + place * 0.0 if isinstance(weight, float) else weight)


def affine_grid(theta, size, align_corners=None, *, ops):
    """The grid (N, *size[2:], dims) of an affine map theta (N, dims, dims + 1) of the square or the cube."""
    name, size = "affine_grid", tuple(int(n) for n in size)
    dims = len(size) - 2
    if theta.dtype.kind != "f":
        raise ValueError(f"{name}(): theta must be floating-point, but has the dtype {theta.dtype}.")
    if dims not in (2, 3):
        raise NotImplementedError(f"{name}(): size must be (N, C, H, W) or (N, C, D, H, W), but got {size}.")
    if tuple(theta.shape) != (size[0], dims, dims + 1):
        raise ValueError(f"{name}(): theta must have the shape {(size[0], dims, dims + 1)}, but has {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"{name}(): size must be positive, but got {size}.")
    lines = [_line(n, align_corners, theta.dtype) for n in size[2:]]
    axes = np.meshgrid(*lines, indexing="ij")
    places = np.stack([*reversed(axes), np.ones_like(axes[0])], -1).reshape(-1, dims + 1)
    return ops.reshape(ops.matmul(places, ops.transpose(theta, 1, 2)), (size[0], *size[2:], dims))


def _line(n, align_corners, dtype):
    """n places from -1 to 1: at the corners of the outer pixels, or at their centres."""
    if n <= 1:
        return np.zeros(n, dtype)
    line = np.linspace(-1, 1, n, dtype=dtype)
    return line if align_corners else line * dtype.type((n - 1) / n)
