"""Sampling at given places: grid_sample and affine_grid, made of weighted sums whose weights are differentiable.

The coordinates of a grid run from -1 to 1, x (the last dimension) first.
"""

import math

from pullback.ops.composite.spatial.arguments import integers, refuse, require_arrays

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
CUBIC = -0.75


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
    _check_grid(name, input, grid, mode)
    sizes, (count, channels), out = tuple(input.shape[2:]), tuple(input.shape[:2]), tuple(grid.shape[1:-1])
    part, _, index = ops.grid_places(grid, sizes, mode, padding_mode, align_corners)
    flat = ops.reshape(input, (count, channels, math.prod(sizes)))
    return ops.reshape(ops.sample_at(flat, index, _weights(part, mode, ops)), (count, channels, *out))


def _weights(part, mode, ops):
    """The weights (N, points, neighbours) of the neighbours: products of those along the single dimensions."""
    each = ops.stack(_along(part, mode), -1)
    count, dims, near = part.shape[0], part.shape[-1], each.shape[-1]
    each = ops.reshape(each, (count, math.prod(part.shape[1:-1]), dims, near))
    weight = ops.select(each, 2, dims - 1)
    for d in reversed(range(dims - 1)):
        weight = ops.unsqueeze(weight, -1) * ops.unsqueeze(ops.select(each, 2, d), 2)
        weight = ops.reshape(weight, (*weight.shape[:2], weight.shape[2] * near))
    return weight


def _along(part, mode):
    """The weights of the neighbours along one dimension, for a place so far behind the one below."""
    if mode == "nearest":
        return [1 - part]
    if mode == "bilinear":
        return [1 - part, part]
    return [_far(part + 1), _near(part), _near(1 - part), _far(2 - part)]


def _check_grid(name, input, grid, mode):
    """Check the shapes and dtypes of input and grid."""
    require_arrays(name, input=input, grid=grid)
    if input.dtype.kind not in "fc" or grid.dtype.kind != "f":
        raise refuse(name, f"input and grid must be floating-point, but are {input.dtype} and {grid.dtype}")
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


def _near(x):
    """Keys' cubic kernel for x between 0 and 1."""
    return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1


def _far(x):
    """The same for x between 1 and 2."""
    return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC


def affine_grid(theta, size, align_corners=None, *, ops):
    """The grid (N, *size[2:], dims) of an affine map theta (N, dims, dims + 1) of the square or the cube."""
    name, size = "affine_grid", integers("affine_grid", "size", size)
    require_arrays(name, theta=theta)
    dims = len(size) - 2
    if theta.dtype.kind != "f":
        raise ValueError(f"{name}(): theta must be floating-point, but has the dtype {theta.dtype}.")
    if dims not in (2, 3):
        raise NotImplementedError(f"{name}(): size must be (N, C, H, W) or (N, C, D, H, W), but got {size}.")
    if tuple(theta.shape) != (size[0], dims, dims + 1):
        raise ValueError(
            f"{name}(): theta must have the shape {(size[0], dims, dims + 1)}, but has {tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"{name}(): size must be positive, but got {size}.")
    places = ops.base_grid(theta, size[2:], bool(align_corners))
    return ops.reshape(ops.matmul(places, ops.transpose(theta, 1, 2)), (size[0], *size[2:], dims))
