"""Convolution, pooling and resampling, forward and backward timed apart, at shapes of use, all of float32.

Too long for every run: ``--only spatial`` asks for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Table
from benchmarks.cases.operators import Operator, row

MAPS, LARGE = (4, 64, 28, 28), (4, 32, 56, 56)  # feature maps: of the midst of a network, and nearer to its start
PLACES = (4, 32, 32, 2)


def conv(dims: int, lib: Any, *inputs: Any, **how: Any) -> Any:
    """Convolution of 1, 2 or 3 dimensions."""
    return getattr(lib.nn.functional, f"conv{dims}d")(*inputs, **how)


def resized(lib: Any, x: Any, size: int, mode: str, *, antialias: bool = False) -> Any:
    """Interpolation to a square."""
    return lib.nn.functional.interpolate(x, (size, size), mode=mode, antialias=antialias)


def sampled(lib: Any, x: Any, grid: Any, mode: str) -> Any:
    """grid_sample."""
    return lib.nn.functional.grid_sample(x, grid, mode=mode, align_corners=False)


def corners(rng: np.random.Generator) -> np.ndarray:
    """A place in each window of 2 x 2 of LARGE, as max_pool2d returns it, for half of that size."""
    count, channels, height, width = LARGE
    rows, columns = np.ogrid[0:height:2, 0:width:2]
    within = rng.integers(0, 2, (2, count, channels, height // 2, width // 2))
    return (rows + within[0]) * width + columns + within[1]


OPERATORS = [
    # convolution
    Operator("conv1d", lambda lib, x, w, b: conv(1, lib, x, w, b, padding=1), ((8, 64, 512), (64, 64, 3), (64,))),
    Operator("conv2d", lambda lib, x, w, b: conv(2, lib, x, w, b, padding=1), (MAPS, (64, 64, 3, 3), (64,))),
    Operator("conv2d 1x1", lambda lib, x, w, b: conv(2, lib, x, w, b), (MAPS, (128, 64, 1, 1), (128,))),
    Operator("conv2d 7x7 stride 2", lambda lib, x, w: conv(2, lib, x, w, stride=2, padding=3),
             ((2, 3, 112, 112), (64, 3, 7, 7))),
    Operator("conv2d 3x3 stride 2", lambda lib, x, w: conv(2, lib, x, w, stride=2, padding=1),
             (LARGE, (64, 32, 3, 3))),
    Operator("conv2d dilation 2", lambda lib, x, w: conv(2, lib, x, w, padding=2, dilation=2), (MAPS, (64, 64, 3, 3))),
    Operator("conv2d groups 4", lambda lib, x, w: conv(2, lib, x, w, padding=1, groups=4), (MAPS, (64, 16, 3, 3))),
    Operator("conv2d depthwise", lambda lib, x, w: conv(2, lib, x, w, padding=1, groups=64), (MAPS, (64, 1, 3, 3))),
    Operator("conv3d", lambda lib, x, w: conv(3, lib, x, w, padding=1), ((2, 16, 8, 24, 24), (16, 16, 3, 3, 3))),
    Operator("conv_transpose1d", lambda lib, x, w: lib.nn.functional.conv_transpose1d(x, w, stride=2, padding=1),
             ((8, 64, 256), (64, 32, 4))),
    Operator("conv_transpose2d", lambda lib, x, w: lib.nn.functional.conv_transpose2d(x, w, stride=2, padding=1),
             (MAPS, (64, 32, 4, 4))),
    # pooling
    Operator("max_pool2d 2x2", lambda lib, x: lib.nn.functional.max_pool2d(x, 2), (LARGE,)),
    Operator("max_pool2d 3x3", lambda lib, x: lib.nn.functional.max_pool2d(x, 3, 2, 1), (LARGE,)),
    Operator("avg_pool2d", lambda lib, x: lib.nn.functional.avg_pool2d(x, 2), (LARGE,)),
    Operator("adaptive_avg_pool2d", lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 10), (LARGE,)),
    Operator("max_unpool2d", lambda lib, x, at: lib.nn.functional.max_unpool2d(x, at, 2), ((4, 32, 28, 28),),
             constants={"at": corners}),
    # resampling
    Operator("nearest", lambda lib, x: resized(lib, x, 56, "nearest"), (MAPS,)),
    Operator("bilinear", lambda lib, x: resized(lib, x, 56, "bilinear"), (MAPS,)),
    Operator("bicubic", lambda lib, x: resized(lib, x, 56, "bicubic"), (MAPS,)),
    Operator("bilinear antialias", lambda lib, x: resized(lib, x, 24, "bilinear", antialias=True), (LARGE,)),
    Operator("grid_sample bilinear", lambda lib, x, g: sampled(lib, x, g, "bilinear"), (MAPS, PLACES), low=-1.0),
    Operator("grid_sample bicubic", lambda lib, x, g: sampled(lib, x, g, "bicubic"), (MAPS, PLACES), low=-1.0),
    Operator("unfold", lambda lib, x: lib.nn.functional.unfold(x, 3, padding=1), (MAPS,)),
    Operator("fold", lambda lib, x: lib.nn.functional.fold(x, (28, 28), 3, padding=1), ((4, 144, 784),)),
]  # fmt: skip


TABLE = Table(
    name="spatial",
    title="convolution, pooling and resampling of float32, forward and backward",
    rows=[row(operator) for operator in OPERATORS],
    by_default=False,
)
