"""OpInfo records of regions of interest, compared with their definitions, bin by bin."""

import math

import numpy as np

from pullback.testing.opinfo.core import FLOATS, OpInfo, Plain, Raises, Sample

__all__ = ["OPINFOS"]

NN = "nn.functional."
BOXES = np.array([[0, 0.3, 0.1, 3.2, 3.4], [1, 1.0, 1.2, 2.5, 2.0], [0, -1.5, 2.0, 1.0, 6.0]])


def pixel(plane, y, x):
    """A bilinear sample; 0 further outside than a pixel."""
    height, width = plane.shape[-2:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    total = 0.0
    for i in range(height):
        for j in range(width):
            total = total + max(1 - abs(y - i), 0) * max(1 - abs(x - j), 0) * plane[..., i, j]
    return total


def aligned(x, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    """Sample by sample."""
    oh, ow = output_size
    out = np.zeros((len(boxes), x.shape[1], oh, ow), x.dtype)
    for r, (image, *box) in enumerate(boxes):
        x0, y0, x1, y1 = (c * spatial_scale - 0.5 * aligned for c in box)
        high, wide = (y1 - y0, x1 - x0) if aligned else (max(y1 - y0, 1), max(x1 - x0, 1))
        gh, gw = (sampling_ratio,) * 2 if sampling_ratio > 0 else (math.ceil(high / oh), math.ceil(wide / ow))
        for i, j, a, b in np.ndindex(oh, ow, gh, gw):
            at = y0 + (i + (a + 0.5) / gh) * high / oh, x0 + (j + (b + 0.5) / gw) * wide / ow
            out[r, :, i, j] += pixel(np.asarray(x)[int(image)], *at) / (gh * gw)
    return out


def pooled(x, boxes, output_size, spatial_scale=1.0):
    """Bin by bin."""
    out = np.zeros((len(boxes), x.shape[1], *output_size), x.dtype)
    for r, (image, *box) in enumerate(boxes):
        x0, y0, x1, y1 = (int(math.copysign(math.floor(abs(c * spatial_scale) + 0.5), c)) for c in box)
        step = [max(e - b + 1, 1) / n for b, e, n in zip((y0, x0), (y1, x1), output_size, strict=True)]
        for at in np.ndindex(*output_size):
            first = [math.floor(i * s) + b for i, s, b in zip(at, step, (y0, x0), strict=True)]
            last = [math.ceil((i + 1) * s) + b for i, s, b in zip(at, step, (y0, x0), strict=True)]
            rows, columns = (slice(max(b, 0), max(e, 0)) for b, e in zip(first, last, strict=True))
            bin_ = np.asarray(x)[int(image), :, rows, columns]
            if bin_.size:
                out[(r, slice(None), *at)] = bin_.max((1, 2))
    return out


def align_samples(make):
    """Boxes in an array, and in a list."""
    yield Sample(make((2, 2, 4, 3)), Plain(BOXES), (2, 2))
    yield Sample(make((2, 1, 3, 4)), Plain(BOXES), (1, 2), 0.5, 2, True)
    yield Sample(make((2, 1, 3, 3)), Plain(BOXES[:0]), (1, 2))


def pool_samples(make):
    """Boxes inside and outside."""
    yield Sample(make((2, 2, 4, 3), distinct=True), Plain(BOXES), (2, 2))
    yield Sample(make((2, 1, 4, 4), distinct=True), Plain(BOXES), (3, 1), 0.5)


def places_of_maxima(x, boxes, size, scale):
    """(the places of the maxima, of which no two are equal; which bins have none)."""
    found = pooled(x, boxes, size, scale)
    lines = np.asarray(x).transpose(1, 0, 2, 3).reshape(x.shape[1], -1)
    at = np.stack([(found[:, c, ..., None] == line).argmax(-1).ravel() for c, line in enumerate(lines)])
    return at, (found == 0).all(1, keepdims=True)


def inner_samples(make):
    """Boxes inside: of a bin without pixels any place may be given."""
    yield Sample(make((2, 2, 4, 4), distinct=True), BOXES[:2].copy(), (2, 2), 1.0)


def bin_samples(make):
    """As roi_align calls it."""
    yield Sample(make((2, 2, 4, 3)), BOXES.copy(), (2, 2), 1.0, -1, False)
    yield Sample(make((2, 1, 3, 4)), BOXES.copy(), (1, 2), 0.5, 2, True)


def spread(x, boxes, shape, *how):
    """By the sampled bins of each number of an array of that shape."""
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    return np.stack([(aligned(u, boxes, x.shape[2:], *how) * x).sum() for u in units]).reshape(shape).astype(x.dtype)


def spread_samples(make):
    """Bins of three boxes into two images."""
    yield Sample(make((3, 2, 2, 2)), BOXES.copy(), (2, 2, 4, 3), 1.0, -1, False)


_ELSEWHERE = Plain(np.array([[0.0, 0.0, 0.0, 2.0, 2.0], [2.0, 0.0, 0.0, 2.0, 2.0]]))
_NOWHERE = Plain(np.array([[np.nan, 0.0, 0.0, 2.0, 2.0]]))
_BEFORE = Plain(np.array([[-1.0, 0.0, 0.0, 2.0, 2.0]]))
_MAPS, _BINS = np.ones((2, 1, 3, 3)), np.ones((2, 1, 1, 1))

OPINFOS = [
    OpInfo(NN + "roi_align", aligned, align_samples, dtypes=FLOATS, errors=[
        Raises(RuntimeError, ("roi_align", "(R, 5)", "(2, 4)"), (np.ones((1, 1, 3, 3)), Plain(np.ones((2, 4))), 2))]),
    OpInfo(NN + "roi_pool", pooled, pool_samples, dtypes=FLOATS, errors=[
        Raises(RuntimeError, ("roi_pool", "(N, C, H, W)"), (np.ones((1, 3, 3)), Plain(np.ones((2, 5))), 2))]),
    OpInfo("sample_bins", aligned, bin_samples, dtypes=FLOATS, errors=[
        Raises(IndexError, ("row 1 has 2", "below 2"), (_MAPS, _ELSEWHERE, (1, 1), 1.0, -1, False)),
        Raises(IndexError, ("row 0 has nan",), (_MAPS, _NOWHERE, (1, 1), 1.0, -1, False))]),
    OpInfo("spread_bins", spread, spread_samples, dtypes=FLOATS, errors=[
        Raises(IndexError, ("row 1 has 2", "below 2"), (_BINS, _ELSEWHERE, (2, 1, 3, 3), 1.0, -1, False))]),
    OpInfo("region_maxima", places_of_maxima, inner_samples, dtypes=FLOATS, order=0, errors=[
        Raises(IndexError, ("row 0 has -1", "below 2"), (_MAPS, _BEFORE, (1, 1), 1.0))]),
]  # fmt: skip
