"""Rules for convolutions, pooling and sampling: the batch goes into the samples (N), or into groups of channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.rules import RULES, Rule, laid_out, refuse_as_kernel, rule, with_leading
from pullback.arrays.batched.values import everywhere, is_batched, rank_of, run, shape_of

RULES["separable_map"] = with_leading("separable_map", (0,))
RULES["windowed_max"] = with_leading("windowed_max", (0,))
RULES.update({name: with_leading(name, (0, 1)) for name in ("take_pooled", "put_pooled", "place_pooled")})
RULES["fractional_max_indices"] = with_leading("fractional_max_indices", (0, 3))


@rule("constant_pad_nd")
def _constant_pad_nd(batch: Batch, x: BatchedArray, pad: Any, value: Any) -> Any:
    if len(pad) > 2 * x.ndim or len(pad) % 2:
        refuse_as_kernel("constant_pad_nd", batch, (x, pad, value))
    return run("constant_pad_nd", x.values, pad, value)


@rule("base_grid")
def _base_grid(batch: Batch, x: BatchedArray, *rest: Any) -> Any:
    return everywhere(batch, run("base_grid", x.values, *rest))  # of which only the dtype matters


# -- into the samples --------------------------------------------------------------------------------------------------
def _folded(name: str, positions: tuple[int, ...]) -> Rule:
    """A rule that goes through samples, the first dimension of all arguments and results, one by one."""

    def folded(batch: Batch, *args: Any) -> Any:
        raws = list(args)
        for i in positions:
            raws[i] = in_one(batch, args[i])
        return _apart(batch, run(name, *raws))

    return folded


def in_one(batch: Batch, x: Any) -> Any:
    """The values with the batch dimension and the first one behind it as one."""
    values = everywhere(batch, x)
    return run("reshape", values, (batch.size * values.shape[1], *values.shape[2:]))


def _apart(batch: Batch, result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return tuple(_apart(batch, x) for x in result)
    return run("reshape", result, (batch.size, result.shape[0] // max(batch.size, 1), *result.shape[1:]))


RULES.update(
    im2col=_folded("im2col", (0,)), col2im=_folded("col2im", (0,)), grid_places=_folded("grid_places", (0,)),
    sample_at=_folded("sample_at", (0, 1, 2)), spread_at=_folded("spread_at", (0, 1, 2)),
    dot_at=_folded("dot_at", (0, 1, 2)),
)  # fmt: skip


# -- into the channels -------------------------------------------------------------------------------------------------
def _channels(batch: Batch, x: Any) -> Any:
    """The values (batch, N, C, ...) as (N, batch * C, ...)."""
    values = run("movedim", everywhere(batch, x), 0, 1)
    return run("reshape", values, (values.shape[0], batch.size * values.shape[2], *values.shape[3:]))


def _from_channels(batch: Batch, x: Any) -> Any:
    shape = (x.shape[0], batch.size, x.shape[1] // max(batch.size, 1), *x.shape[2:])
    return run("movedim", run("reshape", x, shape), 1, 0)


@rule("convolution")
@laid_out
def _convolution(batch: Batch, x: Any, weight: Any, bias: Any, *how: Any) -> Any:
    *steps, groups = how
    alone = bias is not None and not is_batched(batch, weight) and not is_batched(batch, bias)
    if not is_batched(batch, weight):
        own = bias if alone else None
        out = _apart(batch, run("convolution", in_one(batch, x), weight, own, *how)) if is_batched(batch, x) else None
        if out is None:  # the bias alone is batched
            out = everywhere(batch, run("convolution", x, weight, None, *how))
    else:
        many = groups * batch.size
        out = run("convolution", _channels(batch, x), in_one(batch, weight), None, *steps, many)
        out = _from_channels(batch, out)
    if bias is None or alone:
        return out
    sizes = (batch.size, 1, shape_of(bias)[0], *(1,) * (rank_of(weight) - 2))
    return run("add", out, run("reshape", everywhere(batch, bias), sizes))


@rule("convolution_input")
@laid_out
def _convolution_input(batch: Batch, grad: Any, weight: Any, *how: Any) -> Any:
    *steps, groups = how
    if not is_batched(batch, weight):
        return _apart(batch, run("convolution_input", in_one(batch, grad), weight, *how))
    many = groups * batch.size
    out = run("convolution_input", _channels(batch, grad), in_one(batch, weight), *steps, many)
    return _from_channels(batch, out)


@rule("convolution_weight")
@laid_out
def _convolution_weight(batch: Batch, grad: Any, x: Any, shape: Any, *how: Any) -> Any:
    *steps, groups = how
    sizes = (batch.size * shape[0], *shape[1:])
    out = run("convolution_weight", _channels(batch, grad), _channels(batch, x), sizes, *steps, groups * batch.size)
    return run("reshape", out, (batch.size, *shape))


# -- regions: the batch goes into the channels, or into the images where the boxes are batched -------------------------
def _boxes(batch: Batch, boxes: Any, images: int) -> Any:
    """The boxes of all samples, one behind the other, in images that are numbered through."""
    values = everywhere(batch, boxes)
    first = np.zeros((batch.size, 1, values.shape[-1]))
    first[:, :, 0] = images * np.arange(batch.size)[:, None]
    return run("reshape", run("add", values, first), (batch.size * values.shape[1], values.shape[2]))


@rule("sample_bins")
@laid_out
def _sample_bins(batch: Batch, x: Any, boxes: Any, *how: Any) -> Any:
    if not is_batched(batch, boxes):
        return _from_channels(batch, run("sample_bins", _channels(batch, x), boxes, *how))
    return _apart(batch, run("sample_bins", in_one(batch, x), _boxes(batch, boxes, shape_of(x)[0]), *how))


@rule("spread_bins")
@laid_out
def _spread_bins(batch: Batch, x: Any, boxes: Any, shape: Any, *how: Any) -> Any:
    images, channels, *pixels = shape
    if not is_batched(batch, boxes):
        sizes = (images, batch.size * channels, *pixels)
        return _from_channels(batch, run("spread_bins", _channels(batch, x), boxes, sizes, *how))
    sizes = (batch.size * images, channels, *pixels)
    return _apart(batch, run("spread_bins", in_one(batch, x), _boxes(batch, boxes, images), sizes, *how))


@rule("region_maxima")
def _region_maxima(batch: Batch, x: Any, boxes: Any, *how: Any) -> Any:
    if not is_batched(batch, boxes):
        found, empty = run("region_maxima", _channels(batch, x), boxes, *how)
        return run("reshape", found, (batch.size, shape_of(x)[1], *found.shape[1:])), everywhere(batch, empty)
    images, channels, *pixels = shape_of(x)
    found, empty = run("region_maxima", in_one(batch, x), _boxes(batch, boxes, images), *how)
    found = run("movedim", run("reshape", found, (channels, batch.size, found.shape[1] // max(batch.size, 1))), 1, 0)
    first = images * math.prod(pixels) * np.arange(batch.size).reshape(-1, 1, 1)
    return run("sub", found, first), _apart(batch, empty)
