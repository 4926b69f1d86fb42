"""Regions of interest: boxes (R, 5) of images, the number of the image first, cut into bins."""

import functools
import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.spatial.maps import SparseMap


def sample_bins(self, boxes, size, scale, sampling_ratio, aligned):
    """(R, C, *size): means of bilinear samples of self (N, C, H, W) in each bin, by one sparse map of all pixels."""
    images, channels, *pixels = self.shape
    told = images, *pixels, tuple(size), scale, sampling_ratio, aligned
    lines = self.transpose(1, 0, 2, 3).reshape(channels, images * math.prod(pixels))
    found = _bins_map(boxes.tobytes(), *told).apply(lines, 1)
    return np.ascontiguousarray(found.reshape(channels, len(boxes), *size).transpose(1, 0, 2, 3))


def spread_bins(self, boxes, shape, scale, sampling_ratio, aligned):
    """The adjoint of sample_bins: self (R, C, *size) added up in an array of that shape."""
    images, channels, *pixels = shape
    told = images, *pixels, self.shape[2:], scale, sampling_ratio, aligned
    lines = self.transpose(1, 0, 2, 3).reshape(channels, math.prod(self.shape[2:]) * len(boxes))
    found = _bins_map(boxes.tobytes(), *told).adjoint().apply(lines, 1)
    return np.ascontiguousarray(found.reshape(channels, images, *pixels).transpose(1, 0, 2, 3))


@functools.lru_cache(maxsize=2)  # for the backward of the call before; with many boxes it is large
def _bins_map(boxes, images, height, width, size, scale, sampling_ratio, aligned):
    places = np.frombuffer(boxes).reshape(-1, 5)
    shift = 0.5 if aligned else 0.0
    begin, end = places[:, [2, 1]] * scale - shift, places[:, [4, 3]] * scale - shift
    extent = end - begin if aligned else np.maximum(end - begin, 1.0)
    ys, xs = (_bin_weights(begin[:, d], extent[:, d], size[d], (height, width)[d], sampling_ratio) for d in range(2))
    image = _images_of(places, images).reshape(-1, 1, 1, 1, 1) * (height * width)
    index = image + ys[0][:, :, None, :, None] * width + xs[0][:, None, :, None, :]
    weights = ys[1][:, :, None, :, None] * xs[1][:, None, :, None, :]
    used = weights != 0  # what lies outside must not meet an infinity
    ends = np.concatenate([[0], np.cumsum(used.sum((3, 4)).ravel())])
    return SparseMap(weights[used], index[used], ends, images * height * width)


def _images_of(boxes, images):
    """The numbers of the images: a wrong one would lead out of memory."""
    with np.errstate(invalid="ignore"):
        numbers = boxes[:, 0].astype(np.int64)  # of nan a negative one
    wrong = (numbers < 0) | (numbers >= images)
    if wrong.any():
        row = int(wrong.argmax())
        raise IndexError(
            f"boxes: the first number of a row says which image it is of, and there are {images}; row {row} has "
            f"{boxes[row, 0]:g}, expected a whole number from 0 on and below {images}."
        )
    return numbers


def _bin_weights(begin, extent, count, n, sampling_ratio):
    """(index, weight), each (R, count, 2 samples): what the samples of each bin take of a line of n pixels."""
    each = np.full(len(begin), sampling_ratio) if sampling_ratio > 0 else np.ceil(extent / count).astype(np.int64)
    most = max(int(each.max(initial=1)), 1)
    step = (extent / count)[:, None, None]
    number = np.arange(most)
    within = (number + 0.5) / np.maximum(each, 1)[:, None, None]
    at = begin[:, None, None] + (np.arange(count)[:, None] + within) * step
    share = (number < each[:, None, None]) & (at >= -1) & (at <= n)
    share = share / np.maximum(each, 1)[:, None, None]
    at = at.clip(0, n - 1)
    low = at.astype(np.int64)
    part = at - low
    index = np.concatenate([low, np.minimum(low + 1, n - 1)], 2)
    return index, np.concatenate([share * (1 - part), share * part], 2)


@loops("window")
def region_maxima(self, boxes, size, scale):
    """(indices, empty): for every channel of self (N, C, H, W) the place of each bin's maximum in its N H W numbers.

    `empty` (R, 1, *size) says which bins have no pixel. The loop runs over places inside of a bin.
    """
    scaled = boxes[:, 1:] * scale
    corners = np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int64)
    (rows, no_rows), (columns, no_columns) = (
        _bins(corners[:, 1 - d], corners[:, 3 - d], size[d], self.shape[2 + d]) for d in range(2)
    )
    rows = rows + _images_of(boxes, self.shape[0]).reshape(-1, 1, 1) * self.shape[2]
    flat = self.transpose(1, 0, 2, 3).reshape(self.shape[1], self.size // max(self.shape[1], 1))
    best = taken = None
    for i in range(rows.shape[2]):
        for j in range(columns.shape[2]):
            at = (rows[:, :, None, i] * self.shape[3] + columns[:, None, :, j]).ravel()
            part = flat.take(at, 1)
            if best is None:
                best, taken = part, np.broadcast_to(at, part.shape).copy()
                continue
            better = part > best
            np.copyto(best, part, where=better)
            np.copyto(taken, at, where=better)
    return taken, (no_rows[:, :, None] | no_columns[:, None, :])[:, None]


def _bins(begin, end, count, n):
    """(places (R, count, k), whether there are none): the pixels of each bin, the first repeated to fill up."""
    step = np.maximum(end - begin + 1, 1)[:, None] / count
    first = (np.floor(np.arange(count) * step).astype(np.int64) + begin[:, None]).clip(0, n)
    last = (np.ceil(np.arange(1, count + 1) * step).astype(np.int64) + begin[:, None]).clip(0, n)
    places = first[:, :, None] + np.arange(max(int((last - first).max(initial=1)), 1))
    places = np.where(places < last[:, :, None], places, first[:, :, None])
    return places.clip(0, n - 1), last <= first
