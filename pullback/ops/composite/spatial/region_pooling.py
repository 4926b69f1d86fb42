"""Regions of interest: boxes of an image resampled to one size. The boxes themselves get no gradient."""

import numpy as np

from pullback.arrays.numpy.spatial.maps import SparseMap
from pullback.ops.composite.spatial.arguments import numbers, refuse, require_arrays


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False, *, ops):
    """Means of bilinear samples in each bin (He et al., Mask R-CNN, 2017): one sparse map of all pixels."""
    size, places = _checked("roi_align", input, output_size), _as_array("roi_align", boxes)
    shift = 0.5 if aligned else 0.0
    begin, end = places[:, [2, 1]] * spatial_scale - shift, places[:, [4, 3]] * spatial_scale - shift
    extent = end - begin if aligned else np.maximum(end - begin, 1.0)
    ys, xs = (_bin_weights(begin[:, d], extent[:, d], size[d], input.shape[2 + d], sampling_ratio) for d in range(2))
    pixels = input.shape[2] * input.shape[3]
    image = places[:, 0].astype(np.int64).reshape(-1, 1, 1, 1, 1) * pixels
    index = image + ys[0][:, :, None, :, None] * input.shape[3] + xs[0][:, None, :, None, :]
    weights = ys[1][:, :, None, :, None] * xs[1][:, None, :, None, :]
    used = weights != 0  # what lies outside must not meet an infinity
    ends = np.concatenate([[0], np.cumsum(used.sum((3, 4)).ravel())])
    flat = _channels_first(input, ops)
    found = ops.separable_map(flat, (SparseMap(weights[used], index[used], ends, flat.shape[1]),))
    return _regions_first(found, len(places), size, ops)


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


def roi_pool(input, boxes, output_size, spatial_scale=1.0, *, ops):
    """Maxima of the pixels in each bin (Girshick, Fast R-CNN, 2015); 0 for a bin without pixels."""
    size, places = _checked("roi_pool", input, output_size), _as_array("roi_pool", boxes)
    scaled = places[:, 1:] * spatial_scale
    corners = np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int64)
    (rows, no_rows), (columns, no_columns) = (
        _bins(corners[:, 1 - d], corners[:, 3 - d], size[d], input.shape[2 + d]) for d in range(2)
    )
    rows = rows + places[:, 0].astype(np.int64).reshape(-1, 1, 1) * input.shape[2]
    channels = ops.permute(input, (1, 0, 2, 3))
    indices = ops.region_max_indices(channels, rows, columns)
    found = ops.take_pooled(_channels_first(input, ops), indices, 1)
    found = _regions_first(found, len(places), size, ops)
    return ops.where((no_rows[:, :, None] | no_columns[:, None, :])[:, None], 0.0, found)


def _bins(begin, end, count, n):
    """(places (R, count, k), whether there are none): the pixels of each bin, the first repeated to fill up."""
    step = np.maximum(end - begin + 1, 1)[:, None] / count
    first = (np.floor(np.arange(count) * step).astype(np.int64) + begin[:, None]).clip(0, n)
    last = (np.ceil(np.arange(1, count + 1) * step).astype(np.int64) + begin[:, None]).clip(0, n)
    places = first[:, :, None] + np.arange(max(int((last - first).max(initial=1)), 1))
    places = np.where(places < last[:, :, None], places, first[:, :, None])
    return places.clip(0, n - 1), last <= first


def _checked(name, input, output_size):
    require_arrays(name, input=input)
    if input.ndim != 4 or 0 in input.shape[2:]:
        raise refuse(name, f"input must be (N, C, H, W) and not empty, but its shape is {tuple(input.shape)}")
    size = numbers(name, "output_size", output_size, 2)
    if min(size) < 1:
        raise refuse(name, f"output_size must be positive, but got {size}")
    return size


def _as_array(name, boxes):
    """Boxes (R, 5), the number of the image first; a list has those of each image, (L, 4), one after the other."""
    if isinstance(boxes, (list, tuple)):
        parts = [np.asarray(_plain(b)) for b in boxes]
        if any(b.ndim != 2 or b.shape[1] != 4 for b in parts):
            raise refuse(name, f"a list of boxes must have shapes (L, 4), but has {[b.shape for b in parts]}")
        if not parts:
            return np.zeros((0, 5))
        numbered = [np.concatenate([np.full((len(b), 1), i), b], 1) for i, b in enumerate(parts)]
        return np.concatenate(numbered).astype(float)
    found = np.asarray(_plain(boxes))
    if found.ndim != 2 or found.shape[1] != 5:
        raise refuse(name, f"boxes must have the shape (R, 5), or be a list of (L, 4), but has {found.shape}")
    return found.astype(float)


def _plain(boxes):
    """The numbers without history."""
    return boxes.detach() if hasattr(boxes, "detach") else boxes


def _channels_first(input, ops):
    """(C, N * H * W)."""
    return ops.reshape(ops.permute(input, (1, 0, 2, 3)), (input.shape[1], -1 if input.size else 0))


def _regions_first(found, count, size, ops):
    """(C, R * oh * ow) -> (R, C, oh, ow)."""
    return ops.permute(ops.reshape(found, (found.shape[0], count, *size)), (1, 0, 2, 3))
