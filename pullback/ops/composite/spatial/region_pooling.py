"""Regions of interest: boxes of an image resampled to one size. The boxes themselves get no gradient."""

from pullback.core.arguments import as_array
from pullback.core.dtypes import DEFAULT
from pullback.ops.composite.spatial.arguments import numbers, refuse, require_arrays


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False, *, ops):
    """Means of bilinear samples in each bin (He et al., Mask R-CNN, 2017)."""
    size, places = _checked("roi_align", input, output_size), _numbered("roi_align", boxes, ops)
    return ops.sample_bins(input, places, size, spatial_scale, sampling_ratio, aligned)


def roi_pool(input, boxes, output_size, spatial_scale=1.0, *, ops):
    """Maxima of the pixels in each bin (Girshick, Fast R-CNN, 2015); 0 for a bin without pixels."""
    size, places = _checked("roi_pool", input, output_size), _numbered("roi_pool", boxes, ops)
    indices, empty = ops.region_maxima(input, places, size, spatial_scale)
    channels = ops.reshape(ops.permute(input, (1, 0, 2, 3)), (input.shape[1], -1 if input.size else 0))
    found = ops.reshape(ops.take_pooled(channels, indices, 1), (input.shape[1], places.shape[0], *size))
    return ops.where(empty, 0.0, ops.permute(found, (1, 0, 2, 3)))


def _checked(name, input, output_size):
    require_arrays(name, input=input)
    if input.ndim != 4 or 0 in input.shape[2:]:
        raise refuse(name, f"input must be (N, C, H, W) and not empty, but its shape is {tuple(input.shape)}")
    size = numbers(name, "output_size", output_size, 2)
    if min(size) < 1:
        raise refuse(name, f"output_size must be positive, but got {size}")
    return size


def _numbered(name, boxes, ops):
    """Boxes (R, 5), the number of the image first; a list has those of each image, (L, 4), one after the other."""
    if isinstance(boxes, (list, tuple)):
        parts = [_plain(b) for b in boxes]
        if any(b.ndim != 2 or b.shape[1] != 4 for b in parts):
            raise refuse(name, f"a list of boxes must have shapes (L, 4), but has {[tuple(b.shape) for b in parts]}")
        if not parts:
            return ops.zeros((0, 5))
        images = [ops.full((b.shape[0], 1), i, dtype=DEFAULT) for i, b in enumerate(parts)]
        return ops.cat([ops.cat([i, ops.to(b, DEFAULT)], 1) for i, b in zip(images, parts, strict=True)])
    found = _plain(boxes)
    if found.ndim != 2 or found.shape[1] != 5:
        raise refuse(name, f"boxes must have the shape (R, 5), or be a list of (L, 4), but has {tuple(found.shape)}")
    return ops.to(found, DEFAULT)


def _plain(boxes):
    """The numbers without history."""
    boxes = as_array(boxes)
    return boxes.detach() if hasattr(boxes, "detach") else boxes
